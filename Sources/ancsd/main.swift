// SPDX-License-Identifier: GPL-3.0-or-later
import Tool

// The first is the one that is meant where none is named.
Program.main(
  CommandLine.arguments,
  commands: [.run(runDaemon)] + Clients.commands
    + [
      .gatt(runGATT), .trace(traceMonitor), .decode(decodeCapture), PhoneTool.command,
      Doctor.command,
    ])
