// SPDX-License-Identifier: GPL-3.0-or-later
public import System
public import Wire
import CLinux
import EventLoop
import GAP
import Mgmt

/// A raw HCI socket: sends commands to the controller of one adapter, past the kernel's host. mgmt and
/// L2CAP cannot change the connection parameters of a live link (docs/kernel.md, “Connection
/// parameters”). It needs CAP_NET_RAW.
public final class RawHCISocket {
  /// Called with each event of the kinds in `HCIEvent`, including responses to the kernel's own commands.
  public var onEvent: ((HCIEvent) -> Void)?

  private let packets: PacketSocket

  /// Opens the adapter with this number: 0 for hci0.
  ///
  /// - Parameter completions: whether Command Complete is received too.
  public init(_ adapter: UInt16, completions: Bool = false) throws(BluetoothError) {
    let descriptor = try HCISocket.open(channel: Int32(HCI_CHANNEL_RAW), device: adapter)
    try bluetooth("hci\(adapter)") { () throws(SystemError) in
      // Only the events Disconnection Complete, Command Status, LE Meta, and perhaps Command Complete. Without a filter
      // nothing is received.
      var filter = hci_filter()
      filter.type_mask = 1 << UInt32(HCI_EVENT_PKT)
      filter.event_mask = (1 << 0x05 | 1 << 0x0F | (completions ? 1 << 0x0E : 0), 1 << (0x3E - 32))
      try Syscall.setOption(descriptor.raw, SOL_HCI, HCI_FILTER, filter)
    }
    packets = PacketSocket(owning: descriptor)
    packets.onPacket = { [weak self] packet in
      if let event = try? HCIEvent(decoding: Array(packet)) { self?.onEvent?(event) }
    }
  }

  deinit { close() }

  /// Sends a command; false if the kernel did not accept it.
  @discardableResult public func send(_ command: HCICommand) -> Bool { packets.send(command.bytes) }

  /// Requests connection parameters by L2CAP; false if the kernel does not accept the packet, or would lose the link.
  public func signal(_ wanted: ConnectionParameters, on handle: UInt16) -> Bool {
    ForeignPacket.isSafeHere
      && packets.send(ForeignPacket.parameterUpdateRequest(handle, wanted))
  }

  public func close() { packets.close() }
}

/// Opens sockets of the HCI family.
enum HCISocket {
  /// A socket bound to a channel of a device (0 for hci0), or of none.
  static func open(channel: Int32, device: UInt16 = UInt16(HCI_DEV_NONE)) throws(BluetoothError) -> FileDescriptor {
    try bluetooth(device == UInt16(HCI_DEV_NONE) ? nil : "hci\(device)") { () throws(SystemError) in
      let descriptor = try unbound()
      try Syscall.bind(descriptor.raw, to: address(of: channel, device))
      return descriptor
    }
  }

  /// `struct sockaddr_hci` (bluetooth/hci.h): family, device and channel, all in host byte order.
  static func address(of channel: Int32, _ device: UInt16) -> [UInt8] {
    hostOrder(UInt16(AF_BLUETOOTH)) + hostOrder(device) + hostOrder(UInt16(channel))
  }

  /// A socket for ioctl(2) only.
  static func unbound() throws(SystemError) -> FileDescriptor {
    try Syscall.socket(AF_BLUETOOTH, Int32(SOCK_RAW.rawValue), BTPROTO_HCI)
  }
}

/// A number's bytes in host byte order.
func hostOrder(_ number: UInt16) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

/// A number in host byte order.
func hostNumber(_ bytes: [UInt8], at offset: Int) -> UInt16 {
  bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt16.self) }
}

/// An LE link that is up, as the HCI layer reports it. Listing them needs no privileges.
public struct HCIConnection: Hashable, Sendable {
  /// The adapter's number: 0 for hci0.
  public let adapter: UInt16
  /// The connection handle.
  public let handle: UInt16
  /// The peer's address: its identity if the kernel knows it, otherwise the address on the air.
  public let peer: Address

  /// The LE links of all adapters.
  public static func all() throws(BluetoothError) -> [HCIConnection] {
    try bluetooth { () throws(SystemError) in
      let socket = try HCISocket.unbound()
      var connections: [HCIConnection] = []
      for adapter in try adapters(socket.raw) {
        do throws(SystemError) {
          connections += try list(adapter, socket.raw)
        } catch { continue }  // unplugged meanwhile
      }
      return connections
    }
  }

  /// The numbers of the adapters. `struct hci_dev_list_req`: a count and padding; for each adapter its
  /// number, padding and flags, 8 bytes.
  private static func adapters(_ socket: Int32) throws(SystemError) -> [UInt16] {
    let capacity: UInt16 = 16
    var list = hostOrder(capacity) + [UInt8](repeating: 0, count: 2 + 8 * Int(capacity))
    try Syscall.control(socket, UInt(Request.deviceList), "ioctl(HCIGETDEVLIST)", bytes: &list)
    let count = min(capacity, hostNumber(list, at: 0))
    return (0..<Int(count)).map { hostNumber(list, at: 4 + 8 * $0) }
  }

  /// The LE links of an adapter. `struct hci_conn_list_req`: adapter and count; for each link its handle,
  /// address and type, and three fields that are not needed, 16 bytes.
  private static func list(_ adapter: UInt16, _ socket: Int32) throws(SystemError) -> [HCIConnection] {
    let capacity: UInt16 = 64
    var list = hostOrder(adapter) + hostOrder(capacity)
    list += [UInt8](repeating: 0, count: 16 * Int(capacity))
    try Syscall.control(socket, UInt(Request.connectionList), "ioctl(HCIGETCONNLIST)", bytes: &list)
    return (0..<Int(min(capacity, hostNumber(list, at: 2)))).compactMap { number in
      let start = 4 + 16 * number
      var reader = ByteReader(list[(start + 2)...])
      guard let peer = try? reader.address(), (try? reader.u8()) == leLink else { return nil }
      return HCIConnection(adapter: adapter, handle: hostNumber(list, at: start), peer: peer)
    }
  }

  /// `_IOR('H', n, int)`, which Swift cannot import; the values are those of x86, ARM and RISC-V.
  private enum Request {
    static let deviceList: UInt32 = 0x8004_48D2
    static let connectionList: UInt32 = 0x8004_48D4
  }

  /// The kernel's LE_LINK.
  private static let leLink: UInt8 = 0x80
}

/// The kernel's management channel, which carries commands to the kernel and events from it (BlueZ
/// doc/mgmt-protocol; the module Mgmt has the packets). It can be opened without an adapter, and stays
/// open while adapters come and go.
public final class MgmtSocket {
  private let packets: PacketSocket
  /// The longest packet that the kernel takes, in bytes.
  public let packetLimit: Int

  /// Opens the channel. Most commands need CAP_NET_ADMIN; the kernel refuses them one by one.
  public init() throws(BluetoothError) {
    let descriptor = try HCISocket.open(channel: Int32(HCI_CHANNEL_CONTROL))
    let longest = UInt16.max
    let isSet: Void? = try? Syscall.setOption(descriptor.raw, SOL_BLUETOOTH, BT_SNDMTU, longest)
    packetLimit = isSet == nil ? 1_028 : Int(longest)
    packets = PacketSocket(owning: descriptor)
    // Some commands to an adapter that is powered off are refused when they are written (ENETDOWN).
    packets.refusalsEndIt = false
    packets.carriesKeys = true
  }

  /// Connects `client` to the channel: its commands go to the kernel, and it receives every packet.
  /// Should the kernel close the channel, the client is closed, and `onClose` is called.
  public func attach(_ client: MgmtClient, onClose: @escaping () -> Void = {}) {
    client.send = { [weak self] in self?.send($0)?.description }
    packets.onClose = { [weak client] errno in
      client?.close(.closed(errno?.description ?? "the kernel closed it"))
      onClose()
    }
    packets.onPacket = { [weak client] in client?.receive(Array($0)) }
  }

  /// Sends a packet; returns why the kernel did not accept it, or nil.
  private func send(_ packet: [UInt8]) -> Errno? {
    packets.send(packet) ? nil : packets.isOpen ? packets.refusal ?? .noBufferSpace : .brokenPipe
  }

  /// Closes the channel.
  public func close() { packets.close() }
}

/// A command to the controller (Core Specification Vol 4 Part E, 5.4.1).
public struct HCICommand: Hashable, Sendable {
  /// Group and command: OGF in the upper six bits, OCF in the lower ten.
  public let opcode: UInt16
  public let parameters: [UInt8]

  /// LE Connection Update (7.8.18). As the peripheral it makes the controller ask the central for
  /// these parameters; `connectionUpdated` reports the result.
  public static func connectionUpdate(_ handle: UInt16, _ wanted: ConnectionParameters) -> HCICommand {
    var writer = ByteWriter()
    writer.u16(handle)
    writer.bytes(wanted.encoded)
    // The controller chooses the length of a connection event.
    writer.u32(0)
    return HCICommand(opcode: connectionUpdateOpcode, parameters: writer.bytes)
  }

  /// LE Set Default PHY (7.8.48): the controller prefers 1M in both directions, and accepts nothing else.
  public static let onlyPHY1M = HCICommand(opcode: 0x2031, parameters: [0, 1, 1])
  /// Read Local Version Information (7.4.1).
  public static let readLocalVersion = HCICommand(opcode: 0x1001, parameters: [])
  /// LE Read Local Supported Features (7.8.3).
  public static let readLocalLEFeatures = HCICommand(opcode: 0x2003, parameters: [])

  /// The opcode of LE Connection Update, as its Command Status names it.
  public static let connectionUpdateOpcode: UInt16 = 0x2013

  /// The packet, preceded by the indicator that the socket requires (Vol 4 Part A, 2).
  var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.u8(0x01)
    writer.u16(opcode)
    writer.u8(UInt8(truncatingIfNeeded: parameters.count))
    writer.bytes(parameters)
    return writer.bytes
  }
}

/// An event of the controller that this module uses (Vol 4 Part E, 7.7).
public enum HCIEvent: Hashable, Sendable {
  /// Command Status (7.7.15): a command has begun (0), or failed at once.
  case commandStatus(opcode: UInt16, status: UInt8)
  /// A link is up: LE Connection Complete (7.7.65.1) or Enhanced (7.7.65.10), without an error.
  case connected(handle: UInt16, ConnectionParameters)
  /// LE Connection Update Complete (7.7.65.3): the parameters in force now.
  case connectionUpdated(handle: UInt16, status: UInt8, ConnectionParameters)
  /// Disconnection Complete (7.7.5), without an error.
  case disconnected(handle: UInt16, reason: UInt8)
  /// Any other: code and parameters.
  case other(code: UInt8, [UInt8])

  /// Decodes a packet of the socket, including its indicator.
  public init(decoding packet: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(packet)
    guard try reader.u8() == 0x04 else {
      throw DecodeError(offset: 0, .invalid("not an HCI event"))
    }
    let code = try reader.u8()
    let parameters = Array(try reader.bytes(Int(try reader.u8())))
    if code == 0x05, parameters.first == 0 {
      var fields = ByteReader(parameters.dropFirst())
      self = try .disconnected(handle: fields.u16(), reason: fields.u8())
      return
    }
    var fields = ByteReader(parameters.dropFirst(2))
    // Of LE Meta: the subevent and the status.
    switch (code, parameters.first, parameters.dropFirst().first) {
    case (0x0F, let status?, _): self = try .commandStatus(opcode: fields.u16(), status: status)
    case (0x3E, 0x01, 0):
      self = try .connected(handle: fields.u16(), fields.connectionParameters(skipping: 8))
    case (0x3E, 0x0A, 0), (0x3E, 0x29, 0):
      self = try .connected(handle: fields.u16(), fields.connectionParameters(skipping: 20))
    case (0x3E, 0x03, let status):
      self = try .connectionUpdated(handle: fields.u16(), status: status ?? 0, fields.connectionParameters())
    default: self = .other(code: code, parameters)
    }
  }
}

extension ByteReader {
  /// The parameters in force on a connection, six bytes: interval, latency, timeout.
  ///
  /// - Parameter addresses: how many bytes lie before them: the role and who is at the other end.
  fileprivate mutating func connectionParameters(
    skipping addresses: Int = 0
  ) throws(DecodeError) -> ConnectionParameters {
    try skip(addresses)
    return ConnectionParameters(interval: try u16(), latency: try u16(), timeout: try u16())
  }
}

/// A packet that is sent to the controller past the kernel, which counts the controller's acknowledgement among its own
/// (docs/kernel.md, “Connection parameters”).
public enum ForeignPacket {
  /// L2CAP's Connection Parameter Update Request (Vol 3 Part A, 4.20) in an ACL packet, preceded by the indicator that the
  /// socket requires. The kernel ignores the response.
  public static func parameterUpdateRequest(_ handle: UInt16, _ wanted: ConnectionParameters) -> [UInt8] {
    let parameters = wanted.encoded
    var writer = ByteWriter()
    writer.u8(0x02)
    writer.u16(handle)
    writer.u16(UInt16(parameters.count + 8))
    writer.u16(UInt16(parameters.count + 4))
    writer.u16(0x0005)  // the LE signalling channel
    writer.u8(0x12)
    writer.u8(200)  // the kernel's own identifiers end at 128
    writer.u16(UInt16(parameters.count))
    writer.bytes(parameters)
    return writer.bytes
  }

  static let isSafeHere = isSafe(on: Host.kernelVersion)

  /// The versions of September 2025 with “Bluetooth: hci_event: Detect if HCI_EV_NUM_COMP_PKTS is unbalanced”.
  private static let fixes = [
    KernelVersion(5, 4, 298), .init(5, 10, 242), .init(5, 15, 191), .init(6, 1, 150),
    .init(6, 6, 104),
    .init(6, 12, 45), .init(6, 16, 5),
  ]

  /// Whether a kernel is known to survive that; nil: its version is unknown. Otherwise it may send nothing more on the link.
  public static func isSafe(on kernel: KernelVersion?) -> Bool {
    guard let kernel else { return false }
    return kernel >= fixes.first { kernel.isOfSeries($0) } ?? KernelVersion(6, 17, 0)
  }
}
