// SPDX-License-Identifier: GPL-3.0-or-later
import Daemon
import EventLoop
import Tool

/// `ancsd gatt`: a GATT client, over the kernel's Bluetooth or a UNIX socket.
func runGATT(_ options: GATTOptions) throws(Failure) -> ExitStatus {
  let console = Console()
  Loop.start {
    let tool = GATTTool(options, console, KernelRadio(options.adapter))
    let status = await tool.run()
    Loop.shared.stop(status.rawValue)
  }
  return ExitStatus(rawValue: Loop.shared.run()) ?? .software
}
