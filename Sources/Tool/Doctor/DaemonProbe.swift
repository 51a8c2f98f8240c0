// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import JSON
import System
import Wire

/// Asks a daemon for what it knows, by the first of its sockets where anybody is.
public enum DaemonProbe {
  @LoopActor static func ask(_ paths: [String]) async -> BoardFacts.DaemonFacts {
    var facts = BoardFacts.DaemonFacts.none
    for path in paths {
      do throws(SystemError) {
        let socket = try LineSocket.connect(unix: path, lineLimit: 1 << 24)
        defer { socket.close() }
        guard let status = await answer(to: ControlMethods.status, over: socket) else {
          return .mute(path: path)
        }
        return .status(status)
      } catch {
        if error.errno == .permissionDenied { facts = .closed(path: path) }
      }
    }
    return facts
  }

  /// What the daemon knows of its links' attributes; nothing where none runs, or none lets us ask.
  @LoopActor public static func links(_ paths: [String]) async -> [KnownLink] {
    for path in paths {
      guard let socket = try? LineSocket.connect(unix: path, lineLimit: 1 << 24) else { continue }
      defer { socket.close() }
      return await answer(to: ControlMethods.knownAttributes, over: socket) ?? []
    }
    return []
  }

  /// The daemon's answer; nil where it gives none in time, or refuses.
  @LoopActor private static func answer<Answer>(
    to method: ControlMethod<NoParameters, Answer>, over socket: LineSocket
  ) async -> Answer? {
    let line: [UInt8]? = await withCheckedContinuation { waiter in
      var isWaiting = true
      func finish(_ line: [UInt8]?) {
        guard isWaiting else { return }
        isWaiting = false
        waiter.resume(returning: line)
      }
      socket.onLine = { finish($0) }
      socket.onClose = { _ in finish(nil) }
      socket.send(RPC.request(method.name, NoParameters(), id: .number(.int(1))))
      _ = Loop.shared.schedule(after: .seconds(3)) { finish(nil) }
    }
    return line.flatMap { try? JSONValue(parsing: $0) }?["result"].flatMap(Answer.init(json:))
  }
}
