// SPDX-License-Identifier: GPL-3.0-or-later
public import ATT
import GAP
public import Wire

/// A decoded packet.
public struct DecodedFrame: Hashable, Sendable {
  /// The packet's number in the capture, from 1.
  public var number: Int
  public var record: CaptureRecord
  /// The packet in one line, as btmon shows it: `ACL Data RX: Handle 64 flags 0x02 dlen 11`.
  public var title: String
  /// The PDUs that this packet completes: mostly one, none if it is a fragment.
  public var units: [DecodedUnit] = []
  /// The link that the packet's data belongs to, where it is ACL data of a known one.
  public var link: LinkName?
  /// Remarks about the packet itself, such as that it is a fragment.
  public var notes: [String] = []
  /// A warning about the capture, to be shown even if a filter hides this packet. There is one for
  /// each link at most.
  public var warning: String?
}

/// A decoded protocol data unit.
public struct DecodedUnit: Hashable, Sendable {
  /// The protocol that it belongs to.
  public enum Layer: String, Hashable, Sendable {
    /// The kernel's messages about its adapters.
    case adapter
    case hciCommand = "hci-command"
    case hciEvent = "hci-event"
    /// Advertising and control PDUs that a sniffer heard, or a phone's controller logged.
    case linkLayer = "link-layer"
    /// Synchronous and isochronous data, which are not decoded.
    case data
    case att
    case smp
    case signalling = "l2cap-signalling"
    /// Data of other L2CAP channels.
    case l2cap
    /// The kernel's management protocol.
    case mgmt
    /// A log message of the kernel or of a program.
    case note
  }

  public var layer: Layer
  public var name: String
  /// Its opcode, code or type in the layer; nil if there is none.
  public var code: UInt16?
  /// Its length in bytes.
  public var length: Int
  /// The link that it belongs to.
  public var link: LinkName?
  /// The L2CAP channel.
  public var channel: UInt16?
  /// The Apple services that it is about.
  public var profiles: Set<Profile> = []
  /// The handles that a request searches.
  public var range: HandleRange?
  /// The type that a request searches for.
  public var type: UUID?
  /// The attributes in it.
  public var attributes: [AttributeUse] = []
  /// Whether PDUs of this kind may have several attributes.
  public var isList = false
  /// Its fields except for the attributes.
  public var details: [Detail] = []
  /// The number of the packet that this responds to: with a request, indication or command; for what the Data Source
  /// notifies, with the command to the Control Point.
  public var request: Int?
  /// What is wrong with it.
  public var problem: String?
  /// The PDU itself, which the byte ranges of fields refer to.
  public var bytes: [UInt8] = []
}

/// Apple's services, by which captures are filtered.
public enum Profile: Hashable, Sendable {
  case ancs, ams
}

/// A link in a capture.
public struct LinkName: Hashable, Sendable {
  /// The connection handle, 0 to 0xEFF.
  public var handle: UInt16
  /// The peer's address; nil if the capture does not have the beginning of the connection.
  public var peer: Address?
  /// The peer's other addresses: its identity, or the address that it had on the air.
  public var aliases: Set<Address> = []
  /// The peer's kind, relative to the captured host.
  public var peerKind = PeerKind.phone

  /// The kind of the peer.
  public enum PeerKind: String, Hashable, Sendable {
    /// The peer has ANCS or AMS, or is the central, or its kind is unknown.
    case phone
    /// The host has them, or is the central, or PacketLogger made the file: the phone itself was captured.
    case accessory
  }

  /// All known addresses of the peer.
  var addresses: Set<Address> { aliases.union([peer].compactMap(\.self)) }

  /// Whether `address` is one of the peer's addresses.
  public func isWith(_ address: Address) -> Bool { addresses.contains(address) }
}

/// An attribute in an ATT PDU.
public struct AttributeUse: Hashable, Sendable {
  public var handle: Handle?
  /// The last handle of its group.
  public var end: Handle?
  /// Its type, from the PDU or from an earlier discovery.
  public var uuid: UUID?
  /// The characteristic that it describes, if it is a descriptor.
  public var characteristic: UUID?
  /// The service that it belongs to, if that was discovered.
  public var service: UUID?
  public var value: [UInt8]?
  /// The byte range of its handle and value in the PDU.
  public var place: Range<Int>?
  public var valuePlace: Range<Int>?
  /// The meaning of the value.
  public var meaning: [Detail] = []

  /// The name of its type, for a descriptor with that of the characteristic.
  public var name: String? {
    guard let uuid else { return nil }
    let title = AssignedNumbers.title(of: uuid)
    guard let characteristic else { return title }
    return "\(title) of \(AssignedNumbers.name(of: characteristic) ?? characteristic.description)"
  }
}

/// The part of a capture that is shown.
public struct CaptureFilter: Hashable, Sendable {
  /// Only ATT.
  public var att = false
  /// Only PDUs that are about one of these services.
  public var profiles: Set<Profile> = []
  /// Only links with this peer, and nothing that belongs to no link.
  public var phone: Address?

  public init() {}

  private func admits(_ unit: DecodedUnit) -> Bool {
    if let phone, unit.link?.isWith(phone) != true { return false }
    if !att, profiles.isEmpty { return true }
    return (att && unit.layer == .att) || !unit.profiles.isDisjoint(with: profiles)
  }

  /// The frame with the units that are shown; nil if there are none. Without a filter, frames without
  /// units are shown too: fragments, and packets that cannot be decoded.
  public func apply(to frame: DecodedFrame) -> DecodedFrame? {
    if self == CaptureFilter() { return frame }
    var frame = frame
    frame.units.removeAll { !admits($0) }
    return frame.units.isEmpty ? nil : frame
  }
}
