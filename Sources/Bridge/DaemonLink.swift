// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import JSON
import System
import Wire

/// A connection to the daemon's control socket: calls with their responses, and events.
///
/// It reports when it is up and when it is down. While it is paused (`isPaused`), it does not read,
/// and events wait in the daemon.
@LoopActor final class DaemonLink {
  /// Called when the connection is up, and when it is down, with the reason.
  var onUp: () -> Void = {}
  var onDown: (String) -> Void = { _ in }
  /// Called with each event.
  var onEvent: (JSONObject) -> Void = { _ in }

  private enum State {
    case waiting(TimerID?, attempts: Int)
    case up(LineSocket)
    case closed
  }

  private let paths: [String]
  /// Whether to reconnect after the daemon has exited.
  private let reconnects: Bool
  private var state = State.waiting(nil, attempts: 0)
  private var lastID: Int64 = 0
  private var calls: [Int64: (JSONValue) -> Void] = [:]
  /// Whether `onDown` was called for the current outage.
  private var isDownTold = false

  /// The pauses between attempts, in milliseconds.
  private static let pauses: [Int64] = [0, 200, 500, 1_000, 2_000, 5_000]

  init(paths: [String], reconnects: Bool) {
    self.paths = paths
    self.reconnects = reconnects
  }

  var isUp: Bool { if case .up = state { true } else { false } }

  /// Whether reading is paused.
  var isPaused = false {
    didSet {
      guard isPaused != oldValue, case .up(let socket) = state else { return }
      socket.onLine = isPaused ? nil : { [weak self] in self?.receive($0) }
    }
  }

  func open() {
    guard case .waiting(nil, let attempts) = state else { return }
    let pause = Self.pauses[min(attempts, Self.pauses.count - 1)]
    let timer = Loop.shared.schedule(after: .milliseconds(pause)) { [weak self] in self?.connect() }
    state = .waiting(timer, attempts: attempts)
  }

  /// Closes the connection and opens a new one.
  func reopen() {
    close()
    state = .waiting(nil, attempts: 0)
    open()
  }

  func close() {
    switch state {
    case .waiting(let timer?, _): Loop.shared.cancel(timer)
    case .up(let socket): socket.close()
    case .waiting(nil, _), .closed: break
    }
    state = .closed
    calls = [:]
  }

  /// Sends a request; `done` gets the response, and is not called if the connection ends first.
  func call(_ line: (Int64) -> [UInt8], _ done: @escaping (JSONValue) -> Void) {
    guard case .up(let socket) = state else { return }
    lastID += 1
    calls[lastID] = done
    socket.send(line(lastID))
  }

  /// The same for one of the methods.
  func call<Parameters, Response>(
    _ method: ControlMethod<Parameters, Response>, _ parameters: Parameters,
    _ done: @escaping (JSONValue) -> Void
  ) {
    call({ RPC.request(method.name, parameters, id: .number(.int($0))) }, done)
  }

  private func connect() {
    guard case .waiting(_, let attempts) = state else { return }
    do throws(Failure) {
      let socket = try LineSocket.connect(toFirstOf: paths)
      state = .up(socket)
      isDownTold = false
      socket.onOverlong = { [weak self] in self?.ended("it sent an overlong line") }
      socket.onClose = { [weak self] _ in self?.ended("the daemon has exited") }
      if !isPaused { socket.onLine = { [weak self] in self?.receive($0) } }
      onUp()
    } catch {
      state = reconnects ? .waiting(nil, attempts: attempts + 1) : .closed
      if !isDownTold { onDown(error.sentence) }
      isDownTold = true
      open()
    }
  }

  private func ended(_ why: String) {
    guard case .up(let socket) = state else { return }
    socket.close()
    state = reconnects ? .waiting(nil, attempts: 0) : .closed
    calls = [:]
    isDownTold = true
    onDown(why)
    open()
  }

  private func receive(_ line: [UInt8]) {
    if let event = RPC.event(in: line) {
      if let object = try? JSONValue(parsing: event).object { onEvent(object) }
      return
    }
    guard let response = try? JSONValue(parsing: line) else { return }
    // A message without a request's id explains why the daemon refuses more clients.
    guard let id = response["id"]?.int, let done = calls.removeValue(forKey: id) else {
      return ended(response["error"]?["message"]?.string ?? "unexpected response")
    }
    done(response)
  }
}
