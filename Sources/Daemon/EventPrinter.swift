// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Board
import Control
import EventLoop
import System

/// Prints the daemon's events on standard output, as text or as JSON Lines.
@LoopActor final class EventPrinter {
  private let format: OutputFormat
  private var page: EventPage
  private let writer: LineWriter
  /// Whether it prints the `incoming` events too.
  var showsEarly: Bool

  /// Prints every event that `feed` publishes from now on.
  ///
  /// - Parameter failed: called once if that fails, because the reader has gone (such as `head` at its end) or a file
  ///   can't be written.
  init(
    _ feed: EventFeed, _ options: RunOptions, _ console: Console, to writer: LineWriter = LineWriter(Standard.output),
    failed: @escaping (Errno, _ isGone: Bool) -> Void
  ) {
    self.writer = writer
    showsEarly = options.live.early
    format = console.format
    page = EventPage(console.style, today: feed.now())
    page.style.namesAdapter = options.start.source == .radio && options.radio.adapters.count != 1
    writer.onError = { [weak writer] in failed($0, writer?.isClosed ?? true) }
    writer.lossNotice = { [weak self, feed] lost in
      guard let self else { return [] }
      let event = Event(.lost(count: lost.count, first: lost.first, last: lost.last))
      return Array(bytes(of: NumberedEvent(seq: lost.last, time: feed.now(), event)))
    }
    feed.subscribe(readsQuiet: { [weak self] in $0 == .incoming && self?.showsEarly == true }) {
      [weak self] in self?.print($0)
    }
  }

  private func print(_ event: NumberedEvent) { writer.write(bytes(of: event), number: event.seq) }

  private func bytes(of event: NumberedEvent) -> ArraySlice<UInt8> {
    guard format == .text else { return event.json }
    // Daylight saving time may have begun since the last one.
    page.style.zone = event.time.zoneOffset
    return Array(page.text(event).utf8)[...]
  }

  /// Writes the queue, waiting briefly for a slow reader.
  ///
  /// - Returns: the number of events left.
  @discardableResult func flush() -> Int {
    writer.flush(within: .milliseconds(500))
    return writer.queuedLines
  }
}
