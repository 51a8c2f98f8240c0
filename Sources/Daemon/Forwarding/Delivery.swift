// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import JSON
import System
import Wire

/// One run of the program that sends messages to a destination (packaging/forward/deliver). It reads lines of JSON from its
/// standard input, the destination and then the messages, and writes a line for each message: `ok`, or why it failed.
@LoopActor final class Delivery {
  /// How many messages were not delivered yet.
  private var left: Int
  /// Why the next one was not, as far as the program has said.
  private var why: String?
  private var child: ChildProcess?
  private let onDelivered: () -> Void
  private var onEnd: ((String?) -> Void)?
  private lazy var patience = Deadline(Loop.shared) { [weak self] in
    self?.end(because: "no response within \(Self.patienceTime.components.seconds) s")
  }

  /// How long a message may take.
  private static let patienceTime = Duration.seconds(60)
  private static let environment = ["PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent"]

  /// Starts it. `onDelivered` is called for each message, in order. `onEnd` is called once, later, with why the others
  /// were not delivered; not if this is released earlier, which ends the program.
  init(
    _ messages: [ForwardMessage], to target: ForwardTarget, by program: String,
    onDelivered: @escaping () -> Void = {}, onEnd: @escaping (String?) -> Void
  ) {
    (left, self.onDelivered, self.onEnd) = (messages.count, onDelivered, onEnd)
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
    guard line == Array("ok".utf8) else { return why = String(decoding: line, as: UTF8.self) }
    why = nil
    if left > 0 {
      left -= 1
      onDelivered()
    }
  }

  private func ended(_ end: ProcessEnd) {
    self.end(because: left == 0 ? nil : why ?? "the program that sends it \(end)")
  }

  private func end(because why: String?) {
    guard let onEnd else { return }
    self.onEnd = nil
    patience.due = nil
    child = nil
    onEnd(why)
  }
}
