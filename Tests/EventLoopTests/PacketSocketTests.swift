// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import OnLoop
import System
import Testing
import Wire

extension OnTheLoop {
  @Suite("Packet sockets", .onLoop)
  @LoopActor struct PacketSocketTests {
    @Test(
      "Packets keep their boundaries, also empty ones, those of 64 KiB, and where they carry keys",
      arguments: [false, true])
    func roundTrip(carriesKeys: Bool) async throws {
      let (one, other) = try PacketSocket.pair()
      other.carriesKeys = carriesKeys
      let came = Arrivals<[UInt8]>()
      other.onPacket = { came.append(Array($0)) }
      let packets: [[UInt8]] = [[1, 2, 3], [], Array(repeating: 7, count: 65536), [], [9]]
      for packet in packets { #expect(one.send(packet)) }
      #expect(await came.wait(for: 5) == packets)
      #expect(other.packetsReceived == 5)
    }

    @Test("Packets before the end are read before the end is reported")
    func end() async throws {
      let (one, other) = try PacketSocket.pair()
      let came = Arrivals<[UInt8]>()
      let ended = Arrivals<Errno?>()
      one.send([])
      for number in 0..<100 { one.send([UInt8(number)]) }
      one.close()
      other.onClose = { ended.append($0) }
      other.onPacket = { came.append(Array($0)) }
      #expect(await ended.wait(for: 1) == [nil])
      #expect(came.values == [[]] + (0..<100).map { [UInt8($0)] })
      #expect(!other.isOpen)
      #expect(!other.send([1]))
    }

    @Test("A peer that closes without reading is a reset, reported once and not within send")
    func reset() async throws {
      let (one, other) = try PacketSocket.pair()
      let ended = Arrivals<Errno?>()
      one.onClose = { ended.append($0) }
      one.onPacket = { _ in }
      one.send([1])
      other.close()
      #expect(!one.send([2]))
      #expect(ended.values.isEmpty)
      #expect(await ended.wait(for: 1) == [.connectionReset])
    }

    @Test("The queue is bounded: further packets are refused, and those before still arrive, in order")
    func bound() async throws {
      let listener = try UnixListener(at: "@ancsd-test-bound", .packets)
      var accepted: PacketSocket?
      listener.onConnection = { descriptor, _ in accepted = PacketSocket(owning: descriptor) }
      let sender = try PacketSocket.connect(unix: "@ancsd-test-bound")
      var taken = 0
      while sender.send(Array(repeating: UInt8(truncatingIfNeeded: taken), count: 4096)) { taken += 1 }
      #expect(sender.queuedPackets == 256)
      #expect(sender.isOpen)
      let came = Arrivals<UInt8>()
      while accepted == nil { await Loop.shared.sleep(for: .milliseconds(1)) }
      accepted?.onPacket = { came.append($0.first ?? 0) }
      #expect(await came.wait(for: taken) == (0..<taken).map { UInt8(truncatingIfNeeded: $0) })
      #expect(sender.queuedPackets == 0)
    }

    @Test("While paused, amid packets that arrived together, nothing is read and nothing spins")
    func paused() throws {
      let loop = try Loop()
      let (one, other) = try PacketSocket.pair(loop: loop)
      var came: [[UInt8]] = []
      var ended: [Errno?] = []
      var wakeUps: UInt64 = 0
      other.onClose = {
        ended.append($0)
        loop.stop()
      }
      other.onPacket = { packet in
        came.append(Array(packet))
        other.onPacket = nil
        _ = loop.schedule(after: .milliseconds(2)) {
          let before = loop.wakeUps
          _ = loop.schedule(after: .milliseconds(10)) {
            wakeUps = loop.wakeUps - before
            #expect(came == [[1]])
            other.onPacket = { came.append(Array($0)) }
          }
        }
      }
      one.send([1])
      one.send([2])
      one.close()
      _ = loop.run()
      // One, and perhaps one a moment too early; a loop that spins has thousands.
      #expect((1...2).contains(wakeUps))
      #expect(ended == [nil])
      #expect(came == [[1], [2]])
    }

    @Test("Of packets that arrived together, those after a handler was replaced are the next one's")
    func replacedWithin() async throws {
      let (one, other) = try PacketSocket.pair()
      // Each with the number of its handler.
      let came = Arrivals<[UInt8]>()
      other.onPacket = { packet in
        came.append([1] + packet)
        other.onPacket = { came.append([2] + $0) }
      }
      for number in 1...20 { one.send([UInt8(number)]) }
      #expect(await came.wait(for: 20) == (1...20).map { [$0 == 1 ? 1 : 2, $0] })
    }

    @Test("After a close between packets that arrived together, nothing more is reported")
    func closedWithin() async throws {
      let (one, other) = try PacketSocket.pair()
      let came = Arrivals<[UInt8]>()
      other.onPacket = { packet in
        came.append(Array(packet))
        if packet == [2] { other.close() }
      }
      for number in 1...5 { one.send([UInt8(number)]) }
      await came.wait(for: 2)
      await Loop.shared.sleep(for: .milliseconds(2))
      #expect(came.values == [[1], [2]])
    }

    @Test("A descriptor is left open if the owner asks for it")
    func leftOpen() async throws {
      let (one, other) = try PacketSocket.pair()
      let asked = Arrivals<Bool>()
      other.leavesOpen = { isGone, _ in
        asked.append(isGone)
        return true
      }
      one.onPacket = { _ in }
      let ended = Arrivals<Errno?>()
      one.onClose = { ended.append($0) }
      other.close()
      #expect(asked.values == [false])
      #expect(other.isLeftOpen)
      await Loop.shared.sleep(for: .milliseconds(5))
      #expect(one.isOpen && ended.values.isEmpty)
    }

    @Test("A socket is closed when the object goes away")
    func letGo() async throws {
      let (one, other) = try PacketSocket.pair()
      let ended = Arrivals<Errno?>()
      one.onClose = { ended.append($0) }
      one.onPacket = { _ in }
      other.onPacket = { _ in }
      var last: PacketSocket? = other
      _ = consume other
      last = nil
      _ = last
      #expect(await ended.wait(for: 1) == [nil])
    }
  }
}
