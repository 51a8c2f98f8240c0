// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import CaptureTools
import CentralTools
import ControlClients
import Daemon
import LiveScreen
import Maintenance

// The first is the one that is meant where none is named.
Program.main(
  CommandLine.arguments,
  commands: [.run] + Clients.commands + [.tui] + Clients.phoneCommands + [
    .mqtt, .fleet, .forward, .setup, .config(asking: Clients.settings),
    .rules(explaining: Clients.explainRules, names: Clients.phoneNames),
    .gatt, .trace, .decode, .phone, .doctor, .report,
  ], helper: Clients.historyHelper)
