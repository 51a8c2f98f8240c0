// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Capture
import Control
import System
import Wire

extension Command {
  /// `ancsd decode FILE...`: decodes a capture.
  package static let decode = Command(
    "decode", "decodes HCI, ATT, ANCS and AMS from a capture (btsnoop, pcap, PacketLogger)",
    usage: ["ancsd decode [OPTIONS] FILE..."], grammar: .decode, defaults: CaptureOptions(),
    notes: [
      "Reads btsnoop in the monitor and HCI formats, and pcap and pcapng of the link types 187, 201 "
        + "and 254 (a host's), 251 and 256 (a sniffer's), and the .pklg files of Apple's "
        + "PacketLogger, also from a phone's sysdiagnose; “-” is standard input. It reads a damaged "
        + "or truncated file as far as possible, and says on standard error where it stopped.",
      "Several files are the parts of one capture, as --capture-files writes them (FILE, FILE.1, ...). They are read in the "
        + "order of their first packets.",
      "Exit status: 0; 64 for a wrong command line, 66 for a file that can't be read, 73 for a page that can't be "
        + "written.",
    ],
    examples: [
      "--ancs session.btsnoop",
      "--html session.html session.btsnoop session.btsnoop.1",
      "--json --phone 5A:CB:11:22:33:44 bluetoothd-hci.pklg",
    ],
    run: { options throws(Failure) in
      let console = try Console(options.output)
      var printer = try CapturePrinter(options, of: options.name, console)
      var (status, isDrawn) = (ExitStatus.done, false)
      var failure: Failure?
      do throws(Failure) {
        for path in options.inOrder {
          let file = try attempt(try Files.open(path == "-" ? Standard.inputPath : path)) {
            Failure(reading: path, $0)
          }
          let end = try printer.decode(path, to: console, warn: Console.warn) {
            () throws(SystemError) in try file.read(1 << 16)
          }
          if status == .done { status = end }
          if end == .done { isDrawn = true }
        }
      } catch { failure = error }
      // The parts before one that can't be read make a whole page. An invalid capture must not overwrite an existing page.
      if isDrawn { try printer.page?.finish() }
      if let failure { throw failure }
      return status
    })
}

extension Grammar<CaptureOptions> {
  static let decode = Grammar(
    CommandOption.filters + CommandOption.pages + CommandOption.clocks
      + CommandOption.output,
    operands: "FILE...", kinds: [.file]
  ) { options, operands throws(Failure) in
    guard !operands.isEmpty else { throw Failure(usage: "decode needs a capture (FILE)") }
    guard operands.count == 1 || !operands.contains("-") else {
      throw Failure(usage: "standard input (-) can't be one of several files")
    }
    options.files = operands
  }
}

extension CaptureOptions {
  /// The capture's name on the page: those of the files, without their directories, which may reveal their owner.
  var name: String {
    files.map { CapturePrinter.name(of: $0).split(separator: "/").last.map(String.init) ?? $0 }
      .joined(separator: ", ")
  }

  /// The files ordered by the times of their first packets; in the given order if one has none, or is a pipe.
  var inOrder: [String] {
    guard files.count > 1 else { return files }
    let starts = files.compactMap { path in Self.start(of: path).map { (path, $0) } }
    guard starts.count == files.count else { return files }
    return starts.sorted { $0.1 < $1.1 }.map(\.0)
  }

  /// The time of a file's first packet; nil if it has none near its beginning, or can't be read. Nothing is taken from a
  /// pipe, because what was read of it is gone.
  private static func start(of path: String) -> WallTime? {
    guard Files.isRegular(path), let file = try? Files.open(path),
      let bytes = try? file.read(1 << 16)
    else { return nil }
    var reader = CaptureReader()
    reader.feed(bytes)
    return (try? reader.next())??.time
  }
}

extension CaptureDecoder {
  /// A sentence about the control PDUs that are not decoded; nil if there are none.
  fileprivate var remark: String? {
    let total = unknownControlPDUs.values.reduce(unknownControlRecords, +)
    if total == 0 { return nil }
    var counts = unknownControlPDUs.sorted { $0.key < $1.key }.map {
      "0x\(String($0.key, digits: 2, radix: 16)): \($0.value)"
    }
    if unknownControlRecords > 0 { counts.append("of another form: \(unknownControlRecords)") }
    return "\(total) control \(total == 1 ? "PDU" : "PDUs") of the link layer can't be decoded, and "
      + "\(total == 1 ? "is" : "are") shown as bytes (\(counts.joined(separator: ", ")))"
  }
}

extension CapturePrinter {
  /// Decodes a file, as one more part of what was decoded before.
  ///
  /// - Parameters:
  ///   - warn: takes the subject and the text of a warning.
  ///   - read: returns the next bytes of the file; none at its end.
  mutating func decode(
    _ path: String, to console: Console, warn: (String, String) -> Void, read: () throws(SystemError) -> [UInt8]
  ) throws(Failure) -> ExitStatus {
    let (name, page) = (Self.name(of: path), page)
    func tell(_ warning: String) {
      warn(name, warning)
      page?.warn(warning)
    }
    var reader = CaptureReader()
    var isAtEnd = false
    while true {
      var records: [CaptureRecord] = []
      var fault: CaptureFileError?
      do throws(CaptureFileError) {
        while records.count < Self.batch, let record = try reader.next() { records.append(record) }
      } catch { fault = error }
      decoder.assumedPeer = reader.assumedPeer
      var lines: [String] = []
      var warnings: [String] = []
      for record in records {
        let printed = try print(record)
        lines += printed.lines
        if let warning = printed.warning { warnings.append(warning) }
      }
      try console.print(lines: lines)
      for warning in warnings { tell(warning) }
      if let fault {
        warn(name, "\(fault)")
        if fault.isHopeless { return .noInput }
        page?.warn("\(fault)")
        return .done
      }
      if records.count == Self.batch { continue }
      if isAtEnd {
        if let remark = decoder.remark { tell(remark) }
        return .done
      }
      let part = try attempt(try read()) { Failure(reading: path, $0) }
      isAtEnd = part.isEmpty
      if isAtEnd {
        reader.finish()
        decoder.learnHosts(ahead: reader)
      } else {
        reader.feed(part)
      }
    }
  }

  /// The number of packets printed at once.
  private static let batch = 256

  static func name(of path: String) -> String { path == "-" ? "standard input" : path }
}

extension Failure {
  fileprivate init(reading path: String, _ error: SystemError) {
    self.init(.noInput, "reading \(CapturePrinter.name(of: path))", error.errno.text)
  }
}
