// SPDX-License-Identifier: GPL-3.0-or-later
public import Arguments
import Bluetooth
import Board
import Control
import EventLoop
import System

extension Command {
  /// `ancsd run`: the daemon, in the foreground, until it is told to stop.
  public static var run: Command {
    Command(
      "run", "runs the daemon: serves phones on the adapters and prints their events",
      usage: ["ancsd [run] [--hciN]... [OPTIONS]"], grammar: .run, defaults: RunOptions(),
      notes: [
        "Without an adapter option, it serves every adapter with Bluetooth LE, present now or plugged in later.",
        "Exit status: 0 (--once), 130 (SIGINT), 143 (SIGTERM); 64 for a wrong command line, 78 for a "
          + "wrong settings file, "
          + "69 without Bluetooth in the kernel, 73 if a file can't be written or nobody reads standard "
          + "output anymore, 77 without permission.",
      ],
      examples: [
        "--hci0",
        "--hci0 --name 'Kitchen board' --exec notification=/opt/lamp",
        "--virtual-phone --json",
      ],
      runAsTyped: serve)
  }

  @Sendable private static func serve(
    _ line: RunOptions, _ typed: [Grammar<RunOptions>.Given]
  ) throws(Failure) -> ExitStatus {
    let settings = try Settings(line, typed)
    let options = settings.options
    let console = try Console(options.start.output)
    return console.onLoop { () throws(Failure) in
      try attempt(try Privileges.hideMemory()) { (error: SystemError) in
        Failure(.software, "keeping the memory from others", "\(error)")
      }
      let lines = Log.Sink(stamped: options.live.logLevel >= .info)
      defer { lines.flush(within: .milliseconds(250)) }
      let supervisor = Supervisor(settings, on: SystemPlatform(), log: Log(level: options.live.logLevel, to: lines))
      let printer = EventPrinter(supervisor.feed, options, console) { errno, isGone in
        let what = "printing events"
        guard !isGone else {
          return supervisor.fail(
            Failure(
              .cannotCreate, what, "nobody reads standard output anymore (\(errno))",
              remedy: "keep a reader as long as ancsd runs, or use /dev/null"))
        }
        supervisor.log.error("\(what): \(errno); an event counts the missing ones")
      }
      let signals = ServiceSignals(
        reload: {
          supervisor.reload { () throws(Failure) in try Settings(line, typed) }
          printer.showsEarly = supervisor.settings.live.early
        },
        leave: { status, isAgain in
          supervisor.leave(status)
          // A second signal exits at once, as the first does after a while, unless exiting would close a socket that
          // crashes this kernel.
          if isAgain, !SilentLink.isHeld { Loop.shared.stop(status.rawValue) }
        })
      try attempt(try signals.watch()) { (error: SystemError) in
        Failure(.software, "watching for signals", "\(error)")
      }
      let status: ExitStatus
      do throws(Failure) {
        status = try await supervisor.run()
      } catch {
        printer.flush()
        throw error
      }
      let left = printer.flush()
      guard left > 0, status == .done else { return status }
      throw Failure(
        .cannotCreate, "printing events", "the last \(left) were not read before exit",
        remedy: "keep a reader of standard output as long as ancsd runs")
    }
  }
}
