// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Capture
import Control
import JSON
import Wire

/// The options of the commands that print a capture, `decode` and `trace`.
struct CaptureOptions: PrintingOptions {
  var filter = CaptureFilter()
  var output = OutputOptions()
  var clock = CaptureText.Clock.offset
  /// The file for the HTML page, written instead of lines; `-` is standard output.
  var html: String?
  /// Whether files are replaced that are not of this program.
  var isForced = false

  /// The captures that `decode` reads; `-` is standard input. Several are the parts of one capture.
  var files: [String] = []
  /// The file that `trace` writes every packet to, regardless of the filter.
  var write: String?
  /// The maximum size of that file, or of the page, in bytes.
  var limit = Int64.max
  /// The control socket of the daemon that may know the links that are up; nil: the default paths.
  var socket: String?
}

extension CommandOption<CaptureOptions> {
  static var filters: [CommandOption] {
    [
      .flag("--att", help: "show only ATT", set: { $0.filter.att = true }),
      .flag("--ancs", help: "show only ANCS", set: { $0.filter.profiles.insert(.ancs) }),
      .flag("--ams", help: "show only AMS", set: { $0.filter.profiles.insert(.ams) }),
      .value(
        "--phone", value: "ADDRESS", expects: "an address (AA:BB:CC:DD:EE:FF)",
        help: "show only links with this device (identity address or address on the air)",
        read: { Address($0) ?? DeviceAddress($0)?.address }, set: { $0.filter.phone = $1 }),
    ]
  }

  static var pages: [CommandOption] {
    [
      .file("--html", help: "write one HTML page for any browser, instead of text", set: { $0.html = $1 }),
      .force(set: { $0.isForced = true }),
    ]
  }

  static var clocks: [CommandOption] {
    [
      .flag(
        "-t", "--time", help: "show the time of day, not the seconds since the first packet", set: { $0.clock = .time }),
      .flag("-T", "--date", help: "show date and time", set: { $0.clock = .date }),
    ]
  }
}

/// Decodes captured packets, filters them, and lays them out as text or JSON Lines, or draws them on a page.
struct CapturePrinter {
  var decoder = CaptureDecoder()
  /// The page of `--html`, which is written instead of lines.
  let page: PageWriter?
  private var text: CaptureText?
  private let filter: CaptureFilter

  /// - Parameter name: that of the capture, for the page.
  init(_ options: CaptureOptions, of name: String, _ console: Console) throws(Failure) {
    page = try options.page(of: name, console)
    filter = options.filter
    if console.format == .text { text = CaptureText(style: console.style, clock: options.clock) }
  }

  /// Draws a packet, or returns its lines, none if the filter hides it; and a warning for standard error.
  mutating func print(_ record: CaptureRecord) throws(Failure) -> (lines: [String], warning: String?) {
    text?.begin(at: record.time)
    let decoded = decoder.decode(record)
    guard let frame = filter.apply(to: decoded) else { return ([], decoded.warning) }
    if let page {
      try page.add(frame)
      return ([], decoded.warning)
    }
    let lines = text?.lines(frame) ?? frame.units.map { $0.json(in: frame).text }
    return (lines, decoded.warning)
  }
}
