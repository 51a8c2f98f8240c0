// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc
import OnLoop
import System
import Testing
import Wire

@testable import EventLoop

/// The suites that share the program's loop, one test at a time.
@Suite(.serialized) struct OnTheLoop {}

/// A value that a handler brings and a test awaits.
@LoopActor final class Arrivals<Value: Sendable> {
  private(set) var values: [Value] = []
  private var waiter: (count: Int, CheckedContinuation<Void, Never>)?

  nonisolated init() {}

  func append(_ value: Value) {
    values.append(value)
    if let (count, continuation) = waiter, values.count >= count {
      waiter = nil
      continuation.resume()
    }
  }

  /// Waits until there are `count` of them.
  @discardableResult
  func wait(for count: Int) async -> [Value] {
    if values.count < count {
      await withCheckedContinuation { waiter = (count, $0) }
    }
    return values
  }
}

extension OnTheLoop {
  @Suite("The event loop")
  struct LoopTests {
    @Test("The clock does not advance within a turn, and is right in the next one", .onLoop)
    @LoopActor func turnTime() async throws {
      let began = Loop.shared.now
      let end = MonotonicClock.now + .milliseconds(3)
      while MonotonicClock.now < end {}
      #expect(Loop.shared.now == began)
      await Loop.shared.sleep(for: .milliseconds(1))
      #expect(Loop.shared.now >= end)
    }

    @Test("A deadline in the past is due on the next turn, and never starves the descriptors", .onLoop) @LoopActor
    func timersInThePast() async throws {
      let loop = Loop.shared
      let (one, other) = try PacketSocket.pair()
      let came = Arrivals<[UInt8]>()
      other.onPacket = { came.append(Array($0)) }
      var again = true
      func spin() { if again { _ = loop.schedule(at: .zero) { spin() } } }
      spin()
      one.send([1])
      #expect(await came.wait(for: 1) == [[1]])
      again = false
    }

    @Test("Jobs run first come, first served", .onLoop)
    @LoopActor func jobsInOrder() async throws {
      let ran = Arrivals<Int>()
      for number in 0..<1000 {
        if number % 2 == 0 {
          Loop.shared.later { ran.append(number) }
        } else {
          Loop.start { ran.append(number) }
        }
      }
      #expect(await ran.wait(for: 1000) == Array(0..<1000))
    }

    @Test("An idle loop does not wake up, not even for a cancelled time-out")
    func idle() throws {
      let loop = try Loop()
      let timeout = loop.schedule(after: .milliseconds(10)) {}
      var before: UInt64 = 0
      // By then the loop has slept with the time-out armed.
      _ = loop.schedule(after: .milliseconds(1)) {
        loop.cancel(timeout)
        before = loop.wakeUps
        _ = loop.schedule(after: .milliseconds(50)) { loop.stop() }
      }
      _ = loop.run()
      #expect(loop.wakeUps - before == 1)
    }

    @Test("A cancelled time-out wakes the loop at most once, and the next timer is not lost")
    func calledOff() throws {
      let loop = try Loop()
      let (one, other) = try PacketSocket.pair(loop: loop)
      let timeout = loop.schedule(after: .milliseconds(10)) {}
      _ = loop.schedule(after: .milliseconds(40)) { loop.stop() }
      other.onPacket = { _ in loop.cancel(timeout) }
      one.send([1])
      _ = loop.run()
      #expect(loop.wakeUps <= 3)
    }

    @Test("A signal reaches its handler and has no other effect; a stopped loop returns the status")
    func signals() throws {
      let loop = try Loop()
      var came: [Signal] = []
      try loop.onSignal([.hangUp, .terminate]) { [unowned loop] signal in
        came.append(signal)
        if came.count == 2 { loop.stop(signal.rawValue) }
      }
      // To this thread, which blocks them; other tests' threads do not.
      pthread_kill(pthread_self(), SIGHUP)
      loop.later { pthread_kill(pthread_self(), SIGTERM) }
      #expect(loop.run() == SIGTERM)
      #expect(came == [.hangUp, .terminate])
    }

    @Test("A signal handler may replace itself; the new one gets the next signal")
    func secondHandler() throws {
      let loop = try Loop()
      var came: [String] = []
      try loop.onSignal([.hangUp, .continued]) { [unowned loop] _ in
        came.append("first")
        try? loop.onSignal([.hangUp, .continued]) { [unowned loop] _ in
          came.append("second")
          loop.stop()
        }
      }
      pthread_kill(pthread_self(), SIGHUP)
      pthread_kill(pthread_self(), SIGCONT)
      _ = loop.run()
      #expect(came == ["first", "second"])
    }

    @Test("A watch that is cancelled in a turn is not called in that turn")
    func cancelledWatch() throws {
      let loop = try Loop()
      let (one, other) = try PacketSocket.pair(loop: loop)
      let (two, another) = try PacketSocket.pair(loop: loop)
      var heard = 0
      other.onPacket = { _ in
        heard += 1
        another.close()
      }
      another.onPacket = { _ in
        heard += 1
        other.close()
      }
      one.send([1])
      two.send([2])
      _ = loop.schedule(after: .milliseconds(2)) { loop.stop() }
      _ = loop.run()
      #expect(heard == 1)
    }
  }
}

@Suite("Timer queue, line splitter, send queue")
struct PiecesTests {
  @Test("Ten thousand cancelled time-outs leave no memory behind")
  func timerHeap() {
    var timers = TimerQueue()
    for number in 0..<10_000 {
      timers.remove(timers.insert(Instant(nanoseconds: Int64(number)), {}))
    }
    #expect(timers.places <= 65)
    #expect(timers.next == nil)
  }

  @Test("Timers that are set, cancelled and due in any order are those of a plain list")
  func timerModel() {
    var timers = TimerQueue()
    var random = SystemRandomNumberGenerator()
    var plain: [(deadline: Int64, number: Int, timer: TimerID)] = []
    var over: [TimerID] = []
    var (ran, expected): ([Int], [Int]) = ([], [])
    for number in 0..<5_000 {
      let deadline = Int64.random(in: Int64(number)..<Int64(number + 300), using: &random)
      let timer = timers.insert(Instant(nanoseconds: deadline)) { ran.append(number) }
      plain.append((deadline, number, timer))
      if number % 3 > 0, let index = plain.indices.randomElement(using: &random) {
        let cancelled = plain.remove(at: index)
        timers.remove(cancelled.timer)
        over.append(cancelled.timer)
      }
      // An expired timer stays expired, although its slot is in use again.
      if let old = over.randomElement(using: &random) { timers.remove(old) }
      #expect(timers.count == plain.count)
      guard number % 10 == 0 else { continue }
      let now = Instant(nanoseconds: Int64(number))
      let due = plain.filter { $0.deadline <= now.nanoseconds }
        .sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
      plain.removeAll { $0.deadline <= now.nanoseconds }
      expected += due.map(\.number)
      over += due.map(\.timer)
      while let action = timers.popDue(now) { action() }
      #expect(ran == expected)
      #expect(timers.next?.nanoseconds == plain.map(\.deadline).min())
    }
  }

  @Test("Lines come out whole, however the bytes are split", arguments: 1...12)
  func lines(size: Int) {
    var splitter = LineSplitter(limit: 8)
    let text = Array("one\n\ntwelve\nmuch too long\n12345678\n123456789\nend".utf8)
    var items: [LineSplitter.Item] = []
    for start in stride(from: 0, to: text.count, by: size) {
      splitter.append(text[start..<min(start + size, text.count)])
      while let item = splitter.next() { items.append(item) }
    }
    if let last = splitter.last() { items.append(last) }
    let line = { (text: String) in LineSplitter.Item.line(Array(text.utf8)) }
    #expect(items == [line("one"), line(""), line("twelve"), .overlong, line("12345678"), .overlong, line("end")])
    #expect(splitter.last() == nil)
  }

  @Test("The queue keeps order and bound through parts of chunks")
  func sendQueue() {
    var queue = SendQueue(limit: 10)
    let first = queue.append([0, 1, 2, 3], skipping: 1)
    let second = queue.append([])
    let third = queue.append([4, 5, 6, 7, 8, 9])
    let fourth = queue.append([10])
    #expect([first, second, third, fourth] == [true, true, true, false])
    var taken: [UInt8] = []
    while !queue.isEmpty {
      let part = Array(queue.first.dropFirst(queue.sent).prefix(2))
      taken += part
      queue.advance(max(1, part.count))
    }
    #expect(taken == Array(1...9))
    #expect(queue.bytes == 0)
  }
}
