// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Glibc
import OnLoop
import System
import Testing
import Wire

extension OnTheLoop {
  @Suite("The event loop")
  struct LoopTests {
    @Test("The clock does not advance within a turn, and is right in the next one")
    func turnTime() async throws {
      try await onLoop {
        let began = Loop.shared.now
        let end = MonotonicClock.now + .milliseconds(3)
        while MonotonicClock.now < end {}
        #expect(Loop.shared.now == began)
        await Loop.shared.sleep(for: .milliseconds(1))
        #expect(Loop.shared.now >= end)
      }
    }

    @Test("A deadline in the past is due on the next turn, and never starves the descriptors")
    func timersInThePast() async throws {
      try await onLoop {
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
    }

    @Test("Jobs run first come, first served")
    func jobsInOrder() async throws {
      try await onLoop {
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
    }

    @Test("A task that was started on another thread runs on the loop's")
    func fromAnotherThread() async throws {
      LoopThread.begin()
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<100 {
          group.addTask {
            #expect(!LoopThread.isCurrent)
            return await Task { @LoopActor in LoopThread.isCurrent }.value
          }
        }
        for await onLoop in group { #expect(onLoop) }
      }
    }

    @Test("A continuation that is resumed on the loop continues there, without another thread")
    func continuationsStay() async throws {
      try await onLoop {
        let threads = try Files.names(in: "/proc/self/task").count
        for _ in 0..<100 {
          await nested()
          #expect(LoopThread.isCurrent)
        }
        #expect(try Files.names(in: "/proc/self/task").count <= threads)
      }
    }

    /// Like the procedures of the pure modules: runs on the caller's actor and awaits a continuation.
    private func nested() async {
      #expect(LoopThread.isCurrent)
      await withCheckedContinuation { waiter in
        Loop.shared.later { waiter.resume() }
      }
      #expect(LoopThread.isCurrent)
    }

    @Test("A task that is started by a timer, which is no job, runs on the loop")
    func startedInTimer() async throws {
      try await onLoop {
        let ran = Arrivals<Bool>()
        _ = Loop.shared.schedule(after: .milliseconds(1)) {
          Loop.start {
            await Loop.shared.sleep(for: .milliseconds(1))
            ran.append(LoopThread.isCurrent)
          }
        }
        #expect(await ran.wait(for: 1) == [true])
      }
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
      try loop.onSignal([.user1, .terminate]) { [unowned loop] signal in
        came.append(signal)
        if came.count == 2 { loop.stop(signal.rawValue) }
      }
      // To this thread, which blocks them; other tests' threads do not.
      pthread_kill(pthread_self(), SIGUSR1)
      loop.later { pthread_kill(pthread_self(), SIGTERM) }
      #expect(loop.run() == SIGTERM)
      #expect(came == [.user1, .terminate])
    }

    @Test("A signal handler may replace itself; the new one gets the next signal")
    func secondHandler() throws {
      let loop = try Loop()
      var came: [String] = []
      try loop.onSignal([.user1, .user2]) { [unowned loop] _ in
        came.append("first")
        try? loop.onSignal([.user1, .user2]) { [unowned loop] _ in
          came.append("second")
          loop.stop()
        }
      }
      pthread_kill(pthread_self(), SIGUSR1)
      pthread_kill(pthread_self(), SIGUSR2)
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
