// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
import System
import Wire

/// Standard output and standard error, and how text is laid out on them.
public struct Console: Sendable {
  /// What to print where the command line does not say: text on a terminal, else JSON.
  public var usualFormat: OutputFormat
  /// How text is laid out on standard output.
  public var style: TextStyle
  private let write: @Sendable ([UInt8]) throws(Failure) -> Void

  /// One that hands what is printed to `write`.
  package init(
    _ format: OutputFormat, _ style: TextStyle,
    write: @escaping @Sendable ([UInt8]) throws(Failure) -> Void
  ) {
    usualFormat = format
    self.style = style
    self.write = write
  }

  /// As the process was started.
  public init() {
    let isTerminal = Terminal.isTerminal(Standard.output)
    // https://no-color.org: any value but an empty one.
    let noColour = Host.variable("NO_COLOR").map { !$0.isEmpty } ?? false
    let isDumb = Host.variable("TERM") == "dumb"
    self.init(
      isTerminal ? .text : .json,
      TextStyle(
        colour: isTerminal && !noColour && !isDumb,
        width: isTerminal ? Terminal.size()?.columns ?? 80 : nil, zone: WallTime.now.zoneOffset),
      write: Self.writeToStandardOutput)
  }

  @Sendable private static func writeToStandardOutput(_ bytes: [UInt8]) throws(Failure) {
    do throws(SystemError) {
      try FileDescriptor.writeAll(bytes, to: Standard.output)
    } catch {
      // Whoever read has seen enough, as `head` has: there is nobody to tell.
      if error.errno == .brokenPipe { throw .readerGone }
      throw Failure(.cannotCreate, "writing to standard output", error.errno.text)
    }
  }

  /// Prints bytes as they are.
  public func print(_ bytes: some Sequence<UInt8>) throws(Failure) { try write(Array(bytes)) }

  /// Prints a line, or several, and the end of the last; nothing where there is none.
  public func print(line: String) throws(Failure) {
    if !line.isEmpty { try write(Array((line + "\n").utf8)) }
  }

  /// Prints the line of an error on standard error.
  public func report(_ failure: Failure) {
    switch failure.status {
    case .done, .interrupted, .terminated: break
    default: try? FileDescriptor.writeAll(Array((failure.line + "\n").utf8), to: Standard.error)
    }
  }
}

extension Failure {
  /// Standard output is a pipe whose reader has left; no error worth a line.
  package static let readerGone = Failure(.done, "writing to standard output", "nobody reads it")
}
