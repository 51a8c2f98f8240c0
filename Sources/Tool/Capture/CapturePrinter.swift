// SPDX-License-Identifier: GPL-3.0-or-later
public import Capture
public import Daemon
import JSON
import System
public import Wire

/// Turns captured packets into the lines of standard output: decoded, filtered, as text or JSON Lines.
public struct CapturePrinter: Sendable {
  private var decoder = CaptureDecoder()
  private var text: CaptureText?
  private let filter: CaptureFilter
  /// Sentences about the capture that nobody has taken yet.
  private var warnings: [String] = []

  public init(
    _ filter: CaptureFilter, _ format: OutputFormat?, _ clock: CaptureText.Clock, _ console: Console
  ) {
    self.filter = filter
    if (format ?? console.usualFormat) == .text {
      text = CaptureText(console.style, zone: WallTime.now.zoneOffset, clock: clock)
    }
  }

  /// Tells of a link that was there before, with what is known of its attributes.
  public mutating func know(
    _ peer: Address, handle: UInt16, adapter: UInt16, _ known: KnownLink?
  ) {
    decoder.know(
      peer, handle: handle, adapter: adapter, remote: known?.services ?? [],
      local: known?.board ?? [])
  }

  /// What is to be said on standard error about the capture since this was asked for last.
  public mutating func takeWarnings() -> [String] {
    defer { warnings = [] }
    return warnings
  }

  /// The lines for a packet; none where the filter does not show it.
  public mutating func lines(_ record: CaptureRecord) -> [String] {
    text?.note(record.time)
    let decoded = decoder.decode(record)
    if let warning = decoded.warning { warnings.append(warning) }
    guard let frame = filter.apply(to: decoded) else { return [] }
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
