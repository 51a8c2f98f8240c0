// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Capture
import Control
import System

/// The options of `ancsd decode`.
struct DecodeOptions: CaptureCommandOptions {
  /// The capture; `-` is standard input.
  var file = ""
  var capture = CaptureOptions()
}

extension Command {
  /// `ancsd decode FILE`: a capture, decoded.
  public static let decode = Command(
    "decode", "a capture (btsnoop, pcap, PacketLogger) as decoded HCI, ATT, ANCS and AMS",
    usage: ["ancsd decode [OPTIONS] FILE"], grammar: .decode, defaults: DecodeOptions(),
    notes: [
      "Reads btsnoop in the monitor and HCI formats, and pcap and pcapng of the link types 187, 201 "
        + "and 254 (a host's), 251 and 256 (a sniffer's), and the .pklg files of Apple's "
        + "PacketLogger, also from a phone's sysdiagnose; “-” is standard input. A file that is "
        + "broken or cut is read as far as it goes, and a line on standard error says where it ends.",
      "It ends with status 0; 64 for a wrong command line, 66 for a file that can't be read.",
    ],
    run: { options throws(Failure) in
      let path = options.file == "-" ? "/dev/stdin" : options.file
      let file = try options.reading { () throws(SystemError) in try Files.open(path) }
      return try options.decode(to: Console(options.capture.output, inPipe: .json), warn: warn) {
        () throws(SystemError) in
        try file.read(1 << 16)
      }
    })
}

extension Grammar<DecodeOptions> {
  static let decode = Grammar(
    CommandOption.filters + CommandOption.clocks
      + CommandOption.output(inPipe: .json),
    operands: "FILE"
  ) { options, operands throws(Failure) in
    guard let file = operands.first else {
      throw Failure(usage: "decode needs a capture (FILE)")
    }
    try operands.check(atMost: 1)
    options.file = file
  }
}

extension DecodeOptions {
  /// Decodes the capture.
  ///
  /// - Parameters:
  ///   - warn: takes the subject and the text of a warning.
  ///   - read: returns the next part of the file; an empty one at its end.
  func decode(
    to console: Console, warn: (String, String) -> Void, read: () throws(SystemError) -> [UInt8]
  ) throws(Failure) -> ExitStatus {
    var printer = CapturePrinter(capture, console)
    var reader = CaptureReader()
    var isAtEnd = false
    while true {
      var lines: [String] = []
      var warnings: [String] = []
      var count = 0
      var fault: CaptureFileError?
      do throws(CaptureFileError) {
        while count < Self.batch, let record = try reader.next() {
          let printed = printer.lines(record)
          lines += printed.lines
          if let warning = printed.warning { warnings.append(warning) }
          count += 1
        }
      } catch {
        fault = error
      }
      try console.print(lines: lines)
      for warning in warnings { warn(name, warning) }
      if let fault {
        warn(name, "\(fault)")
        return fault.isHopeless ? .noInput : .done
      }
      if count == Self.batch { continue }
      if isAtEnd { return .done }
      let part = try reading(read)
      isAtEnd = part.isEmpty
      if isAtEnd { reader.finish() } else { reader.feed(part) }
    }
  }

  /// So many packets are printed at once.
  private static let batch = 256

  private var name: String { file == "-" ? "standard input" : file }

  fileprivate func reading<Value: ~Copyable>(
    _ body: () throws(SystemError) -> Value
  ) throws(Failure) -> Value {
    do throws(SystemError) {
      return try body()
    } catch {
      throw Failure(.noInput, "reading \(name)", error.errno.text)
    }
  }
}
