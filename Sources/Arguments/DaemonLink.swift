// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
public import EventLoop
public import JSON
public import System
import Wire

/// A connection to the daemon's control socket: calls with their responses, and events.
///
/// From `open` to `close` it reconnects after growing pauses. While it is paused (`isPaused`), it does not read, and events
/// wait in the daemon.
@LoopActor public final class DaemonLink {
  /// Called when the connection is up, before the daemon has said whether it serves it.
  public var onUp: () -> Void = {}
  /// Called with the reason each time the daemon can't be reached or has ended the connection. It is news unless it is that of
  /// the last time, and the daemon has not responded since.
  public var onDown: (String, _ isNews: Bool) -> Void = { _, _ in }
  /// Called with each event.
  public var onEvent: (JSONObject) -> Void = { _ in }

  private enum State {
    case closed
    case waiting(TimerID)
    case up(LineSocket)
  }

  private let paths: [String]
  private var state = State.closed
  private var lastID: Int64 = 0
  private var calls: [Int64: (JSONValue) -> Void] = [:]
  /// The failures since the daemon has last responded.
  private var failures = 0
  /// The last reason given to `onDown`; nil once the daemon has responded.
  private var lastReason: String?

  /// The daemon is on the same machine, and often back soon.
  private let pauses = RetryPauses(longest: .seconds(10)) { Double.random(in: 0...1) }

  public init(paths: [String]) { self.paths = paths }

  public var isUp: Bool { if case .up = state { true } else { false } }

  /// Since when it does not read; nil: it reads.
  public private(set) var pausedSince: Instant?

  /// Whether reading is paused.
  public var isPaused: Bool {
    get { pausedSince != nil }
    set {
      guard newValue != isPaused else { return }
      pausedSince = newValue ? Loop.shared.now : nil
      guard case .up(let socket) = state else { return }
      socket.onLine = newValue ? nil : { [weak self] in self?.receive($0) }
    }
  }

  /// Connects, unless it does already.
  public func open() {
    guard case .closed = state else { return }
    failures = 0
    wait(.zero)
  }

  public func close() {
    switch state {
    case .waiting(let timer): Loop.shared.cancel(timer)
    case .up(let socket): socket.close()
    case .closed: break
    }
    state = .closed
    calls = [:]
    lastReason = nil
    pausedSince = nil
  }

  /// Sends a request; `done` gets the response, and is not called if the connection ends first.
  public func call(_ line: (Int64) -> [UInt8], _ done: @escaping (JSONValue) -> Void) {
    guard case .up(let socket) = state else { return }
    lastID += 1
    calls[lastID] = done
    socket.send(line(lastID))
  }

  /// The same for one of the methods.
  public func call<Parameters, Response>(
    _ method: ControlMethod<Parameters, Response>, _ parameters: Parameters,
    _ done: @escaping (JSONValue) -> Void
  ) {
    call({ RPC.request(method.name, parameters, id: RequestID($0)) }, done)
  }

  private func wait(_ pause: Duration) {
    state = .waiting(Loop.shared.schedule(after: pause) { [weak self] in self?.connect() })
  }

  private func connect() {
    do throws(Failure) {
      let socket = try LineSocket.connect(toFirstOf: paths)
      state = .up(socket)
      socket.onOverlong = { [weak self] in self?.ended("it sent an overlong line") }
      socket.onClose = { [weak self] in
        self?.ended($0 == .ended ? "the daemon has exited" : "the daemon has ended the connection")
      }
      if !isPaused { socket.onLine = { [weak self] in self?.receive($0) } }
      onUp()
    } catch { failed(error.sentence) }
  }

  private func ended(_ why: String) {
    guard case .up(let socket) = state else { return }
    socket.close()
    failed(why)
  }

  private func failed(_ why: String) {
    calls = [:]
    failures += 1
    wait(pauses.pause(after: failures))
    let isNews = lastReason != why
    lastReason = why
    onDown(why, isNews)
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
    failures = 0
    lastReason = nil
    done(response)
  }
}

extension LineSocket {
  /// Connects to the daemon at the first path that accepts.
  public static func connect(toFirstOf paths: [String]) throws(Failure) -> LineSocket {
    var failure: Failure?
    for path in paths {
      do throws(SystemError) {
        return try connect(unix: path, lineLimit: 1 << 24)
      } catch {
        let reason = Failure(connecting: path, error.errno)
        // The last one is the system's, which the remedy starts; but “permission denied” explains more than “not running”.
        if failure?.status != .noPermission { failure = reason }
      }
    }
    throw failure ?? Failure(.unavailable, "reaching the daemon", "no socket path to try")
  }
}

extension Failure {
  /// Why the daemon's socket can't be reached.
  public init(connecting path: String, _ errno: Errno) {
    self.init("reaching the daemon at \(path)", connecting: errno, ifAbsent: "no daemon is running there")
    switch errno {
    case .noSuchFile, .connectionRefused:
      let host = ServiceHost.here
      let start = host.daemon.flatMap { host.commands(to: .start, $0).line }
      remedy =
        "start it with “\(start ?? "ancsd --hci0")”"
        + (start == nil ? ", or “ancsd --virtual-phone” to try it without a phone" : "")
        + ", or name its socket with --socket or ANCSD_SOCKET; “ancsd doctor” finds what keeps it from running"
    case .permissionDenied, .notPermitted:
      remedy = "run as root, or join the group: \(ServiceHost.here.admitting()), then log in again"
    default: break
    }
  }
}
