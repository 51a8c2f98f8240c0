// SPDX-License-Identifier: GPL-3.0-or-later
public import ATT
import GATT
public import Wire

/// A captured packet, decoded.
public struct Frame: Hashable, Sendable {
  /// Counted from 1.
  public var number: Int
  public var record: CaptureRecord
  /// What the packet is, in the manner of btmon: `ACL Data RX: Handle 64 flags 0x02 dlen 11`.
  public var title: String
  /// What became whole with this packet: nothing in a fragment, one thing mostly.
  public var units: [Unit]
  /// What is to be said about the packet itself, such as that it is a fragment.
  public var notes: [String]
  /// What is to be said about the capture, once, whether this packet is shown or not.
  public var warning: String?

  public init(
    number: Int, record: CaptureRecord, title: String, units: [Unit] = [], notes: [String] = []
  ) {
    self.number = number
    self.record = record
    self.title = title
    self.units = units
    self.notes = notes
  }
}

/// One protocol data unit.
public struct Unit: Hashable, Sendable {
  /// Which protocol it belongs to.
  public enum Layer: String, Hashable, Sendable {
    /// What the kernel says about its adapters.
    case adapter
    case hciCommand = "hci-command"
    case hciEvent = "hci-event"
    /// Advertising and control PDUs that a sniffer heard.
    case linkLayer = "link-layer"
    /// Synchronous and isochronous data, which are not looked into.
    case data
    case att
    case smp
    case signalling = "l2cap-signalling"
    /// Another channel's data.
    case l2cap
    /// The kernel's management protocol.
    case mgmt
    /// A sentence of the kernel's or of a program's.
    case note
  }

  public var layer: Layer
  /// What it is called.
  public var name: String
  /// Its number in the layer's own numbering; nil where there is none.
  public var code: UInt16?
  /// How many bytes it has.
  public var length: Int
  /// The link that it belongs to.
  public var link: LinkName?
  /// The L2CAP channel.
  public var channel: UInt16?
  /// Which of Apple's services it is about.
  public var profiles: Set<Profile> = []
  /// The handles that a request asks about.
  public var range: HandleRange?
  /// The type that a request asks for.
  public var type: UUID?
  /// The attributes in it.
  public var attributes: [AttributeUse] = []
  /// Whether it is of a kind that can have several attributes.
  public var isList = false
  /// What it says besides its attributes.
  public var details: [Detail] = []
  /// What is wrong with it.
  public var problem: String?

  public init(_ layer: Layer, _ name: String, code: UInt16? = nil, length: Int) {
    self.layer = layer
    self.name = name
    self.code = code
    self.length = length
  }
}

/// Apple's services, by which captures are filtered.
public enum Profile: Hashable, Sendable {
  case ancs, ams
}

/// A link as a capture knows it.
public struct LinkName: Hashable, Sendable {
  /// The connection's handle, 0 to 0xEFF.
  public var handle: UInt16
  /// The other side's address; nil where the capture has not seen the connection begin.
  public var peer: Address?
  /// The other addresses that it is known by: its identity, the address it was on the air with.
  public var aliases: Set<Address> = []

  public init(handle: UInt16, peer: Address? = nil) {
    self.handle = handle
    self.peer = peer
  }

  /// Whether the other side is `address`, by any of its addresses.
  public func isWith(_ address: Address) -> Bool {
    peer == address || aliases.contains(address)
  }
}

/// An attribute in an ATT PDU.
public struct AttributeUse: Hashable, Sendable {
  public var handle: Handle?
  /// The last handle of the group that it leads.
  public var end: Handle?
  /// Its type, where the PDU or the discovery before it says so.
  public var uuid: UUID?
  /// The characteristic that it describes, where it is a descriptor.
  public var characteristic: UUID?
  /// The service that it is in, where that was discovered.
  public var service: UUID?
  public var value: [UInt8]?
  /// What the value says.
  public var meaning: [Detail] = []

  public init(
    _ handle: Handle?, end: Handle? = nil, uuid: UUID? = nil, characteristic: UUID? = nil,
    service: UUID? = nil, value: [UInt8]? = nil
  ) {
    self.handle = handle
    self.end = end
    self.uuid = uuid
    self.characteristic = characteristic
    self.service = service
    self.value = value
  }

  /// What it is called: the type's name, and for a descriptor the characteristic's.
  public var name: String? {
    guard let uuid else { return nil }
    let title = AssignedNumbers.title(of: uuid)
    guard let characteristic else { return title }
    return "\(title) of \(AssignedNumbers.name(of: characteristic) ?? characteristic.description)"
  }
}
