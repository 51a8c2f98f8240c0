// SPDX-License-Identifier: GPL-3.0-or-later
public import System

/// A program that runs in parallel to the loop, watched without a thread and without SIGCHLD.
///
/// It is reaped when it ends. If this object is released earlier, the program is killed.
public final class ChildProcess {
  /// Called with each line that it writes to standard output or standard error, except overlong ones.
  public var onLine: ([UInt8]) -> Void = { _ in }
  /// Called once when it has ended, after its output up to then.
  public var onEnd: (ProcessEnd) -> Void = { _ in }

  /// Its process ID.
  package var process: Int32 { spawned.process }

  private let spawned: Spawned
  private let loop: Loop
  private var lines: LineSplitter
  private var outputWatch: Watch?
  private var endWatch: Watch?
  private var hasEnded = false

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - arguments: its absolute path, and its arguments.
  ///   - environment: the complete environment, as `NAME=value`.
  ///   - input: its standard input.
  public init(
    _ arguments: [String], environment: [String], input: [UInt8], lineLimit: Int = 1_024, loop: Loop = .shared
  ) throws(SystemError) {
    spawned = try Spawned(arguments, environment: environment, input: input)
    self.loop = loop
    lines = LineSplitter(limit: lineLimit)
    do throws(SystemError) {
      outputWatch = try loop.watch(number: spawned.output.raw, for: .readable) {
        [weak self] _ in self?.read()
      }
      endWatch = try loop.watch(number: spawned.end.raw, for: .readable) {
        [weak self] _ in self?.end()
      }
    } catch {
      spawned.signal(.kill)
      throw error
    }
  }

  deinit {
    outputWatch = nil
    endWatch = nil
    guard !hasEnded else { return }
    // A killed process ends at once, unless it waits for a disk or a debugger has stopped it: then it is not reaped.
    spawned.signal(.kill)
    for _ in 0..<3 where spawned.reap() == nil {
      _ = try? Syscall.isReadable(spawned.end.raw, within: 100)
    }
  }

  /// Sends a signal to the program and its children.
  public func signal(_ signal: Signal) { if !hasEnded { spawned.signal(signal) } }

  private func read() {
    guard let count = try? Syscall.read(spawned.output.raw, into: loop.readBuffer), count > 0 else {
      outputWatch = nil
      return
    }
    lines.append(loop.readBuffer[..<count])
    while let item = lines.next() { item.deliver(onLine, nil) }
  }

  /// How often the pipe is read once the program has ended.
  private static let lastReads = 16

  /// A child of its own may keep the pipe open and write forever, so only the available output is read.
  private func end() {
    guard !hasEnded, let result = spawned.reap() else { return }
    hasEnded = true
    endWatch = nil
    for _ in 0..<Self.lastReads
    where outputWatch != nil && (try? Syscall.isReadable(spawned.output.raw)) == true { read() }
    outputWatch = nil
    lines.last()?.deliver(onLine, nil)
    let onEnd = onEnd
    onEnd(result)
  }
}
