// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bridge

// `ancsd fleet` comes here, too.
let arguments = CommandLine.arguments
if arguments.dropFirst().first == "fleet" {
  Program.main(Array(arguments.dropFirst()), name: "ancsd fleet", command: .fleet)
} else {
  Program.main(arguments, name: "ancsd-mqtt", command: .bridge)
}
