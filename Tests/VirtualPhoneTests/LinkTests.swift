// SPDX-License-Identifier: GPL-3.0-or-later
import TestLoop
import Testing
import VirtualPhone
import Wire

@Suite("Virtual link")
struct LinkTests {
  /// What the two ends receive after `work`, in order.
  private func received(delay: Duration = .zero, _ work: (VirtualLink) -> Void) -> [String] {
    let clock = HandClock()
    let link = VirtualLink(scheduler: clock, delay: delay)
    var received: [String] = []
    for (name, end) in [("one", link.one), ("other", link.other)] {
      end.receive = { received.append("\(name) \($0.hex)") }
      end.onClose = { received.append("\(name) \($0)") }
    }
    work(link)
    #expect(received.isEmpty)
    while clock.turn() {}
    #expect(clock.now == Instant.zero + delay)
    return received
  }

  @Test("PDUs arrive at the other end in order, after the link's delay", arguments: [0, 50])
  func order(delay: Int64) {
    let received = received(delay: .milliseconds(delay)) { link in
      link.one.send([1])
      link.other.send([2])
      link.one.send([3])
    }
    #expect(received == ["other 01", "one 02", "other 03"])
  }

  @Test("PDUs can be lost or changed")
  func transform() {
    let received = received { link in
      link.transform = { pdu, toOne in toOne ? nil : pdu + [9] }
      link.one.send([1])
      link.other.send([2])
    }
    #expect(received == ["other 0109"])
  }

  @Test("A closed link delivers PDUs in flight, a dropped one does not")
  func ends() {
    let closed = received { link in
      link.one.send([1])
      link.one.close("enough")
      link.other.send([2])
    }
    #expect(closed == ["other 01", "one enough", "other enough"])
    let dropped = received { link in
      link.one.send([1])
      link.drop()
      link.drop()
      #expect(!link.isUp)
    }
    #expect(dropped == ["one lost", "other lost"])
  }
}
