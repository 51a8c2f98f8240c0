// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Puts the L2CAP frames of one direction of one link together from ACL packets (Core Specification
/// Vol 4 Part E, 5.4.2; Vol 3 Part A, 7.2).
struct Reassembler: Sendable {
  /// A frame, or what there is of it.
  struct Frame: Hashable, Sendable {
    var channel: UInt16
    var payload: [UInt8]
    /// False where only the beginning was captured.
    var isWhole: Bool
  }

  /// What a packet has led to.
  struct Outcome: Hashable, Sendable {
    var frame: Frame?
    var note: String?
  }

  private static let headerLength = 4

  private var begun: [UInt8] = []

  /// Whether a frame has begun and is not whole yet.
  var isPending: Bool { !begun.isEmpty }

  /// Takes an ACL packet's data.
  ///
  /// - Parameters:
  ///   - isStart: whether a frame begins with it.
  ///   - missing: how many bytes of it the capture left out.
  mutating func receive(_ data: [UInt8], isStart: Bool, missing: Int) -> Outcome {
    var outcome = Outcome()
    if isStart {
      if isPending { outcome.note = "the frame before it ended after \(begun.count) bytes" }
      begun = data
    } else if isPending {
      begun += data
    } else {
      outcome.note = "it goes on with a frame whose beginning was not captured"
      return outcome
    }
    guard begun.count >= Self.headerLength else {
      if missing > 0 { begun = [] }
      if outcome.note == nil { outcome.note = "the beginning of a frame" }
      return outcome
    }
    let head = FileBytes(begun[...])
    let length = Int(head.u16(0, .littleEndian))
    let channel = head.u16(2, .littleEndian)
    let available = begun.count - Self.headerLength
    if available >= length {
      if available > length { outcome.note = "\(available - length) bytes too many" }
      outcome.frame = Frame(
        channel: channel, payload: Array(begun[4..<4 + length]), isWhole: true)
      begun = []
    } else if missing > 0 {
      outcome.frame = Frame(channel: channel, payload: Array(begun[4...]), isWhole: false)
      begun = []
    } else if outcome.note == nil {
      outcome.note = "a fragment: \(available) of \(length) bytes of channel \(channel)"
    }
    return outcome
  }
}
