// SPDX-License-Identifier: GPL-3.0-or-later
import Fleet
import Testing
import Wire

@Suite("The link to the broker") struct BrokerMachineTests {
  private let start = Instant.zero
  private func at(_ seconds: Int64) -> Instant { .zero + .seconds(seconds) }
  private func machine(jitter: Double = 0.5) -> BrokerMachine {
    BrokerMachine(now: .zero, clientID: "ancsd-kitchen") { jitter }
  }
  private func connected(at time: Instant = .zero) -> BrokerMachine {
    var machine = machine()
    _ = machine.timeUp(now: time)
    _ = machine.accepted(now: time)
    return machine
  }

  @Test("A broker that ends each connection is tried later each time, until a connection lasts")
  func accepting() throws {
    var machine = machine()
    var (now, pauses) = (start, [Double]())
    for lasting: Int64 in [1, 1, 1, 1, 60, 1] {
      #expect(machine.timeUp(now: now) == [.connect])
      _ = machine.accepted(now: now)
      _ = machine.lost("it is shutting down", now: now + .seconds(lasting))
      let next = try #require(machine.deadline)
      pauses.append((next - now).inSeconds - Double(lasting))
      now = next
    }
    #expect(pauses == [1, 2, 4, 8, 1, 2])
  }

  @Test("A broker that does not accept within 20 s, acknowledges nothing for 30 s, or keeps the link for 2 s is left")
  func silent() {
    var connecting = machine()
    _ = connecting.timeUp(now: start)
    #expect(connecting.timeUp(now: at(19)) == [])
    #expect(connecting.timeUp(now: at(20)).first == .drop)
    var machine = connected()
    machine.awaits(true, now: at(5))
    machine.awaits(true, now: at(10))
    #expect(machine.deadline == at(35))
    machine.awaits(true, hasMoved: true, now: at(20))
    #expect(machine.deadline == at(50))
    machine.awaits(false, now: at(21))
    #expect(machine.deadline == nil)
    machine.awaits(true, now: at(30))
    let actions = machine.timeUp(now: at(60))
    #expect(actions.first == .drop && actions.count == 2)
    machine = connected()
    _ = machine.leave(now: at(1))
    #expect(machine.deadline == at(3))
  }
}
