// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Glibc
import OnLoop
import Scratch
import System
import Testing
import Wire

extension LineSocket {
  fileprivate func send(_ line: String) { send(Array(line.utf8)) }
}

extension OnTheLoop {
  @Suite("Lines over sockets, pipes and files")
  struct LineTests {
    /// Both ends of a connection through a listener.
    @LoopActor private func connection(
      _ name: String, lineLimit: Int = 1 << 20, queueLimit: Int = 1 << 22
    ) async throws -> (client: LineSocket, server: LineSocket, UnixListener) {
      let listener = try UnixListener(at: name, .stream)
      let accepted = Arrivals<Bool>()
      var server: LineSocket?
      listener.onConnection = { descriptor, peer in
        #expect(peer.processID == getpid() && peer.userID == geteuid())
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
      try await onLoop {
        let (client, server, _) = try await connection("@ancsd-test-overlong", lineLimit: 1000)
        let came = Arrivals<String>()
        server.onOverlong = { came.append("overlong") }
        server.onLine = { came.append(String(decoding: $0, as: UTF8.self)) }
        client.send(Array(repeating: UInt8(ascii: "a"), count: 500_000))
        client.send("short")
        #expect(await came.wait(for: 2) == ["overlong", "short"])
      }
    }

    @Test("A peer that does not read is disconnected")
    func queueFull() async throws {
      try await onLoop {
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
    }

    @Test(
      "What a peer said before it closed is read, although it can't be sent to any more",
      arguments: [0, 1_000_000])
    func lastWords(queued: Int) async throws {
      try await onLoop {
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
    }

    @Test(
      "A peer that finishes sending, and then goes away before its response, ends the connection")
    func goneBeforeResponse() async throws {
      try await onLoop {
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
        #expect(
          await came.wait(for: 2) == ["one", "\(LineSocket.End.failed(.brokenPipe))"])
      }
    }

    /// What a server that takes lines says at their end, once the client shuts down its half.
    @LoopActor private func saw(
      _ text: String, pausing: Bool = false, at name: String
    ) async throws -> String {
      let listener = try UnixListener(at: name, .stream)
      var server: LineSocket?
      listener.onConnection = { descriptor, _ in
        let socket = LineSocket(owning: descriptor)
        var lines: [String] = []
        @LoopActor func take(_ line: [UInt8]) {
          lines.append(String(decoding: line, as: UTF8.self))
          guard pausing else { return }
          socket.onLine = nil
          Loop.shared.later { socket.onLine = { take($0) } }
        }
        socket.onLine = { take($0) }
        socket.onEnd = {
          socket.send("saw \(lines.joined(separator: ","))")
          socket.closeAfterSending()
        }
        server = socket
      }
      let response = await Task.detached { Self.asked(name, text) }.value
      #expect(server?.isOpen == false)
      return response
    }

    @Test(
      "Lines wait while reading is paused; none is lost or out of order, and the end comes last")
    func paused() async throws {
      try await onLoop {
        let lines = (1...500).map(String.init)
        let text = lines.joined(separator: "\n")
        let response = try await saw(text, pausing: true, at: "@ancsd-test-paused")
        #expect(response == "saw \(lines.joined(separator: ","))\n")
      }
    }

    @Test("While a line waits to be taken, no more is read, however much the peer sends")
    func unread() async throws {
      try await onLoop {
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
    }

    @Test("Peers that send without a pause take turns, line by line")
    func turns() async throws {
      try await onLoop {
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
    }

    @Test("Megabytes arrive whole if the peer reads, and it is reported that the queue is empty")
    func large() async throws {
      try await onLoop {
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
    }

    @Test("A peer that shuts down its half gets its response; the last line needs no line feed")
    func halfClosed() async throws {
      try await onLoop {
        let response = try await saw("one\ntwo", at: "@ancsd-test-half")
        #expect(response == "saw one,two\n")
      }
    }

    /// Sends `text`, shuts down the sending half, and reads to the end, as another process would.
    private static func asked(_ name: String, _ text: String) -> String {
      let fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      defer { Glibc.close(fd) }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      let path = Array(name.utf8)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: [0] + path.dropFirst()) }
      let length = socklen_t(2 + path.count)
      let status = withUnsafeBytes(of: &address) {
        connect(fd, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), length)
      }
      #expect(status == 0)
      _ = Glibc.write(fd, text, text.utf8.count)
      shutdown(fd, Int32(SHUT_WR))
      var bytes: [UInt8] = []
      var part = [UInt8](repeating: 0, count: 100)
      while case let count = Glibc.read(fd, &part, part.count), count > 0 {
        bytes += part.prefix(count)
      }
      return String(decoding: bytes, as: UTF8.self)
    }

    @Test("A file, which epoll cannot watch, is read to its end")
    func file() async throws {
      try await onLoop {
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
    }

    @Test("A pipe is read to its end; a line has nothing of the one before, whatever their lengths")
    func pipe() async throws {
      try await onLoop {
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
    }

    @Test(
      "A reader that is gone, or goes while lines wait, is reported once, without a signal",
      arguments: [0, 100])
    func readerGone(after lines: Int) async throws {
      try await onLoop {
        let (reading, writing) = try makePipe()
        let writer = LineWriter(writing)
        let errors = Arrivals<Errno>()
        writer.onError = { errors.append($0) }
        for _ in 0..<lines { writer.write(Array(repeating: 1, count: 5000)[...]) }
        Glibc.close(reading)
        if lines == 0 { for line in ["one", "two"] { writer.write(line) } }
        #expect(await errors.wait(for: 1) == [.brokenPipe])
        #expect(lines > 0 || writer.droppedLines == 2)
        Glibc.close(writing)
      }
    }

    private func makePipe() throws -> (reading: Int32, writing: Int32) {
      var ends: [Int32] = [-1, -1]
      try #require(Glibc.pipe(&ends) == 0)
      return (ends[0], ends[1])
    }
  }

  @Suite("Listening on UNIX sockets")
  struct UnixListenerTests {
    private let path = "/tmp/ancsd-test-listener-\(getpid()).sock"

    @Test("The socket file has its mode and is removed with the listener; a stale one is replaced")
    func stale() async throws {
      let path = path
      try await onLoop {
        defer { try? Files.remove(path) }
        do {
          // As a killed daemon leaves it.
          let left = try UnixListener(at: path, .stream)
          try Files.rename(path, to: path + ".kept")
          left.close()
          try Files.rename(path + ".kept", to: path)
        }
        #expect(try Files.kind(of: path) == .socket)
        let listener = try UnixListener(at: path, .stream)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o660)
        listener.close()
        #expect(try Files.kind(of: path) == nil)
      }
    }

    @Test(
      "A socket file that somebody listens on is left alone",
      arguments: [SocketType.stream, .packets])
    func inUse(type: SocketType) async throws {
      let path = path
      try await onLoop {
        let listener = try UnixListener(at: path, .stream)
        let error = #expect(throws: SystemError.self) { try UnixListener(at: path, type) }
        #expect(error?.errno == .addressInUse)
        #expect(error?.subject == path)
        #expect(try Files.kind(of: path) == .socket)
        _ = consume listener
      }
    }

    @Test("Another kind of file is left alone")
    func noSocket() async throws {
      let path = path
      try await onLoop {
        defer { try? Files.remove(path) }
        try AtomicFile.save([1], to: path)
        let error = #expect(throws: SystemError.self) { try UnixListener(at: path, .stream) }
        #expect(error?.errno == .addressInUse)
        #expect(try Files.read(path) == [1])
      }
    }

    @Test("A socket file that another listener has replaced is not removed")
    func takenOver() async throws {
      let path = path
      try await onLoop {
        let first = try UnixListener(at: path, .stream)
        try Files.remove(path)
        let second = try UnixListener(at: path, .stream)
        first.close()
        #expect(try Files.kind(of: path) == .socket)
        second.close()
      }
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

    @Test("If nobody listens, the error has the path")
    func nobody() {
      let error = #expect(throws: SystemError.self) {
        try PacketSocket.connect(unix: "/tmp/ancsd-test-nobody")
      }
      #expect(
        error?.description
          == "connect /tmp/ancsd-test-nobody: No such file or directory (ENOENT)")
    }
  }
}
