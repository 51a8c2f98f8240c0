// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The dynamic L2CAP channels of a link that carry ATT: Enhanced ATT on credit based channels (Vol 3
/// Part G, 5.3), and ATT on BR/EDR. They are known from the signalling that opens them; channels that
/// were open before the capture began are not.
struct AttributeChannels: Sendable {
  private enum Mode: Sendable {
    /// A frame is a PDU.
    case basic
    /// A PDU may span several frames; the first begins with its length (Vol 3 Part A, 3.4.3).
    case credit
  }

  private struct Channel: Sendable {
    var mode: Mode
    /// The host's channel identifier, which the peer sends to.
    var local: UInt16
    /// The peer's channel identifier.
    var remote: UInt16
    var segments: [CaptureDirection: Segments] = [:]
  }

  private struct Request: Sendable {
    var identifier: UInt8
    var isSent: Bool
    var mode: Mode
    var channels: ArraySlice<UInt16>
  }

  /// A PDU, or as much of it as there is, on the bearer with the board's channel identifier; nil if
  /// more frames are needed.
  typealias Delivery = (bearer: UInt16, pdu: [UInt8]?, note: String?)

  private var channels: [Channel] = []
  private var requests: [Request] = []

  private static let enhancedPSM: UInt16 = 0x0027
  private static let classicPSM: UInt16 = 0x001F
  /// Further channels are not followed.
  private static let most = 64

  // MARK: Signalling

  /// Follows a signalling command: code, identifier, length, data (Vol 3 Part A, 4).
  mutating func follow(_ command: [UInt8], _ direction: CaptureDirection) {
    var reader = ByteReader(command)
    guard let code = try? reader.u8(), let identifier = try? reader.u8(),
      (try? reader.skip(2)) != nil
    else { return }
    var fields: [UInt16] = []
    while let field = try? reader.u16() { fields.append(field) }
    func field(_ place: Int) -> UInt16 { place < fields.count ? fields[place] : 0 }
    let isSent = direction == .sent
    switch code {
    case 0x02 where field(0) == Self.classicPSM: addRequest(identifier, isSent, .basic, [field(1)])
    case 0x14 where field(0) == Self.enhancedPSM:
      addRequest(identifier, isSent, .credit, [field(1)])
    case 0x17 where field(0) == Self.enhancedPSM:
      addRequest(identifier, isSent, .credit, fields.dropFirst(4))
    // A Connection Response with the result "pending" has no channel yet; another one follows.
    case 0x03 where field(2) != 1: openChannels(identifier, isSent, field(2) == 0 ? [field(0)] : [])
    case 0x15: openChannels(identifier, isSent, field(4) == 0 ? [field(0)] : [])
    case 0x18: openChannels(identifier, isSent, fields.dropFirst(4))
    case 0x07:
      // A Disconnection Response begins with the identifier of the side that sends it.
      let (local, remote) = isSent ? (field(0), field(1)) : (field(1), field(0))
      channels.removeAll { $0.local == local && $0.remote == remote }
    default: break
    }
  }

  private mutating func addRequest(_ identifier: UInt8, _ isSent: Bool, _ mode: Mode, _ channels: ArraySlice<UInt16>) {
    requests.removeAll { $0.identifier == identifier && $0.isSent == isSent }
    guard requests.count < Self.most else { return }
    requests.append(Request(identifier: identifier, isSent: isSent, mode: mode, channels: channels))
  }

  /// Opens the channels of a request that this is the response to.
  private mutating func openChannels(_ identifier: UInt8, _ isSent: Bool, _ identifiers: ArraySlice<UInt16>) {
    let index = requests.firstIndex { $0.identifier == identifier && $0.isSent != isSent }
    guard let index else { return }
    let request = requests.remove(at: index)
    // Zero stands for a channel that was refused.
    for (requested, responded) in zip(request.channels, identifiers) where responded != 0 {
      let (local, remote) = request.isSent ? (requested, responded) : (responded, requested)
      channels.removeAll { $0.local == local || $0.remote == remote }
      guard channels.count < Self.most else { return }
      channels.append(Channel(mode: request.mode, local: local, remote: remote))
    }
  }

  // MARK: Data

  /// Adds a frame; nil if it belongs to none of the channels.
  mutating func receive(_ frame: L2CAPFrame, _ direction: CaptureDirection) -> Delivery? {
    let index = channels.firstIndex { (direction == .sent ? $0.remote : $0.local) == frame.channel }
    guard let index else { return nil }
    let bearer = channels[index].local
    guard channels[index].mode == .credit else { return (bearer, frame.payload, nil) }
    return channels[index].segments[direction, default: Segments()].append(frame, bearer)
  }

  /// A PDU that is reassembled from frames.
  private struct Segments: Sendable {
    private var length: Int?
    private var bytes: [UInt8] = []

    mutating func append(_ frame: L2CAPFrame, _ bearer: UInt16) -> Delivery {
      var delivery: Delivery = (bearer, nil, nil)
      var reader = ByteReader(frame.payload)
      if length == nil {
        guard let field = try? reader.u16() else {
          delivery.note = "a frame of channel \(frame.channel) without the PDU's length"
          return delivery
        }
        length = Int(field)
      }
      bytes += reader.rest()
      let needed = length ?? 0
      // Nothing follows a frame that was not captured completely.
      guard bytes.count >= needed || !frame.isWhole else {
        delivery.note = "a segment: \(bytes.count) of \(needed) bytes of channel \(frame.channel)"
        return delivery
      }
      if bytes.count > needed { delivery.note = "\(bytes.count - needed) bytes too many" }
      delivery.pdu = Array(bytes.prefix(needed))
      self = Segments()
      return delivery
    }
  }
}
