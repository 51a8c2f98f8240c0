// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
public import Control
public import Mgmt
public import Wire

/// What `ancsd gatt` is told on its command line.
public struct GATTOptions: Sendable {
  /// The device; nil where none is named yet.
  public var target: GATTTarget?
  /// The adapter; nil: the first that has LE.
  public var adapter: AdapterChoice?
  /// The security to have before anything is asked.
  public var security = GATTSecurity.low
  /// The MTU that this side offers.
  public var mtu = 517
  /// nil: text on a terminal, else JSON Lines.
  public var format: OutputFormat?
  /// How values are printed alone; nil: with what they are.
  public var valueForm: ValueForm?
  /// After so many values, or devices, it leaves.
  public var count: Int?
  /// After so long it leaves.
  public var timeout: Duration?
  /// Whether a characteristic that both notifies and indicates is to indicate.
  public var prefersIndications = false
  /// What to do; nil: what is typed.
  var command: GATTCommand?

  public init() {}
}

/// Whose attributes they are.
public enum GATTTarget: Hashable, Sendable {
  /// A device on the air.
  case device(DeviceAddress)
  /// Whoever listens on a UNIX socket: a path, or `@name`.
  case socket(String)
}

extension GATTTarget: CustomStringConvertible {
  public var description: String {
    switch self {
    case .device(let device): device.description
    case .socket(let path): "unix:\(path)"
    }
  }
}

/// How well the link is to be secured, as gatttool names it.
public enum GATTSecurity: String, CaseIterable, Sendable {
  /// As it is.
  case low
  /// Encrypted.
  case medium
  /// Encrypted by a key that no third party can have come by: pairing takes a passkey or a look at two
  /// numbers.
  case high
}

/// How a value is printed alone, for scripts.
public enum ValueForm: String, CaseIterable, Sendable {
  /// Its bytes, in the form that `write` takes, a line a value.
  case hex
  /// As UTF-8, a line a value; what would drive a terminal is made visible.
  case text
  /// Its bytes as they are, with nothing between values.
  case raw
}

/// A device that was seen on the air.
public struct FoundDevice: Hashable, Sendable {
  public var address: DeviceAddress
  /// In dBm; nil where the controller does not tell.
  public var rssi: Int8?
  public var isConnectable: Bool
  /// What it advertises, its scan response included where that came.
  public var data: [UInt8]

  public init(address: DeviceAddress, rssi: Int8?, isConnectable: Bool, data: [UInt8]) {
    self.address = address
    self.rssi = rssi
    self.isConnectable = isConnectable
    self.data = data
  }
}
