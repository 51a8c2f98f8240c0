// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

/// The Control Point and its Data Source together: one command, and its answer, at a time.
///
/// The Write Response and the answer come independently of each other, so fragments are taken from the
/// moment the command is sent. A command that fails costs itself only; what is left of its answer is
/// kept from the next one.
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
  /// Takes what was not part of an answer, for the log.
  var onDropped: ([UInt8], String) -> Void = { _, _ in }

  init(_ client: Client, handle: Handle, timing: ConsumerSettings.Timing) {
    self.client = client
    self.handle = handle
    self.timing = timing
    alarm = Alarm(client.bearer)
  }

  private var now: Instant { client.bearer.scheduler.now }

  /// Takes a value of the Data Source.
  func receive(_ fragment: [UInt8]) {
    guard answer == nil, let progress = assembler?.receive(fragment) else {
      return onDropped(fragment, DataSourceError.unexpectedData.description)
    }
    switch progress {
    case .more:
      hasBegun = true
      // Whoever waits looks at this when the time is up.
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

  /// Sends a command and waits for what it brings: its answer, or nothing for an action.
  ///
  /// - Throws: only where the link is gone.
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
    let value = command.encoded
    do {
      if value.count > client.bearer.mtu - 3 {
        try await client.writeLong(handle, value)
      } else {
        try await client.write(handle, value)
      }
      return nil
    } catch {
      if error.isEnd { throw error }
      return error.code.map(FetchFailure.refused) ?? .undelivered(error)
    }
  }

  /// Waits for the rest of the answer: ten seconds for each part, and not for ever.
  private func gather() async throws(ATTFailure) -> Result<DataSourceResponse, FetchFailure> {
    let accepted = now
    while true {
      if let answer { return answer.mapError(FetchFailure.malformed) }
      if isEnded { return .failure(.ended) }
      let deadline = min(
        max(accepted, lastFragment) + timing.answer, accepted + timing.wholeAnswer)
      guard now < deadline else {
        lateBytesPossible = true
        return .failure(.timedOut)
      }
      try await alarm.wait(until: deadline)
    }
  }

  /// What comes of earlier commands is not to be taken for an answer.
  func expectLateBytes() { lateBytesPossible = true }

  /// Lets whoever waits for an answer go.
  func end() {
    isEnded = true
    alarm.ring()
  }
}
