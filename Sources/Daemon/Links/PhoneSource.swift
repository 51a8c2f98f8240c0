// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop

/// Where phones without a radio come from.
@LoopActor
protocol PhoneSource: AnyObject {
  /// What it waits for while there is no link.
  var wait: Wait { get }
  /// Brings one link after another, until the daemon ends.
  func run() async
}
