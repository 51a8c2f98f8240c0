// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Daemon
import System
import Tool

/// `ancsd decode FILE`: a capture as people, or programs, read it.
func decodeCapture(_ options: DecodeOptions) throws(Failure) -> ExitStatus {
  let console = Console()
  let name = options.file == "-" ? "standard input" : options.file
  var printer = CapturePrinter(options.filter, options.format, options.clock, console)
  var reader = CaptureReader()
  let file = try reading(name) { () throws(SystemError) in
    try Files.open(options.file == "-" ? "/dev/stdin" : options.file)
  }
  while true {
    let part = try reading(name) { () throws(SystemError) in try file.read(1 << 16) }
    reader.feed(part)
    let (lines, fault) = printer.lines(&reader, isEnd: part.isEmpty)
    if !lines.isEmpty { try console.print(line: lines.joined(separator: "\n")) }
    for warning in printer.takeWarnings() { warn(name, warning) }
    if let fault { return report(fault, in: name) }
    if part.isEmpty { return .done }
  }
}

private func reading<Value: ~Copyable>(
  _ name: String, _ body: () throws(SystemError) -> Value
) throws(Failure) -> Value {
  do throws(SystemError) {
    return try body()
  } catch {
    throw Failure(.noInput, "reading \(name)", error.errno.text)
  }
}

/// Says where a capture ends that does not end well: what was in front of that was read.
private func report(_ fault: CaptureFileError, in name: String) -> ExitStatus {
  warn(name, "\(fault)")
  return fault.isHopeless ? .noInput : .done
}

/// A line on standard error that ends nothing.
func warn(_ what: String, _ why: String) {
  let line = Failure(.done, what, why).line + "\n"
  try? FileDescriptor.writeAll(line.utf8, to: Standard.error)
}
