// SPDX-License-Identifier: GPL-3.0-or-later
import TestLoop
import Testing
import VirtualPhone
import Wire

@Suite("Virtual link")
struct LinkTests {
  /// What the two ends received, and when the link ended.
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

  private let clock = HandClock()

  /// A link, and what its ends receive.
  private func link(delay: Duration = .zero) -> (VirtualLink, Ends) {
    let link = VirtualLink(scheduler: clock, delay: delay)
    return (link, Ends(link))
  }

  @Test("PDUs arrive at the other end in order, after the link's delay", arguments: [0, 50])
  func order(delay: Int64) {
    let (link, ends) = self.link(delay: .milliseconds(delay))
    link.one.send([1])
    link.other.send([2])
    link.one.send([3])
    #expect(ends.atOther.isEmpty)
    while clock.turn() {}
    #expect(ends.atOther == [[1], [3]] && ends.atOne == [[2]])
    #expect(clock.now == .zero + .milliseconds(delay))
  }

  @Test("PDUs can be lost or changed")
  func transform() {
    let (link, ends) = self.link()
    link.transform = { pdu, toOne in toOne ? nil : pdu + [9] }
    link.one.send([1])
    link.other.send([2])
    while clock.turn() {}
    #expect(ends.atOther == [[1, 9]])
    #expect(ends.atOne == [])
  }

  @Test("A closed link delivers PDUs in flight, a dropped one does not")
  func ends() {
    var (link, ends) = self.link()
    link.one.send([1])
    link.one.close("enough")
    link.other.send([2])
    while clock.turn() {}
    #expect(ends.atOther == [[1]])
    #expect(ends.atOne == [])
    #expect(ends.closed == ["one enough", "other enough"])

    (link, ends) = self.link()
    link.one.send([1])
    link.drop()
    link.drop()
    while clock.turn() {}
    #expect(ends.atOther == [])
    #expect(ends.closed == ["one lost", "other lost"])
    #expect(!link.isUp)
  }
}
