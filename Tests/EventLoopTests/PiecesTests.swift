// SPDX-License-Identifier: GPL-3.0-or-later
import Testing
import Wire

@testable import EventLoop

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
    #expect(
      items == [
        line("one"), line(""), line("twelve"), .overlong, line("12345678"), .overlong,
        line("end"),
      ])
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
