// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc
import Scratch
import System
import Testing
import Wire

@Suite("System calls and files")
struct SystemTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test("An error has the call, the subject and the reason, with its symbolic name")
  func errorText() {
    let error = #expect(throws: SystemError.self) { try Files.read("/nonexistent/file") }
    #expect(error?.description == "open /nonexistent/file: No such file or directory (ENOENT)")
    #expect(Errno(rawValue: 104).name == "ECONNRESET")
    #expect(Errno(rawValue: 999).name == "errno 999")
  }

  @Test("A socket option that is longer than expected, a peer's groups, is read in full")
  func longOption() throws {
    // As root, with more groups than are expected.
    var former = [gid_t](repeating: 0, count: Int(getgroups(0, nil)))
    getgroups(Int32(former.count), &former)
    let isRoot = setgroups(100, Array(5_000..<5_100)) == 0
    defer { if isRoot { setgroups(former.count, former) } }
    try UnixSocket.pair(.packets) { one, _ in
      let options = [0, 4, 4_096].map {
        try? Syscall.option(one.raw, SOL_SOCKET, 59, size: $0)  // SO_PEERGROUPS
      }
      #expect(options[0]?.count == 4 * Int(getgroups(0, nil)))
      #expect(Set(options).count == 1)
      let peer = try? UnixSocket.peerCredentials(one.raw)
      #expect(peer?.groups.count == Int(getgroups(0, nil)))
      if isRoot { #expect(peer?.isMember(of: 5_099) == true) }
    }
  }

  @Test("Nothing remains of overwritten packets, and the next ones are received as usual")
  func wipedPackets() throws {
    let (sending, receiving) = try UnixSocket.pair(.packets) { ($0.release(), $1.release()) }
    defer { for number in [sending, receiving] { Glibc.close(number) } }
    let batch = PacketBatch()
    func packet(_ index: Int) -> [UInt8] {
      var bytes: [UInt8] = []
      #expect(batch.append(index, to: &bytes))
      return bytes
    }
    let packets: [[UInt8]] = [[1, 2, 3], [4], Array(repeating: 5, count: PacketBatch.longest)]
    for packet in packets { _ = try Syscall.send(sending, packet) }
    #expect(try batch.receive(from: receiving) == 3)
    #expect((0..<3).map(packet) == packets)
    batch.wipe(3)
    #expect((0..<3).map(packet) == packets.map { $0.map { _ in 0 } })
    _ = try Syscall.send(sending, [6, 7])
    #expect(try batch.receive(from: receiving) == 1)
    #expect(packet(0) == [6, 7])
  }

  @Test("A descriptor is closed at the end of its lifetime, unless it was released")
  func closing() throws {
    let number: Int32
    do {
      let file = try Files.open("/dev/null")
      number = file.raw
      #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
    }
    let kept = try Files.open("/dev/null").release()
    #expect(fcntl(kept, F_GETFD) >= 0)
    Glibc.close(kept)
    #expect(number >= 3)
  }

  @Test("A file is saved whole, with its mode whatever the umask, over a crash's remains")
  func saved() throws {
    let path = scratch.path + "/bonds"
    try Files.create(path + ".new").writeAll([1, 2, 3])
    let before = umask(0o777)
    defer { umask(before) }
    try AtomicFile.save(Array("one".utf8), to: path)
    try AtomicFile.save(Array("two".utf8), to: path)
    #expect(try Files.read(path) == Array("two".utf8))
    #expect(try Files.names(in: scratch.path) == ["bonds"])
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
  }

  @Test("An unusable file is set aside under an unused name")
  func setAside() throws {
    let path = scratch.path + "/bonds"
    try AtomicFile.save([1], to: path)
    #expect(try AtomicFile.setAside(path) == path + ".bad")
    try AtomicFile.save([2], to: path)
    #expect(try AtomicFile.setAside(path) == path + ".bad.1")
    #expect(try Files.read(path + ".bad") == [1])
    #expect(try Files.kind(of: path) == nil)
  }

  @Test("A file above the limit is refused, one at the limit is read")
  func bound() throws {
    let path = scratch.path + "/file"
    try AtomicFile.save(Array(repeating: 1, count: 100_000), to: path)
    #expect(try Files.read(path, limit: 100_000).count == 100_000)
    let error = #expect(throws: SystemError.self) { try Files.read(path, limit: 99_999) }
    #expect(error?.errno == .fileTooLarge)
    #expect(throws: SystemError.self) { try Files.read("/dev/zero", limit: 1000) }
  }

  @Test("Directories are created with their parents, and may exist already")
  func directories() throws {
    let path = scratch.path + "/a/b"
    try Files.makeDirectory(path, mode: 0o700)
    try Files.makeDirectory(path, mode: 0o700)
    #expect(try Files.kind(of: path) == .directory)
    rmdir(path)
    rmdir(scratch.path + "/a")
    try AtomicFile.save([1], to: scratch.path + "/file")
    let error = #expect(throws: SystemError.self) {
      try Files.makeDirectory(scratch.path + "/file")
    }
    #expect(error?.errno == .notDirectory)
  }

  @Test(
    "The parent of a path",
    arguments: [
      ("/a/b", "/a"), ("/a", "/"), ("a", "."), ("a/b/", "a"), ("/", nil), ("/a//", "/"),
    ] as [(String, String?)])
  func parents(path: String, parent: String?) { #expect(Files.parent(of: path) == parent) }

  @Test("Only one descriptor at a time holds a lock")
  func locks() throws {
    let path = scratch.path + "/lock"
    let one = try Files.create(path)
    let other = try Files.create(path)
    let first = try one.lock()
    let second = try other.lock()
    #expect(first && !second)
  }

  @Test("Groups are found by name in a group(5) file")
  func groups() throws {
    let path = scratch.path + "/group"
    try AtomicFile.save(Array("root:x:0:\nancsd:x:977:anna,bert\nbroken\n".utf8), to: path)
    #expect(Host.groupID(named: "ancsd", in: path) == 977)
    #expect(Host.groupID(named: "root", in: path) == 0)
    #expect(Host.groupID(named: "broken", in: path) == nil)
    #expect(Host.groupID(named: "ancs", in: path) == nil)
    #expect(Host.groupID(named: "root", in: path + "-") == nil)
  }

  @Test("UNIX socket addresses that are empty, too long or contain NUL are rejected")
  func addresses() throws {
    #expect(throws: SystemError.self) { try UnixAddress("") }
    #expect(throws: SystemError.self) { try UnixAddress("a\0b") }
    #expect(throws: SystemError.self) { try UnixAddress(String(repeating: "a", count: 108)) }
    #expect(try UnixAddress(String(repeating: "a", count: 107)).isFile)
    #expect(try !UnixAddress("@name").isFile)
  }

  @Test("Both clocks run; the monotonic one never goes back")
  func clocks() {
    let first = MonotonicClock.now
    #expect(MonotonicClock.now >= first)
    #expect(WallTime.now.seconds > 1_700_000_000)
    #expect((0..<1_000_000_000).contains(WallTime.now.nanoseconds))
    #expect(!Host.name.isEmpty && !Host.kernelRelease.isEmpty)
  }
}
