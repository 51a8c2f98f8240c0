// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

// Commands about keys, pairing and connections. Those about a device answer with its address
// (seven bytes); Pair Device with the identity address, which may differ from the one asked for.

extension MgmtCommand {
  /// Hands the kernel all Long Term Keys there are: those loaded before are forgotten.
  public static func loadLongTermKeys(_ keys: [LongTermKey]) -> MgmtCommand {
    load(.loadLongTermKeys, keys.map(\.entry))
  }

  /// Hands the kernel all Identity Resolving Keys there are: those loaded before are forgotten.
  public static func loadIdentityResolvingKeys(_ keys: [IdentityResolvingKey]) -> MgmtCommand {
    load(.loadIdentityResolvingKeys, keys.map(\.entry))
  }

  /// Hands the kernel the connection parameters to use as a central; as a peripheral they have no
  /// effect (kernel.md, f).
  public static func loadConnectionParameters(
    _ list: [(peer: DeviceAddress, parameters: ConnectionParameters)]
  ) -> MgmtCommand {
    load(
      .loadConnectionParameters,
      list.map { peer, parameters in
        var writer = ByteWriter(capacity: 15)
        writer.deviceAddress(peer)
        parameters.write(to: &writer)
        return writer.bytes
      })
  }

  /// Pairs with a device. As the peripheral on a live link: sends an SMP Security Request. It is
  /// answered when pairing has ended; 19 Already Paired where a key is loaded; and without a link
  /// not at all (kernel.md, a).
  public static func pairDevice(_ peer: DeviceAddress, _ capability: IOCapability) -> MgmtCommand {
    device(.pairDevice, peer, capability.rawValue)
  }

  /// Calls Pair Device off; it drops the link too.
  public static func cancelPairDevice(_ peer: DeviceAddress) -> MgmtCommand {
    device(.cancelPairDevice, peer)
  }

  /// Forgets the keys of a device, and ends its link if told to.
  public static func unpairDevice(_ peer: DeviceAddress, disconnect: Bool) -> MgmtCommand {
    device(.unpairDevice, peer, disconnect ? 1 : 0)
  }

  /// Ends the link at once.
  public static func disconnect(_ peer: DeviceAddress) -> MgmtCommand { device(.disconnect, peer) }

  /// Who is connected.
  public static let getConnections = MgmtCommand(.getConnections)

  /// Signal strength and transmit power of a link.
  public static func getConnectionInformation(_ peer: DeviceAddress) -> MgmtCommand {
    device(.getConnectionInformation, peer)
  }

  /// Yes to a User Confirm Request.
  public static func userConfirmReply(_ peer: DeviceAddress) -> MgmtCommand {
    device(.userConfirmReply, peer)
  }

  /// No to a User Confirm Request.
  public static func userConfirmNegativeReply(_ peer: DeviceAddress) -> MgmtCommand {
    device(.userConfirmNegativeReply, peer)
  }

  /// The six digits that the phone shows.
  public static func userPasskeyReply(_ peer: DeviceAddress, _ passkey: Passkey) -> MgmtCommand {
    .init(.userPasskeyReply) {
      $0.deviceAddress(peer)
      $0.u32(passkey.value)
    }
  }

  /// No digits: pairing ends.
  public static func userPasskeyNegativeReply(_ peer: DeviceAddress) -> MgmtCommand {
    device(.userPasskeyNegativeReply, peer)
  }

  /// Lets the kernel connect to a device, or report it, by itself.
  public static func addDevice(_ peer: DeviceAddress, _ action: DeviceAction) -> MgmtCommand {
    device(.addDevice, peer, action.rawValue)
  }

  /// Takes Add Device back.
  public static func removeDevice(_ peer: DeviceAddress) -> MgmtCommand {
    device(.removeDevice, peer)
  }

  /// Refuses every connection from a device.
  public static func blockDevice(_ peer: DeviceAddress) -> MgmtCommand {
    device(.blockDevice, peer)
  }

  /// Takes Block Device back.
  public static func unblockDevice(_ peer: DeviceAddress) -> MgmtCommand {
    device(.unblockDevice, peer)
  }

  /// Looks for LE devices, public and random; each is a Device Found.
  public static let startDiscovery = MgmtCommand(.startDiscovery, [0x06])

  /// Takes Start Discovery back.
  public static let stopDiscovery = MgmtCommand(.stopDiscovery, [0x06])

  private static func device(
    _ opcode: MgmtOpcode, _ peer: DeviceAddress, _ more: UInt8...
  ) -> MgmtCommand {
    .init(opcode) {
      $0.deviceAddress(peer)
      $0.bytes(more)
    }
  }

  /// A list behind its count; more than a packet's 16-bit length can hold are left out.
  private static func load(_ opcode: MgmtOpcode, _ entries: [[UInt8]]) -> MgmtCommand {
    let room = (Int(UInt16.max) - 2) / max(entries.first?.count ?? 1, 1)
    let kept = entries.prefix(room)
    return .init(opcode) {
      $0.u16(UInt16(kept.count))
      for entry in kept { $0.bytes(entry) }
    }
  }
}

/// What Add Device has the kernel do (BlueZ doc/mgmt-protocol, Add Device).
public enum DeviceAction: UInt8, Hashable, Sendable {
  /// Report it when it is seen.
  case report = 0
  /// Let it connect.
  case allow = 1
  /// Connect to it whenever it advertises.
  case autoConnect = 2
}

/// The parameters of an LE connection (Core Specification Vol 6 Part B, 4.5).
public struct ConnectionParameters: Hashable, Sendable {
  /// In units of 1.25 ms.
  public let minimumInterval: UInt16
  /// In units of 1.25 ms.
  public let maximumInterval: UInt16
  /// How many connection events the peripheral may sleep through.
  public let latency: UInt16
  /// After how much silence the link is lost, in units of 10 ms.
  public let timeout: UInt16

  public init(minimumInterval: UInt16, maximumInterval: UInt16, latency: UInt16, timeout: UInt16) {
    self.minimumInterval = minimumInterval
    self.maximumInterval = maximumInterval
    self.latency = latency
    self.timeout = timeout
  }

  init(from reader: inout ByteReader) throws(DecodeError) {
    minimumInterval = try reader.u16()
    maximumInterval = try reader.u16()
    latency = try reader.u16()
    timeout = try reader.u16()
  }

  func write(to writer: inout ByteWriter) {
    writer.u16(minimumInterval)
    writer.u16(maximumInterval)
    writer.u16(latency)
    writer.u16(timeout)
  }
}

/// Six decimal digits that both sides of a pairing know.
public struct Passkey: Hashable, Sendable, LosslessStringConvertible {
  /// 0 to 999,999 where the kernel keeps to the specification (Vol 3 Part H, 2.3.5.3).
  public let value: UInt32

  public init(value: UInt32) { self.value = value }

  /// Reads six digits, as a person types them: blanks and hyphens between them do not matter.
  public init?(_ description: String) {
    let digits = description.unicodeScalars.filter { $0 != " " && $0 != "-" }
    guard digits.count == 6, digits.allSatisfy({ ("0"..."9").contains($0) }),
      let value = UInt32(String(String.UnicodeScalarView(digits)))
    else { return nil }
    self.value = value
  }

  /// The six digits, zeros in front.
  public var description: String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
  }
}
