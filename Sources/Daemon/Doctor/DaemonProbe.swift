// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import JSON
import System
import Wire

/// Asks a daemon for its status, by the first of its sockets where anybody is.
enum DaemonProbe {
  @LoopActor static func ask(_ paths: [String]) async -> BoardFacts.DaemonFacts {
    var facts = BoardFacts.DaemonFacts.none
    for path in paths {
      do throws(SystemError) {
        let socket = try LineSocket.connect(unix: path, lineLimit: 1 << 24)
        defer { socket.close() }
        guard let status = await status(over: socket) else { return .mute(path: path) }
        return .status(status)
      } catch {
        if error.errno == .permissionDenied { facts = .closed(path: path) }
      }
    }
    return facts
  }

  @LoopActor private static func status(over socket: LineSocket) async -> StatusReport? {
    let line: [UInt8]? = await withCheckedContinuation { waiter in
      var isWaiting = true
      func finish(_ line: [UInt8]?) {
        guard isWaiting else { return }
        isWaiting = false
        waiter.resume(returning: line)
      }
      socket.onLine = { finish($0) }
      socket.onClose = { _ in finish(nil) }
      socket.send(ControlRequest.status.json(id: .number(.int(1))).utf8)
      _ = Loop.shared.schedule(after: .seconds(3)) { finish(nil) }
    }
    guard let line, let answer = try? JSONValue(parsing: line), let result = answer["result"] else {
      return nil
    }
    return try? StatusReport(json: result)
  }
}
