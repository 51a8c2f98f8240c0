// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
public import TOML
public import Wire

/// The table `[mqtt]` of the settings files (docs/mqtt.md, “Settings”).
public struct BridgeSettings: Hashable, Sendable {
  /// The name of its table.
  public static let table = "mqtt"

  /// Nil if not set.
  public private(set) var broker: BrokerAddress?
  public var user: String?
  public var passwordFile: String?
  /// The trusted certificates, a file or a directory; nil: the system's.
  public var authorities: String?
  /// This board's own certificate, and its key.
  public private(set) var certificateFile: String?
  public private(set) var keyFile: String?
  /// Nil: derived from the host name.
  public private(set) var board: TopicName?
  public private(set) var prefix = "ancsd"
  public private(set) var policy = MirrorPolicy()
  /// Whether text may cross a network without TLS.
  private var allowsPlainText = false
  /// The file with the key of the digests; nil: no digests.
  public private(set) var digestKeyFile: String?
  public private(set) var phones: [Address: TopicName] = [:]

  public init() {}

  /// Reads the table of one file; its settings override earlier ones, its rules are appended.
  public mutating func read(_ table: inout TableReader) {
    readBroker(&table)
    readTopics(&table)
    readPolicy(&table)
  }

  /// The conflict between the settings; nil if there is none.
  public var conflict: String? {
    guard let broker else { return "url is missing: the broker, as in url = \"mqtt://ha.lan\"" }
    if (certificateFile == nil) != (keyFile == nil) {
      return "cert-file and key-file need each other: one is missing"
    }
    if passwordFile != nil, user == nil { return "password-file needs a user" }
    for taken in [prefix, policy.discovery].compactMap({ $0 }) {
      if let responses = policy.responsePrefixes.first(where: { "\($0)/".hasPrefix(taken + "/") }) {
        return "response-prefixes: “\(responses)” is below “\(taken)”, where clients read what boards say"
      }
      if let responses = policy.responsePrefixes.first(where: { "\(taken)/".hasPrefix($0 + "/") }) {
        return "response-prefixes: “\(taken)”, where clients read what boards say, is below “\(responses)”"
      }
    }
    let most = policy.content.most
    guard most > .app, !broker.isPrivate, !allowsPlainText else { return nil }
    return "content = \"\(most.rawValue)\" would send text over the network unencrypted: "
      + "use mqtts://, or set plain-text = true"
  }

  /// The files that must exist, each with its key.
  public var files: [(key: String, path: String, isSecret: Bool)] {
    [
      ("password-file", passwordFile, true), ("ca-file", authorities, false), ("cert-file", certificateFile, false),
      ("key-file", keyFile, true), ("dedupe-key-file", digestKeyFile, true),
    ].compactMap { key, path, isSecret in path.map { (key, $0, isSecret) } }
  }

  // MARK: Keys

  private mutating func readBroker(_ table: inout TableReader) {
    broker = table.value("url", expected: BrokerAddress.forms) { $0.text.flatMap(BrokerAddress.init) } ?? broker
    user = table.text("user") ?? user
    passwordFile = table.absolutePath("password-file") ?? passwordFile
    authorities = table.absolutePath("ca-file") ?? authorities
    certificateFile = table.absolutePath("cert-file") ?? certificateFile
    keyFile = table.absolutePath("key-file") ?? keyFile
    digestKeyFile = table.absolutePath("dedupe-key-file") ?? digestKeyFile
  }

  private mutating func readTopics(_ table: inout TableReader) {
    let name = "a name of up to \(TopicName.longest) small letters, digits and “-”"
    board = table.value("board", expected: name) { $0.text.flatMap { TopicName($0) } } ?? board
    let levels = "the first levels of a topic, without # and +"
    func prefix(_ content: TOMLValue.Content) -> String? {
      content.text.flatMap { BoardTopics.isPrefix($0) ? $0 : nil }
    }
    self.prefix = table.value("prefix", expected: levels, prefix) ?? self.prefix
    policy.discovery =
      table.value("discovery", expected: "\(levels), or false") { content -> String?? in
        content.truth == false ? .some(nil) : prefix(content).map(Optional.some)
      } ?? policy.discovery
    readPhones(&table)
  }

  private mutating func readPhones(_ table: inout TableReader) {
    let named = table.value("phones", expected: "a table such as phones = { anna = \"C0:11:22:33:44:55\" }") {
      content -> [Address: TopicName]? in
      guard case .table(let entries) = content else { return nil }
      var phones: [Address: TopicName] = [:]
      for entry in entries {
        guard let name = TopicName(entry.key), name != .board,
          let address = entry.value.content.text.flatMap({ Address($0) }),
          phones.updateValue(name, forKey: address) == nil
        else { return nil }
      }
      return phones
    }
    guard let named else { return }
    let taken = Set(named.values)
    phones = phones.filter { !taken.contains($0.value) }
    phones.merge(named) { $1 }
  }

  private mutating func readPermissions(_ table: inout TableReader) {
    let permissions = Permission.allCases.map(\.rawValue).joined(separator: ", ")
    guard let names = table.list("allow", expected: "an array of \(permissions)", { $0 }) else {
      return
    }
    for name in names where Permission(rawValue: name) == nil {
      table.fail(of: "allow", "“\(name)” can't be allowed: choose from \(permissions)")
    }
    policy.allowed = Set(names.compactMap { Permission(rawValue: $0) })
  }

  private mutating func readHome(_ table: inout TableReader) {
    let categories = Category.names.joined(separator: ", ")
    policy.triggers =
      table.list("triggers", expected: "an array of categories (\(categories))") { Category($0) }
      .map { Set($0) } ?? policy.triggers
    policy.link =
      table.value("link", expected: "the address of a page: http://… or https://…") { content in
        content.text.flatMap { text in
          let isPage = ["http://", "https://"].contains { text.hasPrefix($0) && text != $0 }
          return isPage && text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? text : nil
        }
      } ?? policy.link
  }

  private mutating func readPolicy(_ table: inout TableReader) {
    policy.content.level = table.contentLevel("content") ?? policy.content.level
    readPermissions(&table)
    policy.responsePrefixes =
      table.list(
        "response-prefixes", expected: "an array of the first levels of topics, without # and +"
      ) { BoardTopics.isPrefix($0) ? $0 : nil } ?? policy.responsePrefixes
    readHome(&table)
    policy.expiry = table.maxAge("max-age") ?? policy.expiry
    policy.includesPreExisting = table.truth("preexisting") ?? policy.includesPreExisting
    allowsPlainText = table.truth("plain-text") ?? allowsPlainText
    guard let rules = table.value("rule", expected: "written as [[mqtt.rule]]", { $0.array })
    else { return }
    for value in rules {
      var rule = TableReader(value)
      if let read = ContentPolicy.Rule(reading: &rule) { policy.content.rules.append(read) }
      for fault in rule.finish() { table.fail(fault.position, fault.message) }
    }
  }
}

extension ContentPolicy.Rule {
  fileprivate init?(reading table: inout TableReader) {
    let level = table.contentLevel("content")
    (apps, categories) = (table.apps(), table.categories())
    phones = Set(
      table.alternatives("phone", expected: "a phone's name in topics, or an array of them") { TopicName($0) })
    if !table.has("content") { table.fail(of: "content", "this rule has no content") }
    guard let level else { return nil }
    self.level = level
  }
}

/// The address of the broker.
public struct BrokerAddress: Hashable, Sendable, CustomStringConvertible {
  /// By what the address begins with.
  public enum Transport: String, CaseIterable, Sendable {
    case tcp = "mqtt://"
    case tls = "mqtts://"
    case unix = "unix:/"
  }

  public let transport: Transport
  /// The host, or the path of the socket.
  public let place: String
  /// 0 for a socket.
  public let port: UInt16

  static let forms = "the broker's address: mqtt://HOST[:PORT], mqtts://HOST[:PORT] (TLS) or unix:/PATH"

  /// The longest path of a socket, in bytes (unix(7)).
  private static let longestPath = 107

  public init?(_ text: String) {
    guard let transport = Transport.allCases.first(where: { text.hasPrefix($0.rawValue) }) else {
      return nil
    }
    self.transport = transport
    var rest = text.dropFirst(transport.rawValue.count)
    if transport == .unix {
      (place, port) = ("/\(rest)", 0)
      guard place.utf8.count <= Self.longestPath else { return nil }
      return
    }
    if rest.last == "/" { rest.removeLast() }
    // An address of IPv6 is in brackets.
    if rest.first == "[", let end = rest.firstIndex(of: "]") {
      place = String(rest[..<end].dropFirst())
      rest = rest[end...].dropFirst()
    } else {
      place = String(rest.prefix { $0 != ":" })
      rest = rest.dropFirst(place.count)
    }
    let host = place.utf8
    let isHost = host.allSatisfy { (0x21...0x7E).contains($0) && !"@/?#[]".utf8.contains($0) }
    guard isHost, (1...253).contains(host.count) else { return nil }
    let usual: UInt16 = transport == .tls ? 8_883 : 1_883
    guard let port = rest.isEmpty ? usual : UInt16(digits: rest.dropFirst()), port > 0,
      [":", nil].contains(rest.first)
    else { return nil }
    self.port = port
  }

  /// Whether it is the same broker, perhaps with TLS, for which it has another port.
  public func isSameBroker(as other: BrokerAddress) -> Bool {
    let transports: Set = [transport, other.transport]
    return self == other || transports == [.tcp, .tls] && place == other.place
  }

  /// Whether nobody on a network can eavesdrop.
  var isPrivate: Bool {
    transport != .tcp || ["localhost", "::1"].contains(place) || place.isLoopback
  }

  public var description: String {
    if transport == .unix { return "unix:\(place)" }
    let host = place.contains(":") ? "[\(place)]" : place
    return "\(transport.rawValue)\(host):\(port)"
  }
}

extension String {
  /// Whether it is an address in 127.0.0.0/8, not a host name that begins like one.
  fileprivate var isLoopback: Bool {
    let parts = split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8(digits: $0) != nil }
  }
}
