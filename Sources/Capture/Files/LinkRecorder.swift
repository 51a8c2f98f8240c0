// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// Makes a capture of ATT traffic that nobody saw on an HCI: the PDUs of links whose sockets, or whose
/// memory, are all there is. The packets that would have been around them are made up, so that
/// Wireshark and btmon open what comes out:
///
///     New Index, Open Index         when an adapter is first heard of
///     LE Connection Complete        when a link is
///     ACL data with an L2CAP frame   for every PDU
///     Disconnection Complete         when the link ends
public struct LinkRecorder: Sendable {
  private var adapters: Set<UInt16> = []
  private var handles: Set<UInt16> = []
  /// The highest handle that a link may have (Vol 4 Part E, 5.4.2).
  private static let lastHandle: UInt16 = 0x0EFF

  public init() {}

  /// An adapter's packets begin: nothing where they have begun before.
  public mutating func begin(
    adapter: UInt16, address: Address?, name: String, at time: CaptureTime
  ) -> [CaptureRecord] {
    guard adapters.insert(adapter).inserted else { return [] }
    var writer = ByteWriter()
    writer.u8(0)  // a primary controller
    writer.u8(0)  // on no bus
    writer.address(address ?? Address(0))
    let label = name.utf8.prefix(8)
    writer.bytes(label)
    writer.bytes([UInt8](repeating: 0, count: 8 - label.count))
    return [
      CaptureRecord(.newIndex, writer.bytes, time: time, adapter: adapter),
      CaptureRecord(.openIndex, [], time: time, adapter: adapter),
    ]
  }

  /// A link begins, on which the board is the peripheral.
  ///
  /// - Returns: the handle that the link has in the capture, and what to write.
  public mutating func connect(
    adapter: UInt16, peer: DeviceAddress?, at time: CaptureTime
  ) -> (handle: UInt16, record: CaptureRecord) {
    let handle = freeHandle
    handles.insert(handle)
    var writer = ByteWriter()
    writer.bytes([0x3E, 19, 0x01, 0x00])
    writer.u16(handle)
    writer.u8(0x01)
    writer.u8(peer?.type == .random ? 1 : 0)
    writer.address(peer?.address ?? Address(0))
    // What a phone asks for at first: 30 ms, no latency, 5 s; the clock's accuracy is the worst.
    for field: UInt16 in [24, 0, 500] { writer.u16(field) }
    writer.u8(0)
    return (handle, CaptureRecord(.event, writer.bytes, time: time, adapter: adapter))
  }

  /// A PDU on a link, in one ACL packet.
  public func pdu(
    _ bytes: [UInt8], _ direction: CaptureDirection, handle: UInt16, adapter: UInt16,
    at time: CaptureTime
  ) -> CaptureRecord {
    // A host begins a frame with packet boundary flag 0b00, a controller with 0b10 (Vol 4 Part E, 5.4.2).
    let flags: UInt16 = direction == .sent ? 0x0000 : 0x2000
    let payload = bytes.prefix(Int(UInt16.max) - 4)
    var writer = ByteWriter(capacity: payload.count + 8)
    writer.u16(handle & 0x0FFF | flags)
    writer.u16(UInt16(clamping: payload.count + 4))
    writer.u16(UInt16(clamping: payload.count))
    writer.u16(4)  // the attribute protocol's channel
    writer.bytes(payload)
    return CaptureRecord(
      direction == .sent ? .aclTransmitted : .aclReceived, writer.bytes, time: time,
      adapter: adapter)
  }

  /// A link has ended.
  public mutating func disconnect(
    handle: UInt16, adapter: UInt16, reason: ControllerError = .remoteUserTerminated,
    at time: CaptureTime
  ) -> CaptureRecord {
    handles.remove(handle)
    var writer = ByteWriter()
    writer.bytes([0x05, 4, 0x00])
    writer.u16(handle)
    writer.u8(reason.rawValue)
    return CaptureRecord(.event, writer.bytes, time: time, adapter: adapter)
  }

  /// The lowest handle that no link has, so that one link alone has 0: btmon 5.66 falls over ATT on
  /// any other handle where the machine that it runs on has no adapter. With all of them taken, the
  /// last.
  private var freeHandle: UInt16 {
    (0..<Self.lastHandle).first { !handles.contains($0) } ?? Self.lastHandle
  }
}

extension ControllerError {
  /// The other side ended the link.
  public static let remoteUserTerminated = ControllerError(rawValue: 0x13)
  /// This side ended the link.
  public static let localHostTerminated = ControllerError(rawValue: 0x16)
}
