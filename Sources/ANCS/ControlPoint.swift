// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

/// The Control Point and its Data Source together: one command, and its answer, at a time.
///
/// Write Response and answer arrive independently, so fragments are accepted from the moment the command
/// is sent. A command that fails affects only itself: the rest of its answer is kept out of the next one.
final class ControlPoint {
  private let client: Client
  private let handle: Handle
  private let timing: ConsumerSettings.Timing
  private let alarm: Alarm
  private var assembler: DataSourceAssembler?
  private var answer: Result<DataSourceResponse, DataSourceError>?
  private var lastFragment = Instant.zero
  private var hasBegun = false
  private var lateBytesPossible = false
  private var isEnded = false
  /// Called with bytes that were not part of an answer, and the reason, for the log.
  var onDropped: ([UInt8], String) -> Void = { _, _ in }

  init(_ client: Client, handle: Handle, timing: ConsumerSettings.Timing) {
    self.client = client
    self.handle = handle
    self.timing = timing
    alarm = Alarm(client.bearer)
  }

  private var now: Instant { client.bearer.scheduler.now }

  /// Processes a value of the Data Source.
  func receive(_ fragment: [UInt8]) {
    guard answer == nil, let progress = assembler?.receive(fragment) else {
      return onDropped(fragment, DataSourceError.unexpectedData.description)
    }
    switch progress {
    case .more:
      hasBegun = true
      // `gather` looks at this when its deadline has passed.
      lastFragment = now
      return
    case .dropped(let error):
      return onDropped(fragment, "the rest of an answer that was given up (\(error))")
    case .complete(let response, let trailing):
      answer = .success(response)
      if trailing > 0 { onDropped(fragment.suffix(trailing), "bytes behind an answer") }
    case .failed(let error):
      answer = .failure(error)
      lateBytesPossible = true
      onDropped(fragment, error.description)
    }
    alarm.ring()
  }

  /// Sends a command and waits for its answer; an action has none.
  ///
  /// - Throws: only if the link has ended.
  func send(
    _ command: ControlPointCommand
  ) async throws(ATTFailure) -> Result<DataSourceResponse?, FetchFailure> {
    assembler = DataSourceAssembler(for: command, lateBytesPossible: lateBytesPossible)
    answer = nil
    hasBegun = false
    defer {
      assembler = nil
      answer = nil
    }
    if let failure = try await write(command) {
      if hasBegun || answer != nil { lateBytesPossible = true }
      return .failure(failure)
    }
    guard assembler != nil, command != .probe else { return .success(nil) }
    return try await gather().map { $0 }
  }

  private func write(_ command: ControlPointCommand) async throws(ATTFailure) -> FetchFailure? {
    do {
      try await client.writeInFull(handle, command.encoded)
      return nil
    } catch {
      if error.isEnd { throw error }
      return error.code.map(FetchFailure.refused) ?? .undelivered(error)
    }
  }

  /// Waits for the rest of the answer, with a deadline for each part and one for the whole.
  private func gather() async throws(ATTFailure) -> Result<DataSourceResponse, FetchFailure> {
    let accepted = now
    while true {
      if let answer { return answer.mapError(FetchFailure.malformed) }
      if isEnded { return .failure(.ended) }
      let deadline = min(max(accepted, lastFragment) + timing.answer, accepted + timing.wholeAnswer)
      guard now < deadline else {
        lateBytesPossible = true
        return .failure(.timedOut)
      }
      try await alarm.wait(until: deadline)
    }
  }

  /// From now on the rest of an earlier answer may precede the next one.
  func expectLateBytes() { lateBytesPossible = true }

  /// Ends the wait for an answer.
  func end() {
    isEnded = true
    alarm.ring()
  }
}

/// Why a command on the Control Point brought nothing. It fails this command, not the session.
public enum FetchFailure: Error, Hashable, Sendable {
  /// The phone refused it.
  case refused(ErrorCode)
  /// The Data Source stopped before the answer was whole.
  case timedOut
  /// The Data Source sent something that is not the answer.
  case malformed(DataSourceError)
  /// The command did not reach the phone, or its Write Response was invalid.
  case undelivered(ATTFailure)
  /// Too many notifications wait, so this one is not fetched.
  case tooMany
  /// The phone has no Control Point or no Data Source.
  case unsupported
  /// Nobody waits for the answer any more, so it was not sent.
  case cancelled
  /// The link or the session ended.
  case ended

  /// The phone's error code, if it refused.
  public var code: ErrorCode? { if case .refused(let code) = self { code } else { nil } }
}

extension FetchFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .refused(let code): ControlPointError(rawValue: code.rawValue).name ?? code.description
    case .timedOut: "the phone did not answer in time"
    case .malformed(let error): "the phone sent \(error)"
    case .undelivered(let failure): failure.description
    case .tooMany: "too many notifications are waiting"
    case .unsupported: "the phone tells no more than that there is a notification"
    case .cancelled: "given up before it was sent"
    case .ended: "the session ended"
    }
  }
}
