// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import JSON
import System

/// The state directory: bonds and caches, one small JSON file each.
///
///     STATE/ADAPTER/TYPE-PHONE.bond.json    the keys: written when a phone pairs
///     STATE/ADAPTER/TYPE-PHONE.cache.json   name, handles and seen notifications: may be lost without harm
///
/// TYPE is `public` or `random`: the two kinds of addresses overlap.
///
/// An unusable file is renamed and never overwritten. Files are replaced atomically, so a full disk loses no saved
/// data.
@LoopActor package struct StateDirectory {
  package let path: String
  let files: any FileSystem
  let log: Log

  package init(_ path: String, _ files: any FileSystem, _ log: Log) {
    self.path = path
    self.files = files
    self.log = log
  }

  /// Claims the directory for this daemon alone while the returned object lives.
  package func claim() throws(Failure) -> any Sendable {
    do throws(PrivateDirectory.Fault) {
      return try files.claim(path)
    } catch {
      // A bond that can't be saved would be lost here but kept on the phone, which then can't pair again.
      throw Failure(in: path, error)
    }
  }

  /// The names in `folder`, sorted; none if there is no such folder. A failure to list it is logged.
  func names(in folder: String = "") throws(SystemError) -> [String] {
    let folder = folder.isEmpty ? path : "\(path)/\(folder)"
    do throws(SystemError) {
      return try files.exists(folder) ? try files.names(in: folder).sorted() : []
    } catch {
      log.error("\(error)")
      throw error
    }
  }

  /// Whether a file may exist.
  func mayHave(_ file: String) -> Bool { (try? files.exists("\(path)/\(file)")) ?? true }

  /// Why an existing file is unusable.
  enum Unusable: Error {
    /// It can't be read now.
    case now
    /// It is damaged, or from a later version of this program.
    case ever
  }

  /// Reads a file; nil if there is no usable one.
  func load<Value: JSONCodable>(_ file: String) -> Value? { (try? read(file)) ?? nil }

  /// Reads a file; nil if there is none. An unusable one is logged. It is renamed if damaged, but not if it can't be
  /// read now or is from a later version of this program.
  func read<Value: JSONCodable>(_ file: String) throws(Unusable) -> Value? {
    let full = "\(path)/\(file)"
    let bytes: [UInt8]
    do {
      guard try files.exists(full) else { return nil }
      bytes = try files.read(full, limit: 1 << 20)
    } catch {
      log.error("\(error)")
      throw .now
    }
    switch StoredFile<Value>(bytes) {
    case .value(let value): return value
    case .later:
      log.error(
        "\(full) is from a later version of this program: it is not used, and stays unchanged")
    case .damaged(let why): setAside(full, why)
    }
    throw .ever
  }

  private func setAside(_ full: String, _ why: String) {
    do {
      let aside = try files.setAside(full)
      log.error("\(full) can't be used: \(why); renamed it to \(aside); starting a new one")
    } catch { log.error("\(full) can't be used: \(why); it can't be renamed either: \(error)") }
  }

  /// Replaces a file atomically; it is on the disk before this returns.
  func save(_ value: some JSONCodable, to file: String) throws(SystemError) {
    let full = "\(path)/\(file)"
    if let parent = Files.parent(of: full) { try files.makeDirectory(parent, mode: 0o700) }
    try files.save(value.json + [UInt8(ascii: "\n")], to: full, mode: 0o600)
  }

  /// Removes a file if it exists.
  func remove(_ file: String) throws(SystemError) { try files.remove("\(path)/\(file)") }

  /// Logs a failure to save something whose loss is harmless.
  func report(_ what: String, _ error: SystemError) {
    log.warning("\(what) could not be saved: \(error)")
  }
}
