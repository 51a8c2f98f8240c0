// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc
import Scratch
import System
import Testing
import Wire

@testable import History

/// A file system of 4 MiB; nil if this process may not mount one.
private final class SmallDisk {
  static let size = 4 << 20
  let scratch: Scratch

  init?() {
    guard let scratch = try? Scratch(), mount("none", scratch.path, "tmpfs", 0, "size=\(Self.size)") == 0 else {
      return nil
    }
    self.scratch = scratch
  }

  deinit { umount2(scratch.path, 2) }  // MNT_DETACH
}

@Suite("The history's file") struct HistoryTests {
  private let scratch: Scratch
  private var path: String { "\(scratch.path)/log.db" }

  init() throws { scratch = try Scratch() }

  private func entry(_ number: Int, life: String = "one", length: Int = 10) -> HistoryEntry {
    let text = "\(number) of \(life) "
    return HistoryEntry(
      time: WallTime(seconds: 1_000 + Int64(number), nanoseconds: 42_000_000), life: life, seq: UInt64(number),
      line: text.utf8 + Array(repeating: UInt8(ascii: "x"), count: length))
  }

  private func all(_ file: HistoryFile, since time: WallTime? = nil) throws -> [[UInt8]] {
    var place: Int64 = 0
    var all: [[UInt8]] = []
    while true {
      let rows = try file.next(since: time, after: place)
      guard let last = rows.last else { return all }
      all += rows.map(\.line)
      place = last.place
    }
  }

  @Test("Added events are read in order, also during writing, and only by the owner")
  func reading() throws {
    let file = try HistoryFile(writing: path, limit: 1 << 20)
    #expect(try file.latest() == nil)
    let entries = (0..<1_200).map { entry($0) }
    try file.add(entries)
    let reader = try HistoryFile(reading: path)
    #expect(try all(reader) == entries.map(\.line))
    #expect(try all(reader, since: WallTime(seconds: 2_100)) == entries[1_100...].map(\.line))
    #expect(try reader.latest()?.seq == 1_199)
    for name in try Files.names(in: scratch.path) {
      var status = stat()
      stat("\(scratch.path)/\(name)", &status)
      #expect(status.st_mode & 0o777 == 0o600, "\(name)")
    }
    try file.remove(before: WallTime(seconds: 2_000))
    #expect(try all(reader) == entries[1_000...].map(\.line))
  }

  @Test("It continues where it stopped and never exceeds its limit: the oldest entries are removed")
  func limit() throws {
    let limit = 256 << 10
    for life in 0..<10 {
      let file = try HistoryFile(writing: path, limit: limit)
      for batch in 0..<10 {
        try file.add((0..<20).map { entry(batch * 20 + $0, life: "\(life)", length: 1_000) })
      }
      let latest = try file.latest()
      #expect(latest?.life == "\(life)" && latest?.seq == 199)
      let kept = try all(file)
      #expect(kept.count > 100 && kept.count < 256)
      let newest = (150..<200).map { entry($0, life: "\(life)", length: 1_000).line }
      #expect(Array(kept.suffix(50)) == newest)
    }
    #expect(try Files.open(path).size() <= limit)
    let file = try HistoryFile(writing: path, limit: limit)
    let count = try all(file).count
    #expect(throws: HistoryError.self) { try file.add([entry(1, length: 1 << 20)]) }
    #expect(try all(file).count == count)
    try file.add((0..<400).map { entry($0, length: 1_000) })
    #expect(try file.latest()?.seq == 399)
  }

  @Test(
    "A full disk is an error and costs no events",
    .enabled(if: SmallDisk() != nil, "mounting a small file system takes root"))
  func fullDisk() throws {
    let disk = try #require(SmallDisk())
    let (path, filler) = ("\(disk.scratch.path)/log.db", "\(disk.scratch.path)/filler")
    try HistoryFile(writing: path, limit: 16 << 20).add((0..<1_000).map { entry($0) })
    let room = SmallDisk.size - Int(try Files.open(path).size())
    try Files.create(filler, mode: 0o600).writeAll(Array(repeating: 1, count: room - (250 << 10)))
    let file = try HistoryFile(writing: path, limit: 16 << 20)
    let news = (1_000..<1_200).map { entry($0, length: 1_000) }
    let error = #expect(throws: HistoryError.self) { try file.add(news) }
    #expect("\(error.map { "\($0)" } ?? "")".contains("full"))
    #expect(try all(file).count == 1_000)
    try Files.remove(filler)
    try file.add(news)
    #expect(try all(file).count == 1_200)
  }

  @Test("A smaller limit makes the file smaller, and the latest events stay")
  func smaller() throws {
    try HistoryFile(writing: path, limit: 1 << 20)
      .add((0..<800).map { entry($0, length: 1_000) })
    let limit = 256 << 10
    let file = try HistoryFile(writing: path, limit: limit)
    #expect(try Files.open(path).size() <= limit)
    #expect(try all(file).count > 100 && file.latest()?.seq == 799)
    try file.add((0..<400).map { entry($0, length: 1_000) })
    #expect(try Files.open(path).size() <= limit)
  }

  @Test("A file of more than 4 GiB, which 32 bits do not count, is read, and becomes as small as its limit")
  func large() throws {
    try HistoryFile(writing: path, limit: 1 << 20).add((0..<20).map { entry($0) })
    let free: UInt32 = 1_200_000
    try add(free, to: path)
    #expect(try Files.open(path).size() > 1 << 32)
    #expect(try all(HistoryFile(reading: path)) == (0..<20).map { entry($0).line })
    let file = try HistoryFile(writing: path, limit: 1 << 30)
    #expect(try Files.open(path).size() <= 1 << 30)
    try file.add([entry(20)])
    #expect(try all(file) == (0...20).map { entry($0).line })
  }

  /// Adds free pages to a history, as far as its header says (sqlite.org/fileformat2.html): they are a hole in the file.
  private func add(_ count: UInt32, to path: String) throws {
    let pages = UInt32(try Files.open(path).size() / 4_096)
    let header = [pages + count, pages + 1, count].flatMap { value in
      (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }
    let number = open(path, O_RDWR)
    defer { close(number) }
    #expect(pwrite(number, header, header.count, 28) == header.count)
    #expect(ftruncate(number, off_t(Int64(pages + count) * 4_096)) == 0)
  }

  @Test("The directory may be behind a link")
  func linkedDirectory() throws {
    let link = "\(path)-link"
    symlink(try #require(Files.parent(of: path)), link)
    let file = try HistoryFile(writing: "\(link)/log.db", limit: 1 << 20)
    try file.add([entry(1)])
    #expect(try HistoryFile(reading: "\(link)/log.db").latest()?.seq == 1)
  }

  @Test(
    "A damaged file is known as such, and a new one begins when it is set aside",
    arguments: [0..<4_096, 100..<4_096, 4_096..<8_192])
  func damaged(part: Range<Int>) throws {
    for round in 0..<2 {
      try HistoryFile(writing: path, limit: 1 << 20)
        .add((0..<200).map { entry($0, length: 1_000) })
      var bytes = try Files.read(path)
      for place in part { bytes[place] = 0 }
      try Files.create(path, mode: 0o600).writeAll(bytes)
      let error = #expect(throws: HistoryError.self) {
        _ = try HistoryFile(writing: path, limit: 1 << 20).latest()
      }
      guard case .damaged = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      let aside = try HistoryFile.setAside(path)
      #expect(try Files.read(aside) == bytes, "round \(round)")
    }
    let file = try HistoryFile(writing: path, limit: 1 << 20)
    #expect(try all(file).isEmpty)
  }

  @Test("A file that is not a history is refused and left unchanged; a missing one is reported")
  func foreign() throws {
    #expect(throws: HistoryError.system(SystemError("open", .noSuchFile, on: path))) {
      try HistoryFile(reading: path)
    }
    let foreign = Array("something else, long enough to be no database of anybody's".utf8)
    try Files.create(path, mode: 0o600).writeAll(foreign)
    #expect(throws: HistoryError.self) { try HistoryFile(writing: path, limit: 1 << 20) }
    #expect(try Files.read(path) == foreign)
    try Files.remove(path)
    symlink("/etc/passwd", path)
    #expect(throws: HistoryError.self) { try HistoryFile(writing: path, limit: 1 << 20) }
  }
}
