// SPDX-License-Identifier: GPL-3.0-or-later
public import Daemon

/// The whole program.
public enum Program {
  /// Does what the command line says; an error becomes its line and its status.
  public static func main(_ arguments: [String], commands: [Command]) -> ExitStatus {
    do throws(Failure) {
      return try Invocation(Array(arguments.dropFirst()), commands: commands, width: 80)
        .perform { text throws(Failure) in print(text, terminator: "") }
    } catch {
      print(error.line)
      return error.status
    }
  }
}
