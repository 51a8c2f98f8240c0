// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import JSON
import System

/// The state directory: bonds and caches, one small JSON file each.
///
///     STATE/ADAPTER/TYPE-PHONE.bond.json    the keys: written when a phone pairs
///     STATE/ADAPTER/TYPE-PHONE.cache.json   name, handles and what was seen: may be lost without harm
///
/// TYPE is `public` or `random`: the two kinds of addresses overlap.
///
/// An unusable file is renamed and never overwritten. A file is replaced atomically, so that a full
/// disk loses nothing that was saved.
@LoopActor package struct StateDirectory {
  package let path: String
  let files: any FileSystem
  let log: Log

  package init(_ path: String, _ files: any FileSystem, _ log: Log) {
    self.path = path
    self.files = files
    self.log = log
  }

  /// Takes the directory for this daemon alone, for as long as the returned object lives.
  package func claim() throws(Failure) -> any Sendable {
    do throws(PrivateDirectory.Fault) {
      return try files.claim(path)
    } catch {
      // A bond that can't be saved would be lost here and kept on the phone, which then can't pair again.
      throw Failure(in: path, error)
    }
  }

  /// The names in `folder`, sorted; none if there is no such folder. That it can't be listed is logged.
  func names(in folder: String = "") throws(SystemError) -> [String] {
    let folder = folder.isEmpty ? path : "\(path)/\(folder)"
    do throws(SystemError) {
      return try files.exists(folder) ? try files.names(in: folder).sorted() : []
    } catch {
      log.error("\(error)")
      throw error
    }
  }

  /// Whether a file is there, as far as can be seen.
  func mayHave(_ file: String) -> Bool { (try? files.exists("\(path)/\(file)")) ?? true }

  /// Why a file that is there is of no use.
  enum Unusable: Error {
    /// It can't be read now.
    case now
    /// It is damaged, or of a later version of this program.
    case ever
  }

  /// Reads a file; nil if there is none, or none that can be used.
  func load<Value: JSONCodable>(_ file: String, as type: Value.Type = Value.self) -> Value? {
    (try? read(file, as: type)) ?? nil
  }

  /// Reads a file; nil if there is none. One that can't be used is logged. It is renamed if it is damaged, but
  /// not if it can't be read now or a later version of this program has written it.
  func read<Value: JSONCodable>(
    _ file: String, as type: Value.Type = Value.self
  ) throws(Unusable) -> Value? {
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
      log.error("\(full) can't be used: \(why); renamed it to \(aside), and starting a new one")
    } catch {
      log.error("\(full) can't be used: \(why); it can't be renamed either: \(error)")
    }
  }

  /// Replaces a file atomically; it is on the disk before this returns.
  func save(_ value: some JSONCodable, to file: String) throws(SystemError) {
    let full = "\(path)/\(file)"
    if let parent = Files.parent(of: full) { try files.makeDirectory(parent, mode: 0o700) }
    try files.save(value.json + [UInt8(ascii: "\n")], to: full, mode: 0o600)
  }

  /// Removes a file if it exists.
  func remove(_ file: String) throws(SystemError) { try files.remove("\(path)/\(file)") }

  /// Logs that something could not be saved, where the loss does no harm.
  func report(_ what: String, _ error: SystemError) {
    log.warning("\(what) could not be saved: \(error)")
  }
}
