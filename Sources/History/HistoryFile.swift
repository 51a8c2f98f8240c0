// SPDX-License-Identifier: GPL-3.0-or-later
import CSQLite
public import System
public import Wire

/// An event for the history.
public struct HistoryEntry: Hashable, Sendable {
  public var time: WallTime
  /// The identifier of the daemon's run, and the event's number in it.
  public var life: String
  public var seq: UInt64
  /// The event as JSON.
  public var line: [UInt8]

  public init(time: WallTime, life: String, seq: UInt64, line: [UInt8]) {
    (self.time, self.life, self.seq, self.line) = (time, life, seq, line)
  }
}

/// Why the history can't be used.
public enum HistoryError: Error, Hashable, Sendable, CustomStringConvertible {
  case system(SystemError)
  /// SQLite's message.
  case database(String)
  /// SQLite's message about a file that it can't read any more.
  case damaged(String)

  public var description: String {
    switch self {
    case .system(let error): "\(error)"
    case .database(let why), .damaged(let why): why
    }
  }
}

/// The history file: an SQLite database with mode 0600 and a bounded size. It must not be a symbolic link, but its
/// directory may be.
///
/// Each call that adds events is one transaction. It reaches the disk when SQLite checkpoints its log, so the last
/// seconds before a power failure may be missing; the file stays consistent (sqlite.org/wal.html).
public final class HistoryFile {
  private let database: OpaquePointer
  private let path: String
  /// The maximum size in bytes.
  private let limit: Int

  /// A page of the database, in bytes.
  private static let page = 4_096

  /// Opens the file, and creates it if it is missing.
  ///
  /// - Parameter limit: the maximum size in bytes, not counting a log of at most 4 MiB; at least 16 pages.
  /// - Throws: `damaged` for a file that can be set aside; a file that never was a history is left alone.
  public convenience init(writing path: String, limit: Int) throws(HistoryError) {
    try Self.files { () throws(SystemError) in
      // Created here, so nobody else can read it; SQLite gives its log the same mode.
      let file = try Files.openToContinue(path, mode: 0o600)
      // A power failure may have left zeros.
      let start = try file.read(Self.magic.count)
      guard start.allSatisfy({ $0 == 0 }) || start == Self.magic else {
        throw SystemError("open", .invalidArgument, on: "\(path) (not a history)")
      }
    }
    try self.init(path, limit: limit)
    try run("PRAGMA page_size = \(Self.page)")
    try run("PRAGMA journal_mode = WAL")
    try run("PRAGMA synchronous = NORMAL")
    // So that a transaction needs the disk only when it is committed (`tryToAdd`).
    try run("PRAGMA cache_spill = OFF")
    try shrink()
    try run("PRAGMA max_page_count = \(pages)")
    // (Earlier versions named the app; their files demand values.)
    try run(
      """
      CREATE TABLE IF NOT EXISTS event (
        id INTEGER PRIMARY KEY, time INTEGER NOT NULL, life TEXT NOT NULL, seq INTEGER NOT NULL,
        app_id TEXT NOT NULL, app TEXT NOT NULL, line TEXT NOT NULL)
      """)
    try run("CREATE INDEX IF NOT EXISTS event_time ON event (time)")
  }

  /// Opens an existing file for reading.
  public convenience init(reading path: String) throws(HistoryError) {
    try Self.files { () throws(SystemError) in _ = try Files.open(path) }
    // Reading while the daemon writes requires the log's files.
    try self.init(path, limit: 0)
  }

  private init(_ path: String, limit: Int) throws(HistoryError) {
    var opened: OpaquePointer?
    // SQLite would refuse a link in the directory's path, too.
    let result = sqlite3_open_v2(
      Files.resolvingFolder(of: path), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, nil)
    guard let opened, result == SQLITE_OK else {
      let why = String(cString: sqlite3_errmsg(opened))
      sqlite3_close_v2(opened)
      throw .database("\(path): \(why)")
    }
    database = opened
    self.path = path
    self.limit = limit
    sqlite3_busy_timeout(database, 5_000)
  }

  deinit { sqlite3_close_v2(database) }

  /// Renames a damaged file and its log, replacing those of an earlier time, so that a new file can be opened.
  ///
  /// - Returns: the new path.
  public static func setAside(_ path: String) throws(HistoryError) -> String {
    let aside = path + ".bad"
    try files { () throws(SystemError) in
      for part in ["-wal", "-shm", ""] {
        try Files.remove(aside + part)
        if try Files.kind(of: path + part) != nil {
          try Files.rename(path + part, to: aside + part)
        }
      }
    }
    return aside
  }

  private static func files(_ body: () throws(SystemError) -> Void) throws(HistoryError) {
    do throws(SystemError) { try body() } catch { throw .system(error) }
  }

  /// The maximum number of pages.
  private var pages: Int { max(16, limit / Self.page) }

  /// The first bytes of every SQLite database.
  private static let magic = Array("SQLite format 3\0".utf8)

  // MARK: Writing

  /// Adds events, in one transaction unless they are too large together. If there is no room, the oldest events are
  /// removed.
  public func add(_ entries: [HistoryEntry]) throws(HistoryError) {
    let length = entries.reduce(0) { $0 + $1.line.count }
    guard length <= limit / 2 else {
      guard entries.count > 1 else {
        throw .database("\(path): an event of \(length) bytes is too long for a file of \(limit)")
      }
      let half = entries.count / 2
      try add(Array(entries[..<half]))
      return try add(Array(entries[half...]))
    }
    for _ in 0..<8 {
      if try tryToAdd(entries) { return }
      guard try removeOldest(atLeast: entries.count) else { break }
    }
    throw .database("\(path): there is no room for \(entries.count) events")
  }

  /// Returns whether there was room in the file. SQLite has the same error for a full disk, but only when it commits.
  private func tryToAdd(_ entries: [HistoryEntry]) throws(HistoryError) -> Bool {
    try run("BEGIN IMMEDIATE")
    var isInserted = false
    do throws(HistoryError) {
      let insert = try prepare("INSERT INTO event (time, life, seq, app_id, app, line) VALUES (?, ?, ?, '', '', ?)")
      defer { sqlite3_finalize(insert) }
      for entry in entries {
        sqlite3_bind_int64(insert, 1, entry.time.milliseconds)
        bind(insert, 2, Array(entry.life.utf8))
        sqlite3_bind_int64(insert, 3, Int64(truncatingIfNeeded: entry.seq))
        bind(insert, 4, entry.line)
        guard sqlite3_step(insert) == SQLITE_DONE else { throw failure() }
        sqlite3_reset(insert)
      }
      isInserted = true
      try run("COMMIT")
      return true
    } catch {
      let isFull = !isInserted && sqlite3_errcode(database) == SQLITE_FULL
      try? run("ROLLBACK")
      if isFull { return false }
      throw error
    }
  }

  /// Removes the oldest events: a tenth, but at least `count`; returns whether there were any.
  private func removeOldest(atLeast count: Int) throws(HistoryError) -> Bool {
    try run(
      """
      DELETE FROM event WHERE id IN
        (SELECT id FROM event ORDER BY id LIMIT (SELECT max(count(*) / 10, \(count)) FROM event))
      """)
    return sqlite3_changes(database) > 0
  }

  /// Makes the file as small as its limit, which may have been larger. If somebody else is using the file, it stays as
  /// large as it is until it is opened again.
  private func shrink() throws(HistoryError) {
    guard try number("page_count") > pages else { return }
    while try number("page_count") - number("freelist_count") > pages * 9 / 10,
      try removeOldest(atLeast: 1)
    {}
    do throws(HistoryError) {
      try run("VACUUM")
      try run("PRAGMA wal_checkpoint(TRUNCATE)")
    } catch { guard case .database = error else { throw error } }
  }

  /// Removes events older than this.
  public func remove(before time: WallTime) throws(HistoryError) {
    try run("DELETE FROM event WHERE time < \(time.milliseconds)")
  }

  // MARK: Reading

  /// The run and the number of the latest event; nil for none.
  public func latest() throws(HistoryError) -> (life: String, seq: UInt64)? {
    try rows("SELECT life, seq FROM event ORDER BY id DESC LIMIT 1") {
      let life = String(decoding: bytes($0, 0), as: UTF8.self)
      return (life: life, seq: UInt64(bitPattern: sqlite3_column_int64($0, 1)))
    }.first
  }

  /// Returns the lines of the next events after a place, 0 at the beginning, that are not older than this, in their
  /// original order; empty at the end.
  public func next(since time: WallTime?, after place: Int64) throws(HistoryError) -> [(place: Int64, line: [UInt8])] {
    try rows(
      """
      SELECT id, line FROM event
      WHERE id > \(place) AND time >= \(time?.milliseconds ?? 0) ORDER BY id LIMIT 500
      """
    ) { (place: sqlite3_column_int64($0, 0), line: bytes($0, 1)) }
  }

  // MARK: SQLite

  private func run(_ statement: String) throws(HistoryError) {
    guard sqlite3_exec(database, statement, nil, nil, nil) == SQLITE_OK else { throw failure() }
  }

  private func number(_ pragma: String) throws(HistoryError) -> Int {
    try rows("PRAGMA \(pragma)") { Int(clamping: sqlite3_column_int64($0, 0)) }.first ?? 0
  }

  /// What `read` makes of each row of a query.
  private func rows<Row>(_ query: String, _ read: (OpaquePointer) -> Row) throws(HistoryError) -> [Row] {
    let select = try prepare(query)
    defer { sqlite3_finalize(select) }
    var rows: [Row] = []
    while true {
      switch sqlite3_step(select) {
      case SQLITE_ROW: rows.append(read(select))
      case SQLITE_DONE: return rows
      default: throw failure()
      }
    }
  }

  private func prepare(_ statement: String) throws(HistoryError) -> OpaquePointer {
    var prepared: OpaquePointer?
    guard sqlite3_prepare_v2(database, statement, -1, &prepared, nil) == SQLITE_OK, let prepared
    else { throw failure() }
    return prepared
  }

  private func bind(_ statement: OpaquePointer, _ place: Int32, _ bytes: [UInt8]) {
    // An empty array may have no address, which would bind NULL.
    (bytes + [0]).withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) { text in
        _ = sqlite_bind_text(statement, place, text.baseAddress, Int32(clamping: bytes.count))
      }
    }
  }

  private func bytes(_ statement: OpaquePointer, _ column: Int32) -> [UInt8] {
    guard let start = sqlite3_column_text(statement, column) else { return [] }
    return Array(UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
  }

  private func failure() -> HistoryError {
    let why = "\(path): \(String(cString: sqlite3_errmsg(database)))"
    let isDamaged = [SQLITE_CORRUPT, SQLITE_NOTADB].contains(sqlite3_errcode(database))
    return isDamaged ? .damaged(why) : .database(why)
  }
}

extension WallTime {
  /// Milliseconds since 1970.
  fileprivate var milliseconds: Int64 { seconds * 1_000 + Int64(nanoseconds) / 1_000_000 }
}
