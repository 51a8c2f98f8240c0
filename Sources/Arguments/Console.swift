// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
import EventLoop
import System
import Wire

/// Standard output and standard error, and how text is laid out on them.
public struct Console: Sendable {
  /// What is printed: what the command line says, else text on a terminal, else JSON.
  public let format: OutputFormat
  /// How text is laid out on standard output.
  public let style: TextStyle
  private let write: @Sendable ([UInt8]) throws(Failure) -> Void

  /// A console that passes what is printed to `write`.
  package init(
    _ format: OutputFormat, _ style: TextStyle,
    write: @escaping @Sendable ([UInt8]) throws(Failure) -> Void
  ) {
    self.format = format
    self.style = style
    self.write = write
  }

  /// The process's own.
  ///
  /// - Parameter format: the format that the command line names.
  public init(_ format: OutputFormat? = nil) {
    let isTerminal = Terminal.isTerminal(Standard.output)
    // https://no-color.org: any value but an empty one.
    let noColour = Host.variable("NO_COLOR").map { !$0.isEmpty } ?? false
    let isDumb = Host.variable("TERM") == "dumb"
    self.init(
      format ?? (isTerminal ? .text : .json),
      TextStyle(
        colour: isTerminal && !noColour && !isDumb,
        width: isTerminal ? Terminal.size()?.columns ?? 80 : nil, zone: WallTime.now.zoneOffset)
    ) { bytes throws(Failure) in
      do throws(SystemError) {
        try FileDescriptor.writeAll(bytes, to: Standard.output)
      } catch {
        // The reader has seen enough, as `head` has: there is nobody to report to.
        if error.errno == .brokenPipe { throw .readerGone }
        throw Failure(.cannotCreate, "writing to standard output", error.errno.text)
      }
    }
  }

  /// Prints bytes as they are.
  public func print(_ bytes: some Sequence<UInt8>) throws(Failure) { try write(Array(bytes)) }

  /// Prints one or more lines, and the end of the last; nothing if the text is empty.
  public func print(line: String) throws(Failure) {
    if !line.isEmpty { try write(Array((line + "\n").utf8)) }
  }

  /// Prints the line of an error on standard error.
  public func report(_ failure: Failure) {
    if [.done, .interrupted, .terminated].contains(failure.status) { return }
    Standard.report(failure.line)
  }

  /// Runs `body` on the event loop until it returns, and reports its failure.
  public func onLoop(
    _ body: @escaping @LoopActor () async throws(Failure) -> ExitStatus
  ) -> ExitStatus {
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
  /// Standard output is a pipe whose reader has left; no error worth a line.
  package static let readerGone = Failure(.done, "writing to standard output", "nobody reads it")
}
