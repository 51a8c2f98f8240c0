// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

/// The Control Point and its Data Source together: the transport of one command and its response at a time.
///
///     send ──▶ command ──▶ Write Response ─┬─▶ onOutcome
///               Data Source: fragments ────┘
///
/// Write Response and Data Source response arrive independently, so fragments are accepted from the moment the command
/// is sent. A failed command affects only itself: the rest of its response is kept out of the next one.
final class ControlPoint {
  /// The outcome of a command; an action, and a probe that was not refused, have no response.
  typealias Outcome = Result<DataSourceResponse?, FetchFailure>

  /// The stage of the command in progress.
  private enum Stage {
    case idle
    /// The phone has not accepted it yet.
    case sent
    /// The phone has not accepted it yet, but this outcome has already arrived.
    case completed(Outcome)
    /// The phone accepted it at this time; the response, or the rest of it, is pending.
    case accepted(Instant)
  }

  /// Called once with the outcome of each command, at the latest by `end`. No task waits for it, because this is nearly
  /// all that a session does.
  var onOutcome: (Outcome) -> Void = { _ in }
  /// Called with bytes that were not part of a response, and the reason, for the log.
  var onDropped: (ArraySlice<UInt8>, String) -> Void = { _, _ in }

  private let client: Client
  private let handle: Handle
  private let timing: ConsumerTiming
  private var stage = Stage.idle
  /// Assembles its response; it has ended if the phone sends none, or has sent all of it. (Not part of the stage, which
  /// each fragment would then copy.)
  private var assembler = DataSourceAssembler()
  private var timer: TimerID?
  private var lastFragment = Instant.zero
  private var lateBytesPossible = false

  init(_ client: Client, handle: Handle, timing: ConsumerTiming) {
    self.client = client
    self.handle = handle
    self.timing = timing
  }

  private var now: Instant { client.bearer.scheduler.now }

  /// Whether a command is in progress.
  var isBusy: Bool { if case .idle = stage { false } else { true } }

  // MARK: Commands

  /// Sends a command, in as many requests as needed.
  func send(_ command: ControlPointCommand) {
    let value = command.encoded
    if !command.isProbe {
      assembler.begin(command, sent: value, lateBytesPossible: lateBytesPossible)
    }
    stage = .sent
    client.writeInFull(handle, value, onWritten)
  }

  // One closure for all commands. They retain the Control Point until `end`.
  private lazy var onWritten: Bearer.Completion = { [self] in written($0) }
  private lazy var onDeadline: () -> Void = { [self] in checkDeadline() }

  /// The phone has accepted the command, or refused it.
  private func written(_ result: Result<PDU, ATTFailure>) {
    if case .failure(let failure) = result {
      if hasBegunEarly { lateBytesPossible = true }
      return finish(.failure(FetchFailure(failure)))
    }
    switch stage {
    case .sent where assembler.hasEnded: finish(.success(nil))
    case .sent:
      let now = now
      stage = .accepted(now)
      watch(until: now + min(timing.response, timing.wholeResponse))
    case .completed(let outcome): finish(outcome)
    case .idle, .accepted: break
    }
  }

  /// Whether the phone has begun to respond before it accepted the command.
  private var hasBegunEarly: Bool {
    switch stage {
    case .sent: assembler.hasBegun
    case .completed: true
    case .idle, .accepted: false
    }
  }

  private func finish(_ outcome: Outcome) {
    guard isBusy else { return }
    if let timer { client.bearer.scheduler.cancel(timer) }
    timer = nil
    stage = .idle
    assembler.end()
    onOutcome(outcome)
  }

  // MARK: Responses

  /// Processes a value of the Data Source.
  func receive(_ fragment: ArraySlice<UInt8>) {
    guard !assembler.hasEnded else {
      return onDropped(fragment, DataSourceError.unexpectedData.description)
    }
    switch assembler.receive(fragment) {
    // `checkDeadline` reads this.
    case .more: lastFragment = now
    case .dropped(let error):
      onDropped(fragment, "the rest of an abandoned response (\(error))")
    case .complete(let response, let trailing):
      // Late bytes can only precede it.
      lateBytesPossible = false
      if trailing > 0 { onDropped(fragment.suffix(trailing), "bytes after a response") }
      completed(.success(response))
    case .failed(let error):
      lateBytesPossible = true
      onDropped(fragment, error.description)
      completed(.failure(.malformed(error)))
    }
  }

  private func completed(_ outcome: Outcome) {
    if case .accepted = stage { return finish(outcome) }
    stage = .completed(outcome)
    assembler.end()
  }

  /// The next part of a response and the whole response have separate deadlines.
  private func watch(until deadline: Instant) {
    timer = client.bearer.scheduler.schedule(at: deadline, onDeadline)
  }

  private func checkDeadline() {
    guard case .accepted(let accepted) = stage else { return }
    let deadline = min(max(accepted, lastFragment) + timing.response, accepted + timing.wholeResponse)
    if now < deadline { return watch(until: deadline) }
    lateBytesPossible = true
    finish(.failure(.timedOut))
  }

  /// From now on the rest of an earlier response may precede the next one.
  func expectLateBytes() { lateBytesPossible = true }

  /// Cancels the command in progress. Must be called at the end, whatever happened to the link.
  func end() {
    finish(.failure(.ended))
    (onWritten, onDeadline) = ({ _ in }, {})
    (onOutcome, onDropped) = ({ _ in }, { _, _ in })
  }
}

/// Why a command on the Control Point failed. It fails this command, not the session.
public enum FetchFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The phone refused it.
  case refused(ErrorCode)
  /// The Data Source stopped before the response was complete.
  case timedOut
  /// The Data Source sent something other than the response.
  case malformed(DataSourceError)
  /// The command did not reach the phone, or its Write Response was invalid.
  case undelivered(ATTFailure)
  /// The phone has no Control Point or no Data Source.
  case unsupported
  /// Nobody waits for the response anymore, so it was not sent.
  case cancelled
  /// The UID is of an earlier session, and may be another notification's in this one, so it was not sent.
  case outdated
  /// The link or the session ended.
  case ended

  /// Why a command was not accepted.
  init(_ failure: ATTFailure) {
    self = failure.code.map(Self.refused) ?? (failure.isEnd ? .ended : .undelivered(failure))
  }

  /// The phone's error code, if it refused.
  public var code: ErrorCode? { if case .refused(let code) = self { code } else { nil } }

  /// Whether another attempt may succeed. A command refused with an ANCS error will be refused again.
  var mayPass: Bool {
    switch self {
    case .refused(let code): code.nameInANCS == nil
    case .timedOut, .malformed, .undelivered: true
    case .unsupported, .cancelled, .outdated, .ended: false
    }
  }

  public var description: String {
    switch self {
    case .refused(let code): code.nameInANCS ?? code.description
    case .timedOut: "the phone did not respond in time"
    case .malformed(let error): "the phone sent \(error)"
    case .undelivered(let failure): failure.description
    case .unsupported: "the phone provides no attributes of notifications"
    case .cancelled: "cancelled before it was sent"
    case .outdated: "the UID is of an earlier session, and may be another notification's in this one: list them again"
    case .ended: "the session ended"
    }
  }
}
