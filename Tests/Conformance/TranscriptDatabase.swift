// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import JSON
import Wire

/// A database as a file of transcripts describes it: what a server is to serve, or a client to find.
struct TranscriptDatabase: Sendable {
  struct Entry: Sendable {
    var handle: Handle
    var type: UUID
    var value: [UInt8]
    var permissions: Permissions
    /// `service`, `include`, `characteristic`, `value` or `descriptor`.
    var kind: String
    /// The last handle of a service.
    var end: Handle?
  }

  var entries: [Entry] = []

  init(_ json: JSONValue) throws(Transcript.Malformed) {
    for attribute in json["attributes"]?.array ?? [] {
      guard let handle = attribute.u16("handle"), let type = attribute["type"]?.string,
        let uuid = UUID(type), let value = attribute.octets("value")
      else { throw Transcript.Malformed(what: "attribute \(entries.count)") }
      entries.append(
        Entry(
          handle: handle, type: uuid, value: value,
          permissions: Permissions(bits: attribute["perm_bits"]?.int),
          kind: attribute["kind"]?.string ?? "", end: attribute.u16("group_end")))
    }
    entries.sort { $0.handle < $1.handle }
  }

  /// A database to serve.
  ///
  /// - Parameter subscribing: whether a Client Characteristic Configuration is one; else it is a
  ///   value like others, which takes what is written: the reference's tests check no lengths.
  func served(subscribing: Bool) throws -> AttributeDatabase {
    let database = AttributeDatabase()
    var rest = entries[...]
    while let first = rest.first {
      let count = 1 + rest.dropFirst().prefix { $0.kind != "service" }.count
      let attributes = rest.prefix(count).map { entry in
        Attribute(
          handle: entry.handle, type: entry.type, permissions: entry.permissions,
          content: subscribing && entry.type == GATTType.clientConfiguration
            ? .clientConfiguration : .stored(entry.value))
      }
      try database.add(attributes, end: first.end)
      rest = rest.dropFirst(count)
    }
    return database
  }

  /// What is discovered of it, as `Discovery.summary` writes it.
  var summary: [String] {
    entries.compactMap { entry in
      switch entry.kind {
      case "service":
        "\(hexadecimal(entry.handle)) service \(entry.value.hex) to \(hexadecimal(entry.end ?? 0))"
      case "include":
        // Of its value only where the service begins: an answer may tell another end (and the
        // reference's own does, for its small database).
        "\(hexadecimal(entry.handle)) include \(entry.value.prefix(2).hex)"
      case "characteristic": "\(hexadecimal(entry.handle)) characteristic \(entry.value.hex)"
      case "descriptor": "\(hexadecimal(entry.handle)) descriptor \(entry.type)"
      default: nil
      }
    }
  }
}

extension Permissions {
  /// The reference's bits: none is a declaration, which is readable; 0 is everything.
  fileprivate init(bits: Int64?) {
    guard let bits else {
      self = .readable
      return
    }
    guard bits != 0 else {
      self = .readableAndWritable
      return
    }
    func access(plain: Int64, encrypted: Int64, authenticated: Int64, secure: Int64) -> Access? {
      guard bits & (plain | encrypted | authenticated | secure) != 0 else { return nil }
      return Access(
        encryption: bits & encrypted != 0, authentication: bits & (authenticated | secure) != 0,
        authorization: bits & 0x40 != 0, keySize: bits & secure != 0 ? 16 : 0)
    }
    self.init(
      read: access(plain: 0x01, encrypted: 0x04, authenticated: 0x10, secure: 0x100),
      write: access(plain: 0x02, encrypted: 0x08, authenticated: 0x20, secure: 0x200))
  }
}
