// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import JSON
import TestLoop
import Wire

/// Plays the peer of a transcript against one of our bearers.
final class TranscriptPlayer {
  let transcript: Transcript
  let bearer: Bearer
  /// The number of lines played.
  private(set) var position = 0
  /// The first deviation of our side.
  private(set) var deviation: String?

  init(_ transcript: Transcript, scheduler: any Scheduler) {
    self.transcript = transcript
    bearer = Bearer(scheduler: scheduler, receiveMTU: transcript.mtu)
    bearer.send = { [unowned self] in sent($0) }
  }

  /// The next line.
  var next: Transcript.Line? {
    transcript.lines.indices.contains(position) ? transcript.lines[position] : nil
  }

  /// The handles of the next line, if it is a request for a range.
  var askedRange: HandleRange? {
    guard let line = next, line.isSent, let pdu = try? PDU(decoding: line.bytes) else { return nil }
    return switch pdu {
    case .findInformationRequest(let range), .findByTypeValueRequest(let range, _, _),
      .readByTypeRequest(let range, _), .readByGroupTypeRequest(let range, _):
      range
    default: nil
    }
  }

  private func sent(_ bytes: [UInt8]) {
    guard deviation == nil else { return }
    guard let line = next, line.isSent else {
      deviation = "PDU \(position): sent \(bytes.hex) where nothing was to be sent"
      return
    }
    guard line.bytes == bytes else {
      deviation = "PDU \(position): sent \(bytes.hex) instead of \(line.bytes.hex)"
      return
    }
    position += 1
  }

  /// Plays all lines: delivers what our side is to receive, and waits for what it is to send.
  ///
  /// - Parameter runStep: performs the step when a line says so.
  /// - Returns: the first deviation; nil if there is none.
  func play(_ loop: isolated TestLoop, _ runStep: () throws -> Void = {}) async -> String? {
    var stepDoneAt: Int?
    while deviation == nil {
      await loop.settle()
      if position > 0, transcript.lines[position - 1].runsStep, stepDoneAt != position, deviation == nil {
        stepDoneAt = position
        do { try runStep() } catch { return "the step failed: \(error)" }
        continue
      }
      guard deviation == nil, let line = next else { break }
      guard !line.isSent else {
        return "PDU \(position): nothing was sent instead of \(line.bytes.hex)"
      }
      position += 1
      bearer.receive(line.bytes)
    }
    return deviation
  }
}

extension Transcripts {
  static func play(_ transcript: Transcript) -> Verdict {
    do {
      try TestLoop.run { loop in
        switch transcript.role {
        case "client", "att": try await playClient(transcript, loop)
        case "server": try await playServer(transcript, loop)
        default: throw Verdict.notApplicable("the role \(transcript.role) is not known")
        }
      }
      return .passed
    } catch let verdict as Verdict {
      return verdict
    } catch { return .failed("\(error)") }
  }
}

extension Verdict: Error {}
