// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import JSON
import Wire

/// A database of a file of transcripts, for a server to serve or a client to discover.
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
    /// The maximum length of a written value.
    var maximumLength = Client.longestValue
    /// The error with which the service itself answers a read or a write.
    var readError: ErrorCode?
    var writeError: ErrorCode?
  }

  var entries: [Entry] = []
  /// Whether the attributes that the server itself implements work; otherwise they are plain values.
  var isLive: Bool

  init(_ json: JSONValue) throws(Transcript.Malformed) {
    isLive = json["live"]?.bool == true
    guard let attributes = json["attributes"]?.array else {
      throw Transcript.Malformed(what: "list of attributes")
    }
    for attribute in attributes {
      guard let handle = attribute.u16("handle"), let type = attribute["type"]?.string,
        let uuid = UUID(type), let value = attribute.octets("value")
      else { throw Transcript.Malformed(what: "attribute \(entries.count)") }
      entries.append(
        Entry(
          handle: handle, type: uuid, value: value,
          permissions: Permissions(bits: attribute["perm_bits"]?.int, keySize: attribute["key_size"]?.int),
          kind: attribute["kind"]?.string ?? "", end: attribute.u16("group_end"),
          maximumLength: attribute.u16("max_length").map(Int.init) ?? Client.longestValue,
          readError: attribute.errorCode("read_error"),
          writeError: attribute.errorCode("write_error")))
    }
    entries.sort { $0.handle < $1.handle }
  }

  /// Adds all services to a server's database.
  ///
  /// - Parameter subscribing: whether CCCDs work even if the database is not live: the reference's tests
  ///   check no lengths there.
  func add(to database: AttributeDatabase, subscribing: Bool) throws {
    var rest = entries[...]
    while let first = rest.first {
      let count = 1 + rest.dropFirst().prefix { $0.kind != "service" }.count
      let attributes = rest.prefix(count).map { entry in
        Attribute(
          handle: entry.handle, type: entry.type, permissions: entry.permissions,
          content: content(of: entry, subscribing: subscribing), maximumLength: entry.maximumLength)
      }
      try database.add(attributes, end: first.end)
      rest = rest.dropFirst(count)
    }
  }

  private func content(of entry: Entry, subscribing: Bool) -> Attribute.Content {
    if entry.type == .clientConfiguration, subscribing || isLive { return .clientConfiguration }
    if entry.readError != nil || entry.writeError != nil {
      return .handled(
        read: { (_) throws(ErrorCode) in
          if let error = entry.readError { throw error }
          return entry.value
        }, write: { (_, _) throws(ErrorCode) in if let error = entry.writeError { throw error } })
    }
    let standard = StandardServices.genericAttribute().characteristics
    guard isLive, let known = standard.first(where: { $0.uuid == entry.type }) else {
      return .stored(entry.value)
    }
    return known.value
  }

  /// The expected discovery, in the form of `Discovery.summary`.
  var summary: [String] {
    entries.compactMap { entry in
      switch entry.kind {
      case "service":
        "\(hexadecimal(entry.handle)) service \(entry.value.hex) to \(hexadecimal(entry.end ?? 0))"
      case "include":
        // Of the service's range only its start: a response may have another end, as the reference's
        // does for its small database.
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
  fileprivate init(bits: Int64?, keySize: Int64?) {
    let least = keySize.flatMap { Int(exactly: $0) } ?? 0
    guard let bits else {
      self = .readable
      return
    }
    guard bits != 0 else {
      self = Permissions(read: .open, write: .open)
      return
    }
    func access(plain: Int64, encrypted: Int64, authenticated: Int64, secure: Int64) -> Access? {
      guard bits & (plain | encrypted | authenticated | secure) != 0 else { return nil }
      return Access(
        encryption: bits & encrypted != 0, authentication: bits & (authenticated | secure) != 0,
        authorization: bits & 0x40 != 0, keySize: bits & secure != 0 ? 16 : least)
    }
    self.init(
      read: access(plain: 0x01, encrypted: 0x04, authenticated: 0x10, secure: 0x100),
      write: access(plain: 0x02, encrypted: 0x08, authenticated: 0x20, secure: 0x200))
  }
}

extension JSONValue {
  fileprivate func errorCode(_ name: String) -> ErrorCode? {
    self[name]?.int.flatMap { UInt8(exactly: $0) }.map { ErrorCode($0) }
  }
}
