// SPDX-License-Identifier: GPL-3.0-or-later
import Daemon
import EventLoop
import System
import Tool

/// `ancsd run`: the daemon, in the foreground, until it is told to leave.
func runDaemon(_ options: RunOptions) throws(Failure) -> ExitStatus {
  let console = Console()
  Loop.start {
    let supervisor = Supervisor(options)
    let printer = Printer(
      supervisor.journal, options, console, readerGone: { supervisor.leave(.done) })
    var status: ExitStatus
    do throws(Failure) {
      try watchSignals { supervisor.leave($0) }
      status = try await supervisor.run()
    } catch {
      console.report(error)
      status = error.status
    }
    printer.flush()
    Loop.shared.stop(status.rawValue)
  }
  return ExitStatus(rawValue: Loop.shared.run()) ?? .software
}

/// SIGINT and SIGTERM end the daemon cleanly.
@LoopActor
private func watchSignals(_ leave: @escaping (ExitStatus) -> Void) throws(Failure) {
  do throws(SystemError) {
    try Loop.shared.onSignal([.interrupt, .terminate]) { signal in
      leave(signal == .interrupt ? .interrupted : .terminated)
    }
  } catch {
    throw Failure(.software, "watching for signals", "\(error)")
  }
}
