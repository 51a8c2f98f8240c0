// SPDX-License-Identifier: GPL-3.0-or-later
import TestLoop
import Testing
import VirtualPhone
import Wire

@Suite("Virtual link")
struct LinkTests {
  /// What came out at the two ends, and when it ended.
  final class Ends {
    var atOne: [[UInt8]] = []
    var atOther: [[UInt8]] = []
    var closed: [String] = []

    init(_ link: VirtualLink) {
      link.one.receive = { [unowned self] in atOne.append($0) }
      link.other.receive = { [unowned self] in atOther.append($0) }
      link.one.onClose = { [unowned self] in closed.append("one \($0)") }
      link.other.onClose = { [unowned self] in closed.append("other \($0)") }
    }
  }

  @Test("PDUs come out at the other end, in order, never at once")
  func order() {
    let clock = HandClock()
    let link = VirtualLink(scheduler: clock)
    let ends = Ends(link)
    link.one.send([1])
    link.other.send([2])
    link.one.send([3])
    #expect(ends.atOther.isEmpty)
    while clock.turn() {}
    #expect(ends.atOther == [[1], [3]])
    #expect(ends.atOne == [[2]])
    #expect(link.carried == 3)
  }

  @Test("A delay holds them back, and a shorter one lets none overtake")
  func delay() {
    let clock = HandClock()
    let link = VirtualLink(scheduler: clock, delay: .milliseconds(50))
    let ends = Ends(link)
    link.one.send([1])
    link.delay = .zero
    link.one.send([2])
    _ = clock.turn()
    #expect(ends.atOther == [[1], [2]])
    #expect(clock.now == .zero + .milliseconds(50))
  }

  @Test("PDUs are lost or changed as told")
  func transform() {
    let clock = HandClock()
    let link = VirtualLink(scheduler: clock)
    let ends = Ends(link)
    link.transform = { pdu, toOne in toOne ? nil : pdu + [9] }
    link.one.send([1])
    link.other.send([2])
    while clock.turn() {}
    #expect(ends.atOther == [[1, 9]])
    #expect(ends.atOne == [])
  }

  @Test("A link that is closed delivers what is under way; one that drops does not")
  func ends() {
    let clock = HandClock()
    var link = VirtualLink(scheduler: clock)
    var ends = Ends(link)
    link.one.send([1])
    link.one.close("enough")
    link.other.send([2])
    while clock.turn() {}
    #expect(ends.atOther == [[1]])
    #expect(ends.atOne == [])
    #expect(ends.closed == ["one enough", "other enough"])

    link = VirtualLink(scheduler: clock)
    ends = Ends(link)
    link.one.send([1])
    link.drop()
    link.drop()
    while clock.turn() {}
    #expect(ends.atOther == [])
    #expect(ends.closed == ["one lost", "other lost"])
    #expect(!link.isUp)
  }
}
