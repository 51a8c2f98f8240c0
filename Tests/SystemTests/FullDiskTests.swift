// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc
import Scratch
import System
import Testing

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
