// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Glibc
import OnLoop
import Scratch
import System
import Testing
import Wire

extension LineSocket { fileprivate func send(_ line: String) { send(Array(line.utf8)) } }

extension OnTheLoop {
  @Suite("Lines over sockets, pipes and files", .onLoop)
  @LoopActor struct LineTests {
    /// Both ends of a connection through a listener.
    private func connection(
      _ name: String, lineLimit: Int = 1 << 20, queueLimit: Int = 1 << 22
    ) async throws -> (client: LineSocket, server: LineSocket, UnixListener) {
      let listener = try UnixListener(at: name, .stream)
      let accepted = Arrivals<Bool>()
      var server: LineSocket?
      listener.onConnection = { descriptor, peer in
        #expect(peer.userID == geteuid())
        #expect(peer.isMember(of: getegid()))
        server = LineSocket(owning: descriptor, lineLimit: lineLimit, queueLimit: queueLimit)
        accepted.append(true)
      }
      let client = try LineSocket.connect(unix: name)
      await accepted.wait(for: 1)
      return (client, try #require(server), listener)
    }

    @Test("A line that exceeds the limit is reported and dropped; the next one is read")
    func overlong() async throws {
      let (client, server, _) = try await connection("@ancsd-test-overlong", lineLimit: 1000)
      let came = Arrivals<String>()
      server.onOverlong = { came.append("overlong") }
      server.onLine = { came.append(String(decoding: $0, as: UTF8.self)) }
      client.send(Array(repeating: UInt8(ascii: "a"), count: 500_000))
      client.send("short")
      #expect(await came.wait(for: 2) == ["overlong", "short"])
    }

    @Test("A peer that does not read is disconnected")
    func queueFull() async throws {
      let (client, server, _) = try await connection(
        "@ancsd-test-queue-full", queueLimit: 100_000)
      let ended = Arrivals<LineSocket.End>()
      server.onClose = { ended.append($0) }
      server.onLine = { _ in }
      for _ in 0..<1000 { server.send(Array(repeating: 1, count: 1000)) }
      #expect(await ended.wait(for: 1) == [.queueFull])
      #expect(!server.isOpen)
      _ = client
    }

    @Test(
      "What a peer said before it closed is read, although it can't be sent to any more", arguments: [0, 1_000_000])
    func lastWords(queued: Int) async throws {
      let (client, server, _) = try await connection("@ancsd-test-last-words-\(queued)")
      if queued > 0 { client.send(Array(repeating: 1, count: queued)) }
      let came = Arrivals<String>()
      client.onLine = { came.append(String(decoding: $0, as: UTF8.self)) }
      client.onClose = { came.append("\($0)") }
      server.send("no")
      server.send("room")
      server.close()
      if queued == 0 { client.send("request") }
      let all = await came.wait(for: 3)
      #expect(all == ["no", "room", "\(LineSocket.End.failed(.brokenPipe))"], "\(all)")
    }

    @Test("A peer that finishes sending, and then goes away before its response, ends the connection")
    func goneBeforeResponse() async throws {
      var ends: [Int32] = [0, 0]
      #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
      let server = LineSocket(owning: FileDescriptor(owning: ends[0]))
      let came = Arrivals<String>()
      server.onLine = { came.append(String(decoding: $0, as: UTF8.self)) }
      server.onEnd = {
        Glibc.close(ends[1])
        server.send("response")
      }
      server.onClose = { came.append("\($0)") }
      _ = Glibc.write(ends[1], "one\n", 4)
      shutdown(ends[1], Int32(SHUT_WR))
      #expect(await came.wait(for: 2) == ["one", "\(LineSocket.End.failed(.brokenPipe))"])
    }

    @Test(
      "Of a peer that shuts down its half, paused or not, no line is lost or out of order, and it gets its response",
      arguments: [false, true])
    func halfClosed(pausing: Bool) async throws {
      var ends: [Int32] = [0, 0]
      try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
      defer { Glibc.close(ends[1]) }
      let server = LineSocket(owning: FileDescriptor(owning: ends[0]))
      let came = Arrivals<String>()
      @LoopActor func take(_ line: [UInt8]) {
        came.append(String(decoding: line, as: UTF8.self))
        guard pausing else { return }
        server.onLine = nil
        Loop.shared.later { server.onLine = { take($0) } }
      }
      server.onLine = { take($0) }
      server.onEnd = {
        server.send("response")
        server.closeAfterSending()
      }
      server.onClose = { _ in came.append("end") }
      let lines = (1...500).map(String.init)
      // The last line needs no line feed.
      let text = lines.joined(separator: "\n")
      try #require(Glibc.write(ends[1], text, text.utf8.count) == text.utf8.count)
      shutdown(ends[1], Int32(SHUT_WR))
      #expect(await came.wait(for: 501) == lines + ["end"])
      var response = [UInt8](repeating: 0, count: 100)
      let count = Glibc.read(ends[1], &response, response.count)
      #expect(response.prefix(max(0, count)) == Array("response\n".utf8)[...])
    }

    @Test("While a line waits to be taken, no more is read, however much the peer sends")
    func unread() async throws {
      let (client, server, _) = try await connection("@ancsd-test-unread")
      let line = Array(repeating: UInt8(ascii: "x"), count: 72)
      for _ in 0..<50_000 { client.send(line) }
      let queued = client.queuedBytes
      let came = Arrivals<Int>()
      // As a client that waits for an answer to each of its requests.
      @LoopActor func take(_ line: [UInt8]) {
        came.append(line.count)
        server.onLine = nil
        if came.values.count < 200 { Loop.shared.later { server.onLine = { take($0) } } }
      }
      server.onLine = { take($0) }
      await came.wait(for: 200)
      #expect(queued - client.queuedBytes < 1 << 17)
    }

    @Test("Peers that send without a pause take turns, line by line")
    func turns() async throws {
      let (busy, first, _) = try await connection("@ancsd-test-turns")
      let (brief, second, _) = try await connection("@ancsd-test-turns-brief")
      for _ in 0..<500 { busy.send("much") }
      brief.send("little")
      let came = Arrivals<String>()
      first.onLine = { came.append(String(decoding: $0, as: UTF8.self)) }
      second.onLine = { came.append(String(decoding: $0, as: UTF8.self)) }
      await came.wait(for: 501)
      #expect(came.values.prefix(32).contains("little"))
    }

    @Test("Megabytes arrive whole if the peer reads, and it is reported that the queue is empty")
    func large() async throws {
      let (client, server, _) = try await connection("@ancsd-test-large")
      let drained = Arrivals<Int>()
      server.onDrained = { drained.append(server.queuedBytes) }
      server.onLine = { _ in }
      for _ in 0..<4 { server.send(Array(repeating: 1, count: 1_000_000)) }
      #expect(server.queuedBytes > 0)
      let came = Arrivals<Int>()
      client.onLine = { came.append($0.count) }
      #expect(await drained.wait(for: 1) == [0])
      #expect(await came.wait(for: 4) == Array(repeating: 1_000_000, count: 4))
    }

    @Test("A file, which epoll cannot watch, is read to its end")
    func file() async throws {
      let scratch = try Scratch()
      let path = "\(scratch.path)/lines"
      let text = (0..<20_000).map { "line \($0)" }
      try AtomicFile.save(Array(text.joined(separator: "\n").utf8), to: path)
      let file = try Files.open(path)
      let reader = LineReader(file.raw)
      let came = Arrivals<String>()
      reader.onLine = { came.append(String(decoding: $0, as: UTF8.self)) }
      let ended = Arrivals<Errno?>()
      reader.onEnd = { ended.append($0) }
      #expect(await ended.wait(for: 1) == [nil])
      #expect(came.values == text)
    }

    @Test("A pipe is read to its end; a line has nothing of the one before, whatever their lengths")
    func pipe() async throws {
      let (reading, writing) = try makePipe()
      defer { Glibc.close(reading) }
      let reader = LineReader(reading)
      let came = Arrivals<String>()
      let ended = Arrivals<Errno?>()
      reader.onEnd = { ended.append($0) }
      reader.onLine = { came.append(String(decoding: $0, as: UTF8.self)) }
      let lines = [3, 2_000, 0, 1, 5_000, 4_000, 7].enumerated()
        .map { String(repeating: "\($0)", count: $1) }
      do {
        let writer = LineWriter(writing)
        for (place, line) in lines.enumerated() {
          writer.write(line)
          await came.wait(for: place + 1)
        }
      }
      Glibc.close(writing)
      #expect(await ended.wait(for: 1) == [nil])
      #expect(came.values == lines)
    }

    private func makePipe() throws -> (reading: Int32, writing: Int32) {
      var ends: [Int32] = [-1, -1]
      try #require(Glibc.pipe(&ends) == 0)
      return (ends[0], ends[1])
    }
  }

  @Suite("Listening on UNIX sockets", .onLoop)
  @LoopActor struct UnixListenerTests {
    private let path = "/tmp/ancsd-test-listener-\(getpid()).sock"

    @Test(
      "A socket file that somebody listens on is left alone",
      arguments: [SocketType.stream, .packets])
    func inUse(type: SocketType) async throws {
      let listener = try UnixListener(at: path, .stream)
      let error = #expect(throws: SystemError.self) { try UnixListener(at: path, type) }
      #expect(error?.errno == .addressInUse)
      #expect(error?.subject == path)
      #expect(try Files.kind(of: path) == .socket)
      _ = consume listener
    }

    @Test("Another kind of file is left alone")
    func noSocket() async throws {
      defer { try? Files.remove(path) }
      try AtomicFile.save([1], to: path)
      let error = #expect(throws: SystemError.self) { try UnixListener(at: path, .stream) }
      #expect(error?.errno == .addressInUse)
      #expect(try Files.read(path) == [1])
    }

    @Test("A socket file that another listener has replaced is not removed")
    func takenOver() async throws {
      let first = try UnixListener(at: path, .stream)
      try Files.remove(path)
      let second = try UnixListener(at: path, .stream)
      first.close()
      #expect(try Files.kind(of: path) == .socket)
      second.close()
    }

    @Test("After an error accepting pauses for a second; the connection waits in the kernel")
    func pause() throws {
      let loop = try Loop()
      let listener = try Acceptor(
        owning: try UnixSocket.listen(
          at: try UnixAddress("@ancsd-test-pause"), .stream, mode: 0o600, group: nil), loop: loop)
      var accepted: [Duration] = []
      var errors: [SystemError] = []
      let start = loop.now
      listener.onError = { errors.append($0) }
      listener.onConnection = { _ throws(SystemError) in
        accepted.append(loop.now - start)
        if accepted.count == 1 { throw SystemError("accept", Errno(rawValue: 24)) }  // EMFILE
        loop.stop()
      }
      let clients = [
        try LineSocket.connect(unix: "@ancsd-test-pause", loop: loop),
        try LineSocket.connect(unix: "@ancsd-test-pause", loop: loop),
      ]
      _ = loop.run()
      #expect(errors.map(\.errno.name) == ["EMFILE"])
      #expect(accepted.count == 2 && accepted[1] >= .seconds(1))
      #expect(loop.wakeUps <= 4)
      #expect(clients[0].isOpen && clients[1].isOpen)
    }
  }
}

extension OnTheLoop {
  @Suite("Unread output", .onLoop)
  @LoopActor struct StuckOutputTests {
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

      func close() { for end in [reading, writing] { _ = Glibc.close(end) } }
    }

    @Test("Writing a line never blocks, and lost lines are reported where they are missing", arguments: Kind.allCases)
    func loss(kind: Kind) async throws {
      let output = try Output(kind)
      defer { output.close() }
      let flags = fcntl(output.writing, F_GETFL)
      let writer = LineWriter(output.writing, queueLimit: 20_000)
      writer.lossNotice = { Array("lost \($0.count): \($0.first) to \($0.last)".utf8) }
      let line = String(repeating: "x", count: 990)
      for number in 1...2_000 { writer.write("\(number) \(line)", number: UInt64(number)) }
      #expect(writer.droppedLines > 0)
      #expect(fcntl(output.writing, F_GETFL) == flags, "the others' flags are changed")
      let first = 2_000 - writer.droppedLines
      let reader = LineReader(output.reading)
      let came = Arrivals<String>()
      // A terminal ends lines with a carriage return, too.
      reader.onLine = { came.append(String(decoding: $0.filter { $0 != 0x0D }, as: UTF8.self)) }
      await came.wait(for: first + 1)
      writer.write("the next", number: 2_001)
      let read = await came.wait(for: first + 2)
      #expect(read.prefix(first).map { $0.prefix { $0 != " " } } == (1...first).map { "\($0)"[...] })
      #expect(read.dropFirst(first) == ["lost \(writer.droppedLines): \(first + 1) to 2000", "the next"])
    }

    @Test(
      "A full disk is reported; with room again it gets whole lines, and the number of the missing")
    func fullDisk() async throws {
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
      #expect(String(decoding: try Files.read(path), as: UTF8.self) == "one\nlost 3: 2 to 4\nfive\n")
    }
  }
}
