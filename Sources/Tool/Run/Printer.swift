// SPDX-License-Identifier: GPL-3.0-or-later
public import Daemon
import EventLoop
import JSON
import System

/// Prints the daemon's events on standard output, a line or a few each, as text or as JSON Lines.
@LoopActor
public final class Printer {
  private let format: OutputFormat
  private let style: TextStyle
  private let showsIncoming: Bool
  private let writer = LineWriter(Standard.output)

  /// Prints what `journal` tells from now on.
  ///
  /// - Parameter readerGone: called when nobody can read any more, as when `head` has seen enough.
  public init(
    _ journal: Journal, _ options: RunOptions, _ console: Console,
    readerGone: @escaping () -> Void
  ) {
    format = options.format ?? console.usualFormat
    var style = console.style
    style.namesAdapter = options.source == .radio && options.adapters.count != 1
    self.style = style
    showsIncoming = options.early
    writer.onError = { errno in if errno == .brokenPipe { readerGone() } }
    _ = journal.listen { [weak self] in self?.print($0) }
  }

  private func print(_ event: NumberedEvent) {
    let name = event.event.name
    if name.isQuiet, !(name == .incoming && showsIncoming) { return }
    switch format {
    case .text: writer.write(event.text(style))
    case .json: writer.write(event.json.utf8)
    }
  }

  /// Waits a little for a reader that is slow, and no longer.
  public func flush() { _ = writer.flush(within: .milliseconds(500)) }
}
