// SPDX-License-Identifier: GPL-3.0-or-later
public import Capture
public import Daemon
import Wire

/// What `ancsd decode` is told.
public struct DecodeOptions: Sendable {
  /// The capture; `-` is standard input.
  public var file = ""
  public var filter = CaptureFilter()
  /// Nil: text on a terminal, else JSON Lines.
  public var format: OutputFormat?
  public var clock = CaptureText.Clock.offset

  public init() {}
}

/// What `ancsd trace` is told.
public struct TraceOptions: Sendable {
  public var filter = CaptureFilter()
  /// Nil: text on a terminal, else JSON Lines.
  public var format: OutputFormat?
  public var clock = CaptureText.Clock.offset
  /// The file that everything is written to, whatever the filter shows.
  public var write: String?
  /// The control socket of the daemon that may know links which are up already; nil: the usual places.
  public var socket: String?

  public init() {}
}

extension Command {
  /// `ancsd decode FILE`: a capture, decoded.
  public static func decode(
    _ run: @escaping @Sendable (DecodeOptions) throws(Failure) -> ExitStatus
  ) -> Command {
    Command(
      "decode", "a capture (btsnoop, pcap) as decoded HCI, ATT, ANCS and AMS",
      usage: ["ancsd decode [OPTIONS] FILE"], grammar: .decode, defaults: DecodeOptions(),
      notes: [
        "Reads btsnoop in the monitor and HCI formats, and pcap and pcapng of the link types 187, "
          + "201 and 254; “-” is standard input. A file that is broken or cut is read as far as it "
          + "goes, and a line on standard error says where it ends.",
        "It ends with status 0; 64 for a wrong command line, 66 for a file that can't be read.",
      ], run: run)
  }

  /// `ancsd trace`: the kernel's HCI monitor, decoded live.
  public static func trace(
    _ run: @escaping @Sendable (TraceOptions) throws(Failure) -> ExitStatus
  ) -> Command {
    Command(
      "trace", "the kernel's HCI monitor, decoded live or written as btsnoop",
      grammar: .trace, defaults: TraceOptions(),
      notes: [
        "Shows what every adapter sends and receives until it is interrupted. What attributes are "
          + "called is learned from the discovery that goes by; of a link that was up before, from "
          + "the daemon, where one serves it. A line on standard error says which.",
        "It ends with status 130 (SIGINT), 143 (SIGTERM); 64 for a wrong command line, 69 without "
          + "Bluetooth in the kernel, 77 without permission.",
      ], run: run)
  }
}

extension Grammar<DecodeOptions> {
  static let decode = Grammar(
    filters(\.filter) + [
      .choice(
        "--format", \.format,
        help: "what standard output carries (default: text on a terminal, else JSON Lines)")
    ] + clocks { $0.clock = $1 },
    operands: "FILE"
  ) { options, operands throws(Failure) in
    guard let file = operands.first else {
      throw Failure(.usage, "ancsd decode", "FILE is missing")
    }
    guard operands.count == 1 else {
      throw Failure(.usage, operands[1], "nothing is expected there")
    }
    options.file = file
  }
}

extension Grammar<TraceOptions> {
  static let trace = Grammar(
    filters(\.filter) + [
      .value(
        "-w", "--write", value: "FILE", expects: "a file",
        help: "write everything to this file, in btsnoop's monitor format",
        set: { options, text in
          options.write = text
          return !text.isEmpty
        }),
      .choice(
        "--format", \.format,
        help: "what standard output carries (default: text on a terminal, else JSON Lines)"),
      .value(
        "--socket", value: "PATH", expects: "a path", help: "the daemon's control socket",
        set: { options, text in
          options.socket = text
          return !text.isEmpty
        }),
    ] + clocks { $0.clock = $1 })
}

extension Grammar {
  fileprivate static func filters(
    _ filter: any WritableKeyPath<Options, CaptureFilter> & Sendable
  ) -> [Option<Options>] {
    [
      .flag("--att", help: "show only ATT", set: { $0[keyPath: filter].att = true }),
      .flag(
        "--ancs", help: "show only what is about ANCS",
        set: { $0[keyPath: filter].profiles.insert(.ancs) }),
      .flag(
        "--ams", help: "show only what is about AMS",
        set: { $0[keyPath: filter].profiles.insert(.ams) }),
      .value(
        "--phone", value: "ADDRESS", expects: "an address (AA:BB:CC:DD:EE:FF)",
        help: "show only links with this device, by its identity or its address on the air",
        set: { options, text in
          guard let address = Address(text) ?? DeviceAddress(text)?.address else { return false }
          options[keyPath: filter].phone = address
          return true
        }),
    ]
  }

  fileprivate static func clocks(
    _ set: @escaping @Sendable (inout Options, CaptureText.Clock) -> Void
  ) -> [Option<Options>] {
    [
      .flag(
        "-t", "--time", help: "show the time of day, not the seconds since the first packet",
        set: { set(&$0, .time) }),
      .flag("-T", "--date", help: "show date and time", set: { set(&$0, .date) }),
    ]
  }
}
