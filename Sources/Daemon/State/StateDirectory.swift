// SPDX-License-Identifier: GPL-3.0-or-later
import JSON
import System

/// The directory that outlives the daemon: bonds and caches, one small JSON file each.
///
///     STATE/ADAPTER/PHONE.bond.json    the keys: written when a phone pairs
///     STATE/ADAPTER/PHONE.cache.json   handles and what was seen: may be lost without harm
///
/// A file that can't be used is set aside under another name and never overwritten; a file is replaced
/// whole or not at all, so that a full disk loses nothing that was saved.
public struct StateDirectory: Sendable {
  public let path: String
  let log: Log

  public init(_ path: String, log: Log) {
    self.path = path
    self.log = log
  }

  /// Makes the directory where it is missing, for its owner alone (0700).
  public func prepare() throws(SystemError) {
    try Files.makeDirectory(path, mode: 0o700)
    try Files.setMode(path, 0o700)
  }

  /// The files in the folder `name` that end with `suffix`; none where there is no such folder.
  func files(in folder: String, suffix: String) -> [String] {
    do {
      guard try Files.kind(of: "\(path)/\(folder)") == .directory else { return [] }
      return try Files.names(in: "\(path)/\(folder)").filter { $0.hasSuffix(suffix) }.sorted()
    } catch {
      log.error("\(error)")
      return []
    }
  }

  /// Reads a file with `read`; one that can't be used is set aside, with a line that says so.
  func load<Value>(
    _ file: String, _ read: (JSONValue) throws(ShapeError) -> Value
  ) -> Value? {
    let full = "\(path)/\(file)"
    let bytes: [UInt8]
    do {
      guard try Files.kind(of: full) != nil else { return nil }
      bytes = try Files.read(full, limit: 1 << 20)
    } catch {
      log.error("\(error)")
      return nil
    }
    let why: String
    do {
      let value = try JSONValue(parsing: bytes)
      do {
        return try read(value)
      } catch {
        why = "\(error)"
      }
    } catch {
      why = "\(error)"
    }
    setAside(full, why)
    return nil
  }

  private func setAside(_ full: String, _ why: String) {
    do {
      let aside = try AtomicFile.setAside(full)
      log.error("\(full) can't be used: \(why); it is now \(aside), and a new one will be begun")
    } catch {
      log.error("\(full) can't be used: \(why); it can't be set aside either: \(error)")
    }
  }

  /// Puts a file in place of the one that is there, on the disk before this returns.
  func save(_ value: JSONValue, to file: String) throws(SystemError) {
    let full = "\(path)/\(file)"
    if let parent = Files.parent(of: full) { try Files.makeDirectory(parent, mode: 0o700) }
    try AtomicFile.save(value.utf8 + [UInt8(ascii: "\n")], to: full, mode: 0o600)
  }

  /// Removes a file, if it is there.
  func remove(_ file: String) throws(SystemError) {
    try Files.remove("\(path)/\(file)")
  }
}
