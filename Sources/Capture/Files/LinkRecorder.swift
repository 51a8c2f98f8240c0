// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// Makes HCI records of ATT PDUs that were captured at a socket or in memory. It invents the packets
/// around them, so that Wireshark and btmon can decode the capture:
///
///     New Index, Open Index          for a new adapter
///     LE Connection Complete         for a new link
///     ACL data with an L2CAP frame   for each PDU
///     Disconnection Complete         at the end of the link
public struct LinkRecorder: Sendable {
  private var adapters: Set<UInt16> = []
  private var handles: Set<UInt16> = []
  /// The highest connection handle (Vol 4 Part E, 5.4.2).
  private static let lastHandle: UInt16 = 0x0EFF

  public init() {}

  /// The records for a new adapter; none if it is known.
  public mutating func begin(adapter: UInt16, address: Address?, name: String, at time: WallTime) -> [CaptureRecord] {
    guard adapters.insert(adapter).inserted else { return [] }
    var writer = ByteWriter()
    writer.bytes([0, 0])  // a primary controller on a virtual bus
    writer.address(address ?? Address(0))
    writer.bytes((Array(name.utf8) + [UInt8](repeating: 0, count: 8)).prefix(8))
    return [
      CaptureRecord(.newIndex, writer.bytes, time: time, adapter: adapter),
      CaptureRecord(.openIndex, [], time: time, adapter: adapter),
    ]
  }

  /// The record for a new link on which the board is the peripheral, and the link's handle.
  public mutating func connect(
    adapter: UInt16, peer: DeviceAddress?, at time: WallTime
  ) -> (handle: UInt16, record: CaptureRecord) {
    let handle = freeHandle
    handles.insert(handle)
    var writer = ByteWriter()
    writer.bytes([0x3E, 19, 0x01, 0x00])
    writer.u16(handle)
    writer.u8(0x01)
    writer.u8(peer?.type == .random ? 1 : 0)
    writer.address(peer?.address ?? Address(0))
    // A phone's usual parameters: 30 ms, no latency, 5 s; clock accuracy 500 ppm.
    for field: UInt16 in [24, 0, 500] { writer.u16(field) }
    writer.u8(0)
    return (handle, CaptureRecord(.event, writer.bytes, time: time, adapter: adapter))
  }

  /// The record for a PDU, in one ACL packet.
  public func pdu(
    _ bytes: [UInt8], _ direction: CaptureDirection, handle: UInt16, adapter: UInt16,
    at time: WallTime
  ) -> CaptureRecord {
    // The packet boundary flag is 0b00 from the host and 0b10 from the controller (Vol 4 Part E, 5.4.2).
    let flags: UInt16 = direction == .sent ? 0x0000 : 0x2000
    let payload = bytes.prefix(Int(UInt16.max) - 4)
    var writer = ByteWriter(capacity: payload.count + 8)
    writer.u16(handle & 0x0FFF | flags)
    writer.u16(UInt16(clamping: payload.count + 4))
    writer.u16(UInt16(clamping: payload.count))
    writer.u16(4)  // the channel of ATT
    writer.bytes(payload)
    return CaptureRecord(
      direction == .sent ? .aclTransmitted : .aclReceived, writer.bytes, time: time, adapter: adapter)
  }

  /// The record for the end of a link.
  public mutating func disconnect(handle: UInt16, adapter: UInt16, at time: WallTime) -> CaptureRecord {
    handles.remove(handle)
    var writer = ByteWriter()
    writer.bytes([0x05, 4, 0x00])
    writer.u16(handle)
    writer.u8(0x13)  // Remote User Terminated Connection
    return CaptureRecord(.event, writer.bytes, time: time, adapter: adapter)
  }

  /// The lowest unused handle, so that a single link has 0: btmon 5.66 fails at ATT on any other
  /// handle if its machine has no adapter. If all are in use, the last.
  private var freeHandle: UInt16 {
    (0..<Self.lastHandle).first { !handles.contains($0) } ?? Self.lastHandle
  }
}
