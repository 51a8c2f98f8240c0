// SPDX-License-Identifier: GPL-3.0-or-later
public import Arguments

/// The clients of the daemon.
public enum Clients {
  /// All of them, in the order in which the help lists them.
  public static let commands: [Command] = [
    status.command, watch.command, list.command, count.command, show.command, act.command,
    apps.command, media.command, pair.command, phones.command, forget.command,
  ]
}
