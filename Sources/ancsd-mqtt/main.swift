// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bridge

Program.main(CommandLine.arguments, name: "ancsd-mqtt", command: .bridge)
