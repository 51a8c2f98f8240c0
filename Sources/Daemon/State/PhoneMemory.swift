// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
import ATT
import Control
public import GATT
public import JSON
import Wire

/// What is stored of a phone besides its keys. It may be lost without harm.
struct PhoneMemory: JSONObjectCodable, Hashable, Sendable {
  /// The handles of its services, valid while its Database Hash stays the same.
  var handles: HandleCache?
  /// The notifications that it has brought.
  var seen = SeenContents()
  /// What it has configured on the board's own server.
  var client = ClientState()

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    var version = FileVersion()
    var hash = handles.map { HexBytes($0.databaseHash) }
    var services = handles?.services
    var signatures = seen.order
    try json.required("version", &version)
    try json.optional("database_hash", &hash)
    try json.optional("services", &services)
    try json.required("client", &client)
    try json.list("seen", &signatures)
    guard M.isReading else { return }
    seen = SeenContents(signatures)
    handles = hash.flatMap { HandleCache(checking: $0.bytes, services ?? []) }
  }
}

extension HandleCache {
  /// Nil if the values are not valid.
  fileprivate init?(checking hash: [UInt8], _ services: [LocatedService]) {
    guard hash.count == 16, services.allSatisfy(\.service.range.isValid) else { return nil }
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
