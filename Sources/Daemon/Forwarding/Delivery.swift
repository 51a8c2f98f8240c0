// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import JSON
import System
import Wire

/// One run of the program that sends messages to a destination (packaging/forward/deliver). It reads lines of JSON from its
/// standard input, the destination and then the messages, and writes a line for each message: `ok`, or why it failed.
@LoopActor final class Delivery {
  /// How it has ended.
  struct Result {
    /// How many messages were delivered.
    var delivered = 0
    /// Why the next one was not; nil if all were.
    var why: String?
  }

  private var result = Result()
  private let count: Int
  private var child: ChildProcess?
  private var onEnd: ((Result) -> Void)?
  private lazy var patience = Deadline(Loop.shared) { [weak self] in
    self?.end(because: "no response within \(Self.patienceTime.components.seconds) s")
  }

  /// How long a message may take.
  private static let patienceTime = Duration.seconds(60)
  private static let environment = ["PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent"]

  /// Starts it. `onEnd` is called once, later; not if this is released earlier, which ends the program.
  init(
    _ messages: [ForwardMessage], to target: ForwardTarget, by program: String,
    onEnd: @escaping (Result) -> Void
  ) {
    (count, self.onEnd) = (messages.count, onEnd)
    patience.due = Loop.shared.now + Self.patienceTime
    do throws(ForwardFault) {
      let url = try target.url()
      let head = JSONValue.object(["to": .string(url)]).json + [UInt8(ascii: "\n")]
      child = try start(program, input: head + messages.flatMap(\.line))
    } catch {
      // The owner has this object before it ends.
      Loop.shared.later { [weak self] in self?.end(because: error.why) }
    }
  }

  private func start(_ program: String, input: [UInt8]) throws(ForwardFault) -> ChildProcess {
    do throws(SystemError) {
      let child = try ChildProcess(
        [program], environment: Self.environment, input: input, lineLimit: 4_096)
      child.onLine = { [weak self] in self?.heard($0) }
      child.onEnd = { [weak self] in self?.ended($0) }
      return child
    } catch {
      throw ForwardFault(
        why: error.errno == .noSuchFile
          ? "\(program) does not exist: install the package ancsd-forward" : "\(error)")
    }
  }

  private func heard(_ line: [UInt8]) {
    patience.due = Loop.shared.now + Self.patienceTime
    if line == Array("ok".utf8) {
      result.delivered += 1
      result.why = nil
    } else {
      result.why = String(decoding: line, as: UTF8.self)
    }
  }

  private func ended(_ end: ProcessEnd) {
    if result.delivered >= count { return self.end(because: nil) }
    self.end(because: result.why ?? "the program that sends it \(end)")
  }

  private func end(because why: String?) {
    guard let onEnd else { return }
    self.onEnd = nil
    patience.due = nil
    child = nil
    result.why = why
    onEnd(result)
  }
}
