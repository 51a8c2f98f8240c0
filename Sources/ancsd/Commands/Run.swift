// SPDX-License-Identifier: GPL-3.0-or-later
import Daemon

/// `ancsd run`: the daemon, until it is told to leave.
func runDaemon(_ options: RunOptions) throws(Failure) -> ExitStatus {
  throw Failure(.software, "ancsd run", "not there yet")
}
