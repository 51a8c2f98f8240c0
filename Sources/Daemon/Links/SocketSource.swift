// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import System
import Wire

/// A phone on a UNIX socket (`--att unix:PATH`): connects, and after every end again, with a pause that
/// grows as long as nobody is there.
@LoopActor
final class SocketSource: PhoneSource {
  private let path: String
  private unowned let supervisor: Supervisor
  private static let pauses: [Duration] = [
    .milliseconds(50), .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1),
    .seconds(2), .seconds(5),
  ]

  private(set) var wait = Wait.dialling {
    didSet { if wait != oldValue { supervisor.waits.mayHaveChanged() } }
  }

  init(_ path: String, _ supervisor: Supervisor) {
    self.path = path
    self.supervisor = supervisor
  }

  func run() async {
    var failures = 0
    while !supervisor.isStopping {
      do {
        let socket = try PacketSocket.connect(unix: path)
        wait = .dialling
        // A phone that goes before there is a session is not hammered either.
        failures = await supervisor.serve(UnixLink(socket)) ? 0 : failures + 1
      } catch {
        wait = .nobodyListens(path: path, error.errno.text)
        failures += 1
      }
      await Loop.shared.sleep(for: Self.pauses[min(failures, Self.pauses.count - 1)])
    }
  }
}
