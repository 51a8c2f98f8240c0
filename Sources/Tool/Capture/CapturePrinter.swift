// SPDX-License-Identifier: GPL-3.0-or-later
public import Capture
public import Daemon
import JSON
import System

/// Turns captured packets into the lines of standard output: decoded, filtered, as text or JSON Lines.
public struct CapturePrinter: Sendable {
  private var decoder = CaptureDecoder()
  private var text: CaptureText?
  private let filter: CaptureFilter

  public init(
    _ filter: CaptureFilter, _ format: OutputFormat?, _ clock: CaptureText.Clock, _ console: Console
  ) {
    self.filter = filter
    if (format ?? console.usualFormat) == .text {
      text = CaptureText(console.style, zone: WallTime.now.zoneOffset, clock: clock)
    }
  }

  /// The lines for a packet; none where the filter does not show it.
  public mutating func lines(_ record: CaptureRecord) -> [String] {
    text?.note(record.time)
    guard let frame = filter.apply(to: decoder.decode(record)) else { return [] }
    if let lines = text?.lines(frame) { return lines }
    return frame.units.map { $0.json(in: frame).text }
  }

  /// The lines for what the reader has, and what is wrong with what follows.
  ///
  /// - Parameter isEnd: whether nothing follows.
  public mutating func lines(
    _ reader: inout CaptureReader, isEnd: Bool
  ) -> (lines: [String], fault: CaptureFileError?) {
    var lines: [String] = []
    do throws(CaptureFileError) {
      while let record = try reader.next() { lines += self.lines(record) }
      if isEnd { try reader.finish() }
      return (lines, nil)
    } catch {
      return (lines, error)
    }
  }
}
