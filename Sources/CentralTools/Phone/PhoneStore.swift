// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
public import JSON
import Mgmt
import System
import Wire

/// The virtual phone's own keys, and its bonds with accessories.
package struct PhoneKeys: JSONObjectCodable, Hashable, Sendable {
  /// Resolves the phone's private addresses; its accessories have it too.
  var identityResolvingKey = SecretKey(.random(in: 0...UInt64.max), .random(in: 0...UInt64.max))
  /// The address for an adapter that has none.
  var staticAddress = Address.static(from: .random(in: 0...UInt64.max))
  /// The accessories.
  var bonds: [Bond] = []

  package init() {}

  package mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    var version = FileVersion()
    try json.required("version", &version)
    try json.required("identity_resolving_key", &identityResolvingKey)
    try json.required("static_address", &staticAddress)
    try json.list("accessories", &bonds)
  }
}

extension SecretKey: JSONCodable {
  public static let jsonKind = "a key of 16 bytes in hexadecimal digits"
  public func write(to json: inout JSONWriter) { json.string(bytes.hex) }
  public init?(json: JSONValue) {
    guard let key = json.string.flatMap({ [UInt8](hex: $0) }).flatMap({ SecretKey($0) }) else {
      return nil
    }
    self = key
  }
}

/// The file that keeps a virtual phone's keys, one for each adapter: `DIRECTORY/ADAPTER.json`.
struct PhoneStore: Sendable {
  /// Next to the daemon's files.
  static let usualDirectory = DefaultPaths.stateDirectory + "/phone"

  let path: String

  init(directory: String, adapter: Address) { path = "\(directory)/\(adapter.folder).json" }

  /// The saved keys; nil if there is none.
  func load() throws(Failure) -> PhoneKeys? {
    let bytes: [UInt8]
    do throws(SystemError) {
      guard try Files.kind(of: path) != nil else { return nil }
      bytes = try Files.readPrivate(path, limit: 1 << 20)
    } catch {
      throw Failure(ExitStatus(error.errno, otherwise: .noInput), "reading \(path)", "\(error)")
    }
    return try attempt(try PhoneKeys(reading: JSONValue(parsing: bytes))) { (error: JSONError) in
      Failure(
        .noInput, "reading \(path)", "it can't be used: \(error)",
        remedy: "move it away to start as a new phone")
    }
  }

  /// Saves the keys.
  func save(_ keys: PhoneKeys) throws(Failure) {
    do throws(SystemError) {
      if let directory = Files.parent(of: path) { try Files.makeDirectory(directory, mode: 0o700) }
      try AtomicFile.save(keys.json + [UInt8(ascii: "\n")], to: path)
    } catch {
      throw Failure(ExitStatus(error.errno, otherwise: .cannotCreate), "saving \(path)", "\(error)")
    }
  }
}
