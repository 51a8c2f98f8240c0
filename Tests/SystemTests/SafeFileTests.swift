// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc
import Scratch
import Testing

@testable import System

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

  @Test("A file of 3 GB has its size, is read at its end, and truncated there")
  func large() throws {
    let file = try Files.create(scratch.path + "/capture")
    let end: Int64 = 3_000_000_000
    try file.truncate(to: end)
    #expect(try file.size() == end)
    #expect(try file.read(16, at: end - 2) == [0, 0])
    try file.truncate(to: end - 1)
    #expect(try file.size() == end - 1)
  }

  @Test(
    "A file of another origin is refused if the first bytes tell, and keeps its content and mode")
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
    for (name, aim) in [
      ("direct", "target"), ("above", "."), ("dangling", "nothing"), ("loop", "loop"),
    ] {
      try #require(symlink(aim, scratch.path + "/" + name) == 0)
      try #require(lchown(scratch.path + "/" + name, 65_534, 65_534) == 0)
    }
    try #require(symlink("direct", scratch.path + "/own") == 0)
    for path in [
      "direct", "above/target", "above/new", "dangling", "dangling/new", "loop", "own", "own/new",
    ] {
      let path = scratch.path + "/" + path
      let fault = PrivateDirectory.Fault.isBehindLink(of: 65_534)
      #expect(throws: fault) { try PrivateDirectory(path) }
      #expect(throws: fault) { try PrivateDirectory.check(path) }
    }
    #expect(mode(of: target) == 0o755)
    #expect(try Files.names(in: target).isEmpty)
    #expect(
      try Files.names(in: scratch.path) == ["above", "dangling", "direct", "loop", "own", "target"])
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
