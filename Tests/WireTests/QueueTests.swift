// SPDX-License-Identifier: GPL-3.0-or-later
import Testing
import Wire

@Suite("Queues")
struct QueueTests {
  @Test("At the limit the oldest element makes room for the newest")
  func limit() {
    var queue = FIFO<Int>(limit: 2)
    #expect((1...3).map { queue.append($0) } == [nil, nil, 1])
    #expect(Array(queue) == [2, 3])
    queue.removeAll()
    #expect(queue.isEmpty && queue.limit == 2)
  }

  @Test("It behaves as an array does, whatever the order of operations")
  func model() {
    var (queue, model) = (FIFO<Int>(limit: 50), [Int]())
    var seed: UInt64 = 7
    for number in 0..<10_000 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      switch seed >> 60 {
      case 0...8:
        queue.append(number)
        model.append(number)
        if model.count > 50 { model.removeFirst() }
      case 9:
        queue.removeAll { $0 % 7 == 0 }
        model.removeAll { $0 % 7 == 0 }
      case 10 where model.count < 50:
        queue.prepend(number)
        model.insert(number, at: 0)
      default:
        #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
      }
      #expect(queue.elementsEqual(model) && queue.first == model.first)
    }
  }

  @Test("An element that was removed is released")
  func release() {
    final class Object {}
    var queue = FIFO<Object>()
    weak var first: Object?
    do {
      let object = Object()
      first = object
      queue.append(object)
    }
    queue.append(Object())
    #expect(first != nil)
    _ = queue.popFirst()
    #expect(first == nil)
  }

  @Test("A closed mailbox returns what it has, and then nil")
  func mailbox() async {
    let mailbox = Mailbox<Int>()
    mailbox.post(1)
    mailbox.post(2)
    mailbox.close()
    mailbox.post(3)
    #expect(await mailbox.next() == 1)
    #expect(await mailbox.next() == 2)
    #expect(await mailbox.next() == nil)
  }
}
