// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
public import GATT
public import JSON
import ATT
import Control

/// The handles of a phone's services in an earlier session, to be verified before use (`HandleTrust`).
package struct HandleCache: Hashable, Sendable {
  /// The sixteen octets of the Database Hash characteristic that they belong to; nil: it was not read.
  package var databaseHash: [UInt8]?
  /// The services that were located.
  package var services: [LocatedService]

  package init(databaseHash: [UInt8]?, services: [LocatedService]) {
    self.databaseHash = databaseHash
    self.services = services
  }
}

/// The stored data about a phone besides its keys, whose loss is harmless.
package struct PhoneCache: JSONObjectCodable, Hashable, Sendable {
  package var name: String?
  /// When it was last connected, in seconds since 1970 (UTC).
  package var lastSeen: Int64?
  /// The last handles of its services.
  package var handles: HandleCache?
  /// The notifications that it has sent.
  package var seen = SeenContents()
  /// Its configuration of the board's own server.
  package var client = ClientState()
  /// Its local time minus UTC in seconds.
  package var zone: Int?
  /// How many of its last links have ended before the board had subscribed (`Bond.strikes`).
  package var strikes: Int?

  package init() {}

  package mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    var version = FileVersion()
    var hash = handles?.databaseHash.map { HexBytes($0) }
    var services = handles?.services
    var signatures = seen.order
    try json.required("version", &version)
    try json.optional("name", &name)
    try json.optional("last_seen", &lastSeen)
    try json.optional("database_hash", &hash)
    try json.optional("services", &services)
    try json.required("client", &client)
    try json.list("seen", &signatures)
    try json.optional("zone", &zone)
    try json.optional("strikes", &strikes)
    guard M.isReading else { return }
    seen = SeenContents(signatures)
    handles = HandleCache(checking: hash?.bytes, services ?? [])
  }
}

extension HandleCache {
  /// Nil if there are none, or if the values are not valid.
  fileprivate init?(checking hash: [UInt8]?, _ services: [LocatedService]) {
    guard !services.isEmpty, hash.map({ $0.count == 16 }) ?? true,
      services.allSatisfy(\.service.range.isValid)
    else { return nil }
    self.init(databaseHash: hash, services: services)
  }
}

/// A signature as hexadecimal digits.
extension ContentSignature: JSONCodable {
  public static let jsonKind = "a signature"
  public func write(to json: inout JSONWriter) { json.string(String(rawValue, radix: 16)) }
  public init?(json: JSONValue) {
    guard let value = json.string.flatMap({ UInt64($0, radix: 16) }) else { return nil }
    self.init(rawValue: value)
  }
}

extension ClientState: JSONObjectCodable {
  public init() { self.init(features: []) }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    var bits = features.rawValue
    var hash = databaseHash.map { HexBytes($0) }
    var entries = configurations.sorted { $0.key < $1.key }
      .map { Configuration(handle: $0.key, value: $0.value.rawValue) }
    try json.required("features", &bits)
    try json.optional("database_hash", &hash)
    try json.list("configurations", &entries)
    guard M.isReading else { return }
    features = ClientFeatures(rawValue: bits)
    databaseHash = hash?.bytes
    configurations = [:]
    for entry in entries { configurations[entry.handle] = .init(rawValue: entry.value) }
  }

  private struct Configuration: JSONObjectCodable {
    var handle: Handle = 0
    var value: UInt16 = 0

    mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
      try json.required("handle", &handle)
      try json.required("value", &value)
    }
  }
}
