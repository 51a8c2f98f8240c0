// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The L2CAP channels of a link that carry the attribute protocol besides its fixed one: Enhanced ATT
/// on credit based channels (Vol 3 Part G, 5.3), and ATT on BR/EDR. Which they are is in the signalling
/// that opens them; of channels that were there before the capture nothing is known.
struct AttributeChannels: Sendable {
  /// How frames carry PDUs.
  private enum Mode: Sendable {
    /// A frame is a PDU.
    case basic
    /// The first frame of a PDU begins with the PDU's length (Vol 3 Part A, 3.4.3).
    case credit
  }

  private struct Channel: Sendable {
    var mode: Mode
    /// The board's identifier of it, to which the phone sends.
    var local: UInt16
    /// The phone's.
    var remote: UInt16
    var outgoing = Segments()
    var incoming = Segments()
  }

  /// A PDU that is being put together from frames.
  fileprivate struct Segments: Sendable {
    var length: Int?
    var bytes: [UInt8] = []
  }

  private struct Request: Sendable {
    var identifier: UInt8
    var isSent: Bool
    var mode: Mode
    var channels: [UInt16]
  }

  /// A PDU, or what there is of it, on the bearer that the board's identifier names.
  struct Delivery: Hashable, Sendable {
    var bearer: UInt16
    /// Nil where more frames are needed.
    var pdu: [UInt8]?
    var note: String?
  }

  private var channels: [Channel] = []
  private var requests: [Request] = []

  private static let enhancedPSM: UInt16 = 0x0027
  private static let classicPSM: UInt16 = 0x001F
  /// Nobody opens so many; the rest is not followed.
  private static let most = 64

  // MARK: Signalling

  /// Follows a command of the signalling channel: code, identifier, length, data (Vol 3 Part A, 4).
  mutating func follow(_ command: [UInt8], _ direction: CaptureDirection) {
    let bytes = FileBytes(command[...])
    let isSent = direction == .sent
    func field(_ place: Int) -> UInt16 { bytes.u16(4 + 2 * place, .littleEndian) }
    func rest(_ place: Int) -> [UInt16] {
      stride(from: 4 + 2 * place, to: command.count - 1, by: 2).map {
        bytes.u16($0, .littleEndian)
      }
    }
    switch bytes.u8(0) {
    case 0x02 where field(0) == Self.classicPSM:
      asked(bytes.u8(1), isSent, .basic, [field(1)])
    case 0x14 where field(0) == Self.enhancedPSM:
      asked(bytes.u8(1), isSent, .credit, [field(1)])
    case 0x17 where field(0) == Self.enhancedPSM:
      asked(bytes.u8(1), isSent, .credit, rest(4))
    // A Connection Response that says "pending" has no channel yet, and another one follows.
    case 0x03 where field(2) != 1:
      answered(bytes.u8(1), isSent, field(2) == 0 ? [field(0)] : [])
    case 0x15: answered(bytes.u8(1), isSent, field(4) == 0 ? [field(0)] : [])
    case 0x18: answered(bytes.u8(1), isSent, rest(4))
    case 0x07:
      // The answer names the channel as the request did: the answering side's own identifier first.
      let (local, remote) = isSent ? (field(0), field(1)) : (field(1), field(0))
      channels.removeAll { $0.local == local && $0.remote == remote }
    default: break
    }
  }

  private mutating func asked(
    _ identifier: UInt8, _ isSent: Bool, _ mode: Mode, _ identifiers: [UInt16]
  ) {
    requests.removeAll { $0.identifier == identifier && $0.isSent == isSent }
    guard requests.count < Self.most else { return }
    requests.append(
      Request(identifier: identifier, isSent: isSent, mode: mode, channels: identifiers))
  }

  private mutating func answered(_ identifier: UInt8, _ isSent: Bool, _ identifiers: [UInt16]) {
    let asked = requests.firstIndex { $0.identifier == identifier && $0.isSent != isSent }
    guard let asked else { return }
    let request = requests.remove(at: asked)
    // Zero stands for one that was refused.
    for (asking, answering) in zip(request.channels, identifiers) where answering != 0 {
      let (local, remote) = request.isSent ? (asking, answering) : (answering, asking)
      channels.removeAll { $0.local == local || $0.remote == remote }
      guard channels.count < Self.most else { return }
      channels.append(Channel(mode: request.mode, local: local, remote: remote))
    }
  }

  // MARK: Data

  /// Takes a frame; nil where its channel is none of these.
  mutating func receive(_ frame: Reassembler.Frame, _ direction: CaptureDirection) -> Delivery? {
    let found = channels.firstIndex {
      (direction == .sent ? $0.remote : $0.local) == frame.channel
    }
    guard let found else { return nil }
    let bearer = channels[found].local
    guard channels[found].mode == .credit else {
      return Delivery(bearer: bearer, pdu: frame.payload)
    }
    switch direction {
    case .sent: return channels[found].outgoing.take(frame, bearer)
    case .received: return channels[found].incoming.take(frame, bearer)
    }
  }
}

extension AttributeChannels.Segments {
  fileprivate mutating func take(
    _ frame: Reassembler.Frame, _ bearer: UInt16
  ) -> AttributeChannels.Delivery {
    var delivery = AttributeChannels.Delivery(bearer: bearer)
    if length == nil {
      guard frame.payload.count >= 2 else {
        delivery.note = "a frame of channel \(frame.channel) without the PDU's length"
        return delivery
      }
      length = Int(FileBytes(frame.payload[...]).u16(0, .littleEndian))
      bytes = Array(frame.payload.dropFirst(2))
    } else {
      bytes += frame.payload
    }
    let wanted = length ?? 0
    // Of a frame that was not captured whole nothing can follow.
    guard bytes.count >= wanted || !frame.isWhole else {
      delivery.note = "a segment: \(bytes.count) of \(wanted) bytes of channel \(frame.channel)"
      return delivery
    }
    if bytes.count > wanted { delivery.note = "\(bytes.count - wanted) bytes too many" }
    delivery.pdu = Array(bytes.prefix(wanted))
    length = nil
    bytes = []
    return delivery
  }
}
