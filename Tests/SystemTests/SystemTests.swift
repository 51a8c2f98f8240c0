// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc
import Scratch
import Testing
import Wire

@testable import System

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
}

@Suite("Files that hold keys, in folders that others may write to")
struct SafeFileTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func mode(of path: String) -> UInt32 {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
  }

  @Test(
    "A symbolic link is neither followed nor replaced, whether there is something behind it or not")
  func links() throws {
    let (victim, link, dangling) = (
      scratch.path + "/victim", scratch.path + "/link", scratch.path + "/dangling"
    )
    try AtomicFile.save([1, 2], to: victim)
    try #require(symlink(victim, link) == 0 && symlink(scratch.path + "/nothing", dangling) == 0)
    for path in [link, dangling] {
      let error = #expect(throws: SystemError.self) { _ = try Files.create(path) }
      #expect(error?.description.contains("\(path) (a symbolic link)") == true)
      #expect(throws: SystemError.self) { try Files.readPrivate(path, limit: 10) }
    }
    #expect(try Files.read(victim) == [1, 2])
    #expect(try Files.kind(of: scratch.path + "/nothing") == nil)
  }

  @Test("An existing file is emptied, and gets the mode before anything is in it")
  func existing() throws {
    let path = scratch.path + "/capture"
    try AtomicFile.save([1, 2, 3], to: path, mode: 0o666)
    let file = try Files.create(path)
    #expect(mode(of: path) == 0o600)
    try file.writeAll([4])
    #expect(try Files.read(path) == [4])
  }

  @Test("A file of another origin is refused if the first bytes tell, and keeps its content and mode")
  func ofAnotherOrigin() throws {
    let path = scratch.path + "/letter"
    let own: [UInt8] = [7, 8]
    for content: [UInt8] in [[7], [1, 7, 8]] {
      try AtomicFile.save(content, to: path, mode: 0o644)
      let error = #expect(throws: SystemError.self) { _ = try Files.create(path, ifBegins: own) }
      #expect(error?.errno == .fileExists)
      #expect(throws: SystemError.self) { _ = try Files.openToContinue(path, ifBegins: own) }
      #expect(throws: SystemError.self) { try Files.check(path, begins: own) }
      #expect(try Files.read(path) == content && mode(of: path) == 0o644)
    }
    for content: [UInt8] in [[], [7, 8, 9]] {
      try AtomicFile.save(content, to: path)
      try Files.check(path, begins: own)
      try Files.create(path, ifBegins: own).writeAll(own)
      #expect(try Files.read(path) == own)
    }
    try Files.check(scratch.path + "/new", begins: own)
  }

  @Test("A file with another name, a pipe and a directory are refused at once")
  func others() throws {
    let path = scratch.path + "/file"
    try AtomicFile.save([1], to: path)
    try #require(link(path, scratch.path + "/other") == 0)
    #expect(throws: SystemError.self) { _ = try Files.create(path) }
    #expect(try Files.read(path) == [1])
    let pipe = scratch.path + "/pipe"
    try #require(mkfifo(pipe, 0o600) == 0)
    #expect(throws: SystemError.self) { _ = try Files.create(pipe) }
    #expect(throws: SystemError.self) { try Files.readPrivate(pipe, limit: 10) }
    #expect(throws: SystemError.self) { _ = try Files.create(scratch.path) }
  }

  @Test(
    "Another user's file is refused and left unchanged",
    .enabled(if: geteuid() == 0, "giving a file away takes root"))
  func foreign() throws {
    let (file, directory) = (scratch.path + "/file", scratch.path + "/state")
    try AtomicFile.save([1], to: file, mode: 0o666)
    try Files.makeDirectory(directory)
    for path in [file, directory] { try #require(chown(path, 65_534, 65_534) == 0) }
    #expect(throws: SystemError.self) { _ = try Files.create(file) }
    #expect(try Files.read(file) == [1])
    #expect(throws: PrivateDirectory.Fault.isAnothers(65_534)) { try PrivateDirectory(directory) }
  }

  @Test("A key file that others may read becomes private when it is read")
  func tightened() throws {
    let path = scratch.path + "/keys"
    try AtomicFile.save([1], to: path, mode: 0o644)
    #expect(try Files.readPrivate(path, limit: 10) == [1])
    #expect(mode(of: path) == 0o600)
  }

  @Test("Only one process at a time holds a directory, which is closed to other users from then on")
  func claimed() throws {
    let path = scratch.path + "/a/state"
    var first: PrivateDirectory? = try PrivateDirectory(path)
    #expect(first != nil && mode(of: path) == 0o700)
    chmod(path, 0o755)
    #expect(throws: PrivateDirectory.Fault.isTaken) { try PrivateDirectory(path) }
    #expect(mode(of: path) == 0o755)
    first = nil
    first = try PrivateDirectory(path)
    #expect(mode(of: path) == 0o700)
    _ = first
  }

  @Test("The user's own link is followed, and nothing is created if it leads nowhere")
  func ownLinks() throws {
    let (target, link) = (scratch.path + "/private/state", scratch.path + "/state")
    try Files.makeDirectory(target)
    try #require(symlink("private/state", link) == 0)
    _ = try PrivateDirectory(link)
    #expect(mode(of: target) == 0o700)
    _ = try PrivateDirectory(scratch.path + "/private/../state/a/b")
    #expect(mode(of: target + "/a/b") == 0o700)
    try #require(symlink(scratch.path + "/nothing", scratch.path + "/dangling") == 0)
    try #require(symlink("loop", scratch.path + "/loop") == 0)
    for path in ["/dangling", "/dangling/state", "/loop"] {
      #expect(throws: PrivateDirectory.Fault.self) { try PrivateDirectory(scratch.path + path) }
    }
    #expect(try Files.kind(of: scratch.path + "/nothing") == nil)
  }

  @Test(
    "If another user's link is on the path, nothing behind it is touched",
    .enabled(if: geteuid() == 0, "giving a file away takes root"))
  func foreignLinks() throws {
    let target = scratch.path + "/target"
    try Files.makeDirectory(target)
    try #require(chmod(target, 0o755) == 0)
    for (name, aim) in [("direct", "target"), ("above", "."), ("dangling", "nothing"), ("loop", "loop")] {
      try #require(symlink(aim, scratch.path + "/" + name) == 0)
      try #require(lchown(scratch.path + "/" + name, 65_534, 65_534) == 0)
    }
    try #require(symlink("direct", scratch.path + "/own") == 0)
    for path in ["direct", "above/target", "above/new", "dangling", "dangling/new", "loop", "own", "own/new"] {
      let path = scratch.path + "/" + path
      let fault = PrivateDirectory.Fault.isBehindLink(of: 65_534)
      #expect(throws: fault) { try PrivateDirectory(path) }
      #expect(throws: fault) { try PrivateDirectory.check(path) }
    }
    #expect(mode(of: target) == 0o755)
    #expect(try Files.names(in: target).isEmpty)
    #expect(try Files.names(in: scratch.path) == ["above", "dangling", "direct", "loop", "own", "target"])
  }

  @Test("A directory that others could write to is refused and left unchanged")
  func refused() throws {
    let path = scratch.path + "/state"
    try Files.makeDirectory(path)
    for open: UInt32 in [0o777, 0o770, 0o722, 0o1777] {
      chmod(path, open)
      #expect(throws: PrivateDirectory.Fault.isOpen(mode: open)) { try PrivateDirectory(path) }
      #expect(mode(of: path) == open)
    }
    chmod(path, 0o700)
    try AtomicFile.save([1], to: scratch.path + "/file")
    #expect(throws: PrivateDirectory.Fault.self) { try PrivateDirectory(scratch.path + "/file") }
  }
}

/// A file system of 64 KiB; nil if this process may not mount one.
final class SmallDisk {
  let scratch: Scratch

  init?() {
    guard let scratch = try? Scratch(),
      mount("none", scratch.path, "tmpfs", 0, "size=64k") == 0
    else { return nil }
    self.scratch = scratch
  }

  deinit { umount2(scratch.path, 2) }  // MNT_DETACH
}

@Suite("A full disk")
struct FullDiskTests {
  @Test(
    "If the disk is full, the old file stays whole",
    .enabled(if: SmallDisk() != nil, "mounting a small file system takes root"))
  func fullDisk() throws {
    let disk = try #require(SmallDisk())
    let path = disk.scratch.path + "/bonds"
    try AtomicFile.save(Array("the only bond".utf8), to: path)
    let error = #expect(throws: SystemError.self) {
      try AtomicFile.save(Array(repeating: 1, count: 200_000), to: path)
    }
    #expect(error?.errno == .noSpace)
    #expect(try Files.read(path) == Array("the only bond".utf8))
    #expect(try Files.names(in: disk.scratch.path) == ["bonds"])
    try AtomicFile.save(Array("another".utf8), to: path)
    #expect(try Files.read(path) == Array("another".utf8))
  }
}
