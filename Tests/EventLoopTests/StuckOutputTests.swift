// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Glibc
import OnLoop
import Scratch
import System
import Testing
import Wire

extension OnTheLoop {
  @Suite("Unread output")
  struct StuckOutputTests {
    /// What standard output may be.
    enum Kind: CaseIterable { case pipe, terminal, socket }

    /// Both ends of an output, blocking as they are inherited.
    struct Output {
      let reading: Int32
      let writing: Int32

      init(_ kind: Kind) throws {
        var ends: [Int32] = [-1, -1]
        switch kind {
        case .pipe: try #require(pipe(&ends) == 0)
        case .socket:
          try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        case .terminal:
          ends[0] = open("/dev/ptmx", O_RDWR | O_NOCTTY)
          var number: Int32 = 0
          let (unlock, getNumber) = (UInt(0x4004_5431), UInt(0x8004_5430))  // TIOCSPTLCK, TIOCGPTN
          try #require(ends[0] >= 0 && ioctl(ends[0], unlock, &number) == 0)
          try #require(ioctl(ends[0], getNumber, &number) == 0)
          ends[1] = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
          try #require(ends[1] >= 0)
        }
        (reading, writing) = (ends[0], ends[1])
      }

      /// Reads until nothing has arrived for a while; returns the text without carriage returns.
      @LoopActor func read() async -> [String] {
        _ = fcntl(reading, F_SETFL, fcntl(reading, F_GETFL) | O_NONBLOCK)
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        var silence = 0
        while silence < 4 {
          let count = Glibc.read(reading, &part, part.count)
          if count > 0 {
            bytes += part.prefix(count)
            silence = 0
          } else {
            silence += 1
            await Loop.shared.sleep(for: .milliseconds(5))
          }
        }
        return String(decoding: bytes.filter { $0 != 0x0D }, as: UTF8.self)
          .split(separator: "\n").map(String.init)
      }

      func close() {
        for end in [reading, writing] { _ = Glibc.close(end) }
      }
    }

    @Test(
      "Writing a line never blocks, and lost lines are reported where they are missing",
      arguments: Kind.allCases)
    func loss(kind: Kind) async throws {
      try await onLoop {
        let output = try Output(kind)
        defer { output.close() }
        let flags = fcntl(output.writing, F_GETFL)
        let writer = LineWriter(output.writing, queueLimit: 20_000)
        writer.lossNotice = { Array("lost \($0.count): \($0.first) to \($0.last)".utf8) }
        let line = String(repeating: "x", count: 990)
        for number in 1...2_000 { writer.write("\(number) \(line)", number: UInt64(number)) }
        #expect(writer.droppedLines > 0)
        #expect(fcntl(output.writing, F_GETFL) == flags, "the others' flags are changed")
        let read = await output.read()
        writer.write("the next", number: 2_001)
        let after = await output.read()
        let first = 2_000 - writer.droppedLines
        #expect(read.count == first + 1)
        #expect(
          read.prefix(first).map { $0.prefix { $0 != " " } } == (1...first).map { "\($0)"[...] })
        #expect(read.last == "lost \(writer.droppedLines): \(first + 1) to 2000")
        #expect(after == ["the next"])
      }
    }

    @Test("Before exit, losses are reported too, and the wait has its limit")
    func atExit() async throws {
      try await onLoop {
        let output = try Output(.pipe)
        defer { output.close() }
        let writer = LineWriter(output.writing, queueLimit: 1_000)
        writer.lossNotice = { Array("lost \($0.count)".utf8) }
        for _ in 1...100 { writer.write(String(repeating: "x", count: 899)) }
        // The loop's own time does not advance within a turn.
        let start = MonotonicClock.now
        #expect(!writer.flush(within: .milliseconds(20)))
        #expect(MonotonicClock.now - start < .seconds(2))
        _ = await output.read()
        writer.flush(within: .milliseconds(20))
        #expect(writer.queuedBytes == 0)
      }
    }

    @Test(
      "A full disk is reported; with room again it gets whole lines, and the number of the missing"
    )
    func fullDisk() async throws {
      try await onLoop {
        let scratch = try Scratch()
        let path = "\(scratch.path)/full"
        let file = try Files.create(path)
        let full = try Files.create("/dev/full")
        // The same number is the file, then the full disk, then the file again.
        let number = dup(file.raw)
        defer { Glibc.close(number) }
        let writer = LineWriter(number)
        let errors = Arrivals<Errno>()
        writer.onError = { errors.append($0) }
        writer.lossNotice = { Array("lost \($0.count): \($0.first) to \($0.last)".utf8) }
        writer.write("one", number: 1)
        dup2(full.raw, number)
        for lost in 2...4 { writer.write("lost", number: UInt64(lost)) }
        #expect(await errors.wait(for: 1) == [.noSpace])
        #expect(writer.droppedLines == 3)
        dup2(file.raw, number)
        writer.write("five", number: 5)
        #expect(
          String(decoding: try Files.read(path), as: UTF8.self) == "one\nlost 3: 2 to 4\nfive\n")
      }
    }
  }
}
