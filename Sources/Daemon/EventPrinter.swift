// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import System

/// Prints the daemon's events on standard output, as text or as JSON Lines.
@LoopActor final class EventPrinter {
  private let format: OutputFormat
  private let style: TextStyle
  private let showsIncoming: Bool
  private let writer = LineWriter(Standard.output)

  /// Prints every event that `feed` publishes from now on.
  ///
  /// - Parameter readerGone: called when the reader has closed the pipe, as `head` does.
  init(
    _ feed: EventFeed, _ options: RunOptions, _ console: Console, readerGone: @escaping () -> Void
  ) {
    format = options.format ?? console.format
    var style = console.style
    style.namesAdapter = options.source == .radio && options.adapters.count != 1
    self.style = style
    showsIncoming = options.early
    writer.onError = { errno in if errno == .brokenPipe { readerGone() } }
    feed.subscribe { [weak self] in self?.print($0) }
  }

  private func print(_ event: NumberedEvent) {
    let name = event.event.name
    if name.isQuiet, !(name == .incoming && showsIncoming) { return }
    switch format {
    case .text: writer.write(event.text(style))
    case .json: writer.write(Array(event.json))
    }
  }

  /// Writes out what is queued, waiting briefly for a slow reader.
  func flush() { _ = writer.flush(within: .milliseconds(500)) }
}
