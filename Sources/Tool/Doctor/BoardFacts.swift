// SPDX-License-Identifier: GPL-3.0-or-later
public import Bluetooth
public import Control
public import Mgmt
public import System
public import Wire

/// What the doctor found out about the board, before anything is made of it.
public struct BoardFacts: Hashable, Sendable {
  /// The kernel's release, as in `6.1.0-56-amd64`.
  public var kernelRelease = ""
  /// Why the kernel's Bluetooth management can't be opened; nil: it can.
  public var bluetooth: BluetoothError?
  /// Which of the capabilities that the daemon needs this process lacks.
  public var missingCapabilities: [String] = []
  public var adapters: [AdapterFacts] = []
  /// Radios with their switches, by the adapter's number.
  public var radios: [UInt16: RFKillState] = [:]
  /// Whether bluetoothd runs.
  public var hasBluetoothd = false
  public var crypto = KernelCrypto()
  public var state = StateFacts.fine(bonds: 0)
  public var stateDirectory = ""
  public var daemon = DaemonFacts.none
  /// The system's clock, in seconds since 1970.
  public var clock: Int64 = 0

  public init() {}

  /// An adapter.
  public struct AdapterFacts: Hashable, Sendable {
    public var index: ControllerIndex
    public var address: Address
    public var supported: ControllerSettings
    public var current: ControllerSettings

    public init(
      _ index: ControllerIndex, address: Address, supported: ControllerSettings,
      current: ControllerSettings
    ) {
      self.index = index
      self.address = address
      self.supported = supported
      self.current = current
    }
  }

  /// The directory for bonds.
  public enum StateFacts: Hashable, Sendable {
    /// It can be used; so many phones are bonded.
    case fine(bonds: Int)
    /// It is not there, and can be made.
    case missing
    case unusable(SystemError)
  }

  /// The daemon, by its control socket.
  public enum DaemonFacts: Hashable, Sendable {
    /// None answers.
    case none
    /// One is there, and does not let us in.
    case closed(path: String)
    /// One is there, and does not answer.
    case mute(path: String)
    case status(StatusReport)
  }
}
