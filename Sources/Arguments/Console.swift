// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
import EventLoop
import JSON
import System
import Wire

/// Standard output and standard error, and the layout of text on them.
public struct Console: Sendable {
  /// The output format.
  public let format: OutputFormat
  /// The layout of text on standard output.
  public let style: TextStyle
  private let template: Template?
  private let write: @Sendable ([UInt8]) throws(Failure) -> Void

  /// A console that passes its output to `write`.
  package init(
    _ format: OutputFormat, _ style: TextStyle, template: Template? = nil,
    write: @escaping @Sendable ([UInt8]) throws(Failure) -> Void
  ) {
    self.format = format
    self.style = style
    self.template = template
    self.write = write
  }

  /// The process's console.
  ///
  /// - Parameter output: the options on the command line.
  public init(_ output: OutputOptions) throws(Failure) {
    self.init(try output.format(variable: Host.variable("ANCSD_FORMAT")), output)
  }

  /// The process's console, for text.
  public init() { self.init(.text, OutputOptions()) }

  private init(_ format: OutputFormat, _ output: OutputOptions) {
    let isTerminal = Terminal.isTerminal(Standard.output)
    let colour = output.hasColor(
      noColor: Host.variable("NO_COLOR"), terminal: Host.variable("TERM"), isTerminal: isTerminal)
    self.init(
      format,
      TextStyle(
        colour: colour, width: isTerminal ? Terminal.size()?.columns ?? 80 : nil,
        zone: WallTime.now.zoneOffset), template: output.template
    ) { bytes throws(Failure) in
      do throws(SystemError) {
        try FileDescriptor.writeAllInterruptibly(bytes, to: Standard.output)
      } catch {
        // The reader has exited, as `head` does: nobody is left to report to.
        if error.errno == .brokenPipe { throw .readerGone }
        throw Failure(.cannotCreate, "writing to standard output", error.errno.text)
      }
    }
  }

  /// Prints raw bytes.
  public func print(_ bytes: some Sequence<UInt8>) throws(Failure) { try write(Array(bytes)) }

  /// Prints one or more lines and a final newline; nothing if the text is empty.
  public func print(line: String) throws(Failure) {
    if !line.isEmpty { try write(Array((line + "\n").utf8)) }
  }

  /// Prints lines, each with a newline.
  public func print(lines: [String]) throws(Failure) {
    if !lines.isEmpty { try print(lines.map { $0 + "\n" }.joined().utf8) }
  }

  /// Prints a value as JSON on one line, by the template, or as `text` lays it out.
  package func show(_ value: some JSONCodable, text: (TextStyle) -> String) throws(Failure) {
    try show(json: value.json) { text(style) }
  }

  /// The same for a value that is JSON already.
  package func show(json: @autoclosure () -> [UInt8], text: () -> String) throws(Failure) {
    if let template {
      try print(lines: [template.line(for: (try? JSONValue(parsing: json())) ?? .null)])
    } else if format == .json {
      try print(json() + [UInt8(ascii: "\n")])
    } else {
      try print(line: text())
    }
  }

  /// Prints a line for people, which programs do not get.
  package func guide(_ text: String) throws(Failure) {
    if format == .text { try print(line: text.printable) }
  }

  /// Prints an error on standard error.
  public func report(_ failure: Failure) {
    if !failure.isInterruption { Standard.report(failure.line) }
  }

  /// Prints a warning, as a line on standard error.
  @Sendable package static func warn(_ subject: String, _ warning: String) {
    Standard.report(Failure(.done, subject, warning).line)
  }

  /// Prints a transient remark on standard error, if that is a terminal.
  public func remark(_ text: String) {
    if Terminal.isTerminal(Standard.error) { Standard.report("ancsd: \(text.printable)") }
  }

  /// Without this watch, a reader of standard output that has exited, as with `| head`, would be noticed only when something
  /// is written. Outputs that can't be watched, such as files, have no reader.
  @LoopActor package static func watchReader(onGone: @escaping () -> Void) -> Watch? {
    try? Loop.shared.watch(number: Standard.output, for: []) { _ in onGone() }
  }

  /// Runs `body` on the event loop until it returns, and reports its failure.
  public func onLoop(_ body: @escaping @LoopActor () async throws(Failure) -> ExitStatus) -> ExitStatus {
    Loop.start {
      let status: ExitStatus
      do throws(Failure) {
        status = try await body()
      } catch {
        report(error)
        status = error.status
      }
      Loop.shared.stop(status.rawValue)
    }
    return ExitStatus(rawValue: Loop.shared.run()) ?? .software
  }
}

extension Failure {
  /// Standard output is a pipe whose reader has exited, which is not reported.
  package static let readerGone = Failure(
    .done, "writing to standard output", "the reader has gone")
}
