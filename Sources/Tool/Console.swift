// SPDX-License-Identifier: GPL-3.0-or-later
public import Daemon
import System

/// The terminal, or whatever else the program was started on: where its words go, and how they are
/// laid out there.
public struct Console: Sendable {
  /// What to print where the command line does not say: text on a terminal, else JSON.
  public let usualFormat: OutputFormat
  /// How text is laid out on standard output.
  public let style: TextStyle
  /// Whether somebody can be asked: input and output are a terminal.
  public let isInteractive: Bool

  /// As the process was started.
  public init() {
    let isTerminal = Terminal.isTerminal(Standard.output)
    // https://no-color.org: any value but an empty one.
    let noColour = Host.variable("NO_COLOR").map { !$0.isEmpty } ?? false
    let isDumb = Host.variable("TERM") == "dumb"
    usualFormat = isTerminal ? .text : .json
    style = TextStyle(
      colour: isTerminal && !noColour && !isDumb,
      width: isTerminal ? Terminal.size()?.columns ?? 80 : nil, zone: WallTime.now.zoneOffset)
    isInteractive = isTerminal && Terminal.isTerminal(Standard.input)
  }

  /// Prints bytes on standard output, as they are.
  public func print(_ bytes: some Collection<UInt8>) throws(Failure) {
    do throws(SystemError) {
      try FileDescriptor.writeAll(bytes, to: Standard.output)
    } catch {
      // Whoever read has seen enough, as `head` has: there is nobody to tell.
      if error.errno == .brokenPipe { throw .readerGone }
      throw Failure(.cannotCreate, "writing to standard output", error.errno.text)
    }
  }

  /// Prints lines on standard output, each with its end.
  public func print(lines: String) throws(Failure) { try print(Array((lines + "\n").utf8)) }

  /// Prints the line of an error on standard error.
  public func report(_ failure: Failure) {
    guard failure != .readerGone else { return }
    try? FileDescriptor.writeAll(Array((failure.line + "\n").utf8), to: Standard.error)
  }
}

extension Failure {
  /// Standard output is a pipe whose reader has left; not an error worth a line.
  static let readerGone = Failure(.done, "writing to standard output", "nobody reads it")
}
