// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import EventLoop
import History
import JSON
import System
import Wire

/// The daemon's helper that writes the history: a client like any other, so that the disk never delays the daemon.
///
///     daemon ── events, over the control socket ──▶ Recorder ── every few seconds ──▶ HistoryFile
///
/// After an interruption it continues after the latest event in the file, as far as the daemon still has the later
/// ones.
@LoopActor final class Recorder {
  private let limits: HistoryLimits
  private let client: ControlClient
  private let file: HistoryFile
  private var waiting: [HistoryEntry] = []
  private var life = ""
  private var timer: Int?
  private var lastRemoval: Instant?
  /// The last failure, so that it is logged once.
  private var complaint: String?

  /// How long an event waits for others, to be written together.
  private static let pause = Duration.seconds(5)
  /// The number of waiting events that triggers a write, and the maximum that waits if the disk refuses.
  private static let batch = 200
  private static let most = 2_000
  /// How often to remove old events.
  private static let removalPause = Duration.seconds(3_600)

  init(
    _ path: String, _ limits: HistoryLimits, _ console: Console, toFirstOf sockets: [String]
  ) throws(Failure) {
    self.limits = limits
    client = ControlClient(console, toFirstOf: sockets)
    do throws(HistoryError) {
      file = try HistoryFile(writing: path, limit: limits.size << 20)
    } catch {
      throw Failure(.cannotCreate, "keeping a history", "\(error)")
    }
  }

  /// News, and the event that counts missing news.
  private static let names = Set(EventName.allCases.filter(\.isNews)).union([.lost])

  /// Records until the daemon exits; the next daemon starts it again.
  func run() async throws(Failure) -> ExitStatus {
    let inbox = client.inbox
    try? Loop.shared.onSignal([.interrupt, .terminate, .hangUp]) { inbox.post(.signal($0)) }
    do throws(Failure) {
      try client.connect()
      try await record()
    } catch {
      write()
      client.close()
      guard error.status == .unavailable else { throw error }
    }
    return .done
  }

  private func record() async throws(Failure) {
    life = try await client.call(ControlMethods.status, "status").life ?? ""
    let latest: HistoryEntry?
    do throws(HistoryError) {
      latest = try file.latest()
    } catch {
      throw Failure(.noInput, "reading the history", "\(error)")
    }
    try await client.call(
      ControlMethods.subscribe,
      Subscription(events: Self.names, since: latest?.seq ?? 0, life: latest?.life), "subscribe")
    while true {
      switch try await client.next() {
      case .line(let line): take(line)
      case .timeUp(timer):
        timer = nil
        write()
      case .timeUp, .typed, .closed, .signal, .readerGone: continue
      }
    }
  }

  private func take(_ line: [UInt8]) {
    guard let json = RPC.event(in: line), let value = try? JSONValue(parsing: Array(json)),
      let event = try? NumberedEvent(reading: value)
    else { return }
    if waiting.count == Self.most { waiting.removeFirst() }
    var entry = HistoryEntry(
      time: event.time, life: life, seq: event.seq,
      line: limits.withTexts ? Array(json) : value.withoutTexts.json)
    if case .notification(let report) = event.event.content {
      entry.appID = report.attributes.appIdentifier ?? ""
      entry.app = report.app ?? ""
    }
    waiting.append(entry)
    if waiting.count % Self.batch == 0 { write() }
    if timer == nil { timer = client.startTimer(Self.pause) }
  }

  /// Writes the waiting events; if that fails, they keep waiting.
  private func write() {
    guard !waiting.isEmpty else { return }
    do throws(HistoryError) {
      try file.add(waiting)
      waiting = []
      complaint = nil
      let now = Loop.shared.now
      guard lastRemoval.map({ now - $0 >= Self.removalPause }) ?? true else { return }
      lastRemoval = now
      let age = limits.age.components.seconds
      try file.remove(before: WallTime(seconds: WallTime.now.seconds - age))
    } catch {
      if complaint != "\(error)" {
        client.report(Failure(.cannotCreate, "keeping a history", "\(error)"))
      }
      complaint = "\(error)"
    }
  }
}

extension JSONValue {
  /// An event without its texts.
  fileprivate var withoutTexts: JSONValue {
    guard case .object(var members) = self else { return self }
    for name in ["title", "subtitle", "message"] { members[name] = nil }
    return .object(members)
  }
}
