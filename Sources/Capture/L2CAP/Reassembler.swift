// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// An L2CAP frame, or as much of it as was captured.
struct L2CAPFrame: Hashable, Sendable {
  var channel: UInt16
  var payload: [UInt8]
  /// False if only the beginning was captured.
  var isWhole: Bool
}

/// Reassembles the L2CAP frames of one direction of a link from ACL packets (Core Specification Vol 4
/// Part E, 5.4.2; Vol 3 Part A, 7.2).
struct Reassembler: Sendable {
  /// The result of a packet.
  typealias Outcome = (frame: L2CAPFrame?, note: String?)

  private var begun: [UInt8] = []

  /// Whether a frame has begun and is incomplete.
  var isPending: Bool { !begun.isEmpty }

  /// Adds the data of an ACL packet.
  ///
  /// - Parameters:
  ///   - isStart: whether it is the first fragment of a frame.
  ///   - missing: the number of bytes that were not captured.
  mutating func receive(_ data: [UInt8], isStart: Bool, missing: Int) -> Outcome {
    var outcome: Outcome = (nil, nil)
    if isStart {
      if isPending { outcome.note = "the frame before it ended after \(begun.count) bytes" }
      begun = data
    } else if isPending {
      begun += data
    } else {
      outcome.note = "it goes on with a frame whose beginning was not captured"
      return outcome
    }
    var reader = ByteReader(begun)
    guard let length = try? reader.u16(), let channel = try? reader.u16() else {
      if missing > 0 { begun = [] }
      if outcome.note == nil { outcome.note = "the beginning of a frame" }
      return outcome
    }
    let available = reader.remaining
    if available >= length {
      if available > length { outcome.note = "\(available - Int(length)) bytes too many" }
      outcome.frame = L2CAPFrame(channel: channel, payload: Array(reader.rest().prefix(Int(length))), isWhole: true)
      begun = []
    } else if missing > 0 {
      outcome.frame = L2CAPFrame(channel: channel, payload: Array(reader.rest()), isWhole: false)
      begun = []
    } else if outcome.note == nil {
      outcome.note = "a fragment: \(available) of \(length) bytes of channel \(channel)"
    }
    return outcome
  }
}
