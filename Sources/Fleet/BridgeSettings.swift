// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
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
  /// Nil: no discovery for Home Assistant.
  public private(set) var discovery: String? = "homeassistant"
  public private(set) var content = ContentPolicy()
  public private(set) var allowed = Permission.usual
  /// The first levels of further topics that responses may be sent to.
  public private(set) var responsePrefixes: [String] = []
  /// The categories whose notifications trigger Home Assistant's automations for a device.
  public private(set) var triggers: Set<Category> = []
  /// The page that Home Assistant links the board to.
  public private(set) var link: String?
  /// In seconds.
  public private(set) var maxAge: Int64 = 600
  public private(set) var includesPreExisting = false
  /// Whether text may cross a network without TLS.
  private var allowsPlainText = false
  /// The file with the key of the digests; nil: no digests.
  public private(set) var digestKeyFile: String?
  public private(set) var phones: [Address: TopicName] = [:]

  public init() {}

  /// Reads the table of one file; its settings override earlier ones, its rules are appended.
  public mutating func read(_ table: inout TableReader) {
    readBroker(&table)
    readFiles(&table)
    readTopics(&table)
    readPolicy(&table)
  }

  /// The conflict between the settings; nil if there is none.
  public var conflict: String? {
    guard let broker else {
      return "url is missing: the broker, as in url = \"mqtt://ha.lan\""
    }
    if (certificateFile == nil) != (keyFile == nil) {
      return "cert-file and key-file need each other: one is missing"
    }
    if passwordFile != nil, user == nil { return "password-file needs a user" }
    for taken in [prefix, discovery].compactMap({ $0 }) {
      if let own = responsePrefixes.first(where: { "\($0)/".hasPrefix(taken + "/") }) {
        return
          "response-prefixes: “\(own)” is below “\(taken)”, where clients read what boards say"
      }
      if let own = responsePrefixes.first(where: { "\(taken)/".hasPrefix($0 + "/") }) {
        return
          "response-prefixes: “\(taken)”, where clients read what boards say, is below “\(own)”"
      }
    }
    let sendsText = content.most > .app
    guard sendsText, !broker.isPrivate, !allowsPlainText else { return nil }
    return
      "content = \"\(content.most.name)\" would send text over the network unencrypted: "
      + "use mqtts://, or set plain-text = true"
  }

  /// The files that must exist, each with its key.
  public var files: [(key: String, path: String, isSecret: Bool)] {
    [
      ("password-file", passwordFile, true), ("ca-file", authorities, false),
      ("cert-file", certificateFile, false), ("key-file", keyFile, true),
      ("dedupe-key-file", digestKeyFile, true),
    ].compactMap { key, path, isSecret in path.map { (key, $0, isSecret) } }
  }

  // MARK: Keys

  private mutating func readBroker(_ table: inout TableReader) {
    if let url = table.value(
      "url", expected: BrokerAddress.forms, { $0.text.flatMap(BrokerAddress.init) })
    {
      broker = url
    }
    user = table.text("user") ?? user
  }

  private mutating func readFiles(_ table: inout TableReader) {
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
    if let text = table.value(
      "prefix", expected: levels, { $0.text.flatMap { BoardTopics.isPrefix($0) ? $0 : nil } })
    {
      prefix = text
    }
    if let choice = table.value(
      "discovery", expected: "\(levels), or false",
      { content -> String?? in
        if content.truth == false { return .some(nil) }
        return content.text.flatMap { BoardTopics.isPrefix($0) ? .some($0) : nil }
      })
    {
      discovery = choice
    }
    readPhones(&table)
  }

  private mutating func readPhones(_ table: inout TableReader) {
    let named = table.value(
      "phones", expected: "a table such as phones = { anna = \"C0:11:22:33:44:55\" }"
    ) { content -> [Address: TopicName]? in
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
    allowed = Set(names.compactMap { Permission(rawValue: $0) })
  }

  private mutating func readHome(_ table: inout TableReader) {
    if let names = table.list(
      "triggers", expected: "an array of categories (\(Category.names.joined(separator: ", ")))",
      { Category($0) })
    {
      triggers = Set(names)
    }
    link =
      table.value("link", expected: "the address of a page: http://… or https://…") { content in
        content.text.flatMap { text in
          let isPage = ["http://", "https://"].contains { text.hasPrefix($0) && text != $0 }
          return isPage && text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? text : nil
        }
      } ?? link
  }

  private mutating func readResponsePrefixes(_ table: inout TableReader) {
    responsePrefixes =
      table.list(
        "response-prefixes", expected: "an array of the first levels of topics, without # and +"
      ) { BoardTopics.isPrefix($0) ? $0 : nil } ?? responsePrefixes
  }

  private mutating func readPolicy(_ table: inout TableReader) {
    content.level = table.contentLevel("content") ?? content.level
    readPermissions(&table)
    readResponsePrefixes(&table)
    readHome(&table)
    maxAge = table.maxAge("max-age") ?? maxAge
    includesPreExisting = table.truth("preexisting") ?? includesPreExisting
    allowsPlainText = table.truth("plain-text") ?? allowsPlainText
    guard let rules = table.value("rule", expected: "written as [[mqtt.rule]]", { $0.array })
    else { return }
    for value in rules {
      var rule = TableReader(value)
      if let read = ContentPolicy.Rule(reading: &rule, rule.contentLevel("content")) {
        content.rules.append(read)
      }
      for fault in rule.finish() { table.fail(fault.position, fault.message) }
    }
  }
}

extension ContentPolicy.Rule {
  fileprivate init?(reading table: inout TableReader, _ level: ContentLevel?) {
    let apps = table.list(
      "app", expected: "a pattern of an app's identifier, or an array of them"
    ) { Glob($0) }
    let categories = table.list(
      "category",
      expected: "a category (\(Category.names.joined(separator: ", "))), or an array of them"
    ) { Category($0) }
    let phones = table.list("phone", expected: "a phone's name in topics, or an array of them") {
      TopicName($0)
    }
    if !table.has("content") { table.fail(of: "content", "this rule has no content") }
    guard let level else { return nil }
    self.init(
      apps: apps ?? [], categories: Set(categories ?? []), phones: Set(phones ?? []), level)
  }
}

/// The address of the broker.
public enum BrokerAddress: Hashable, Sendable, CustomStringConvertible {
  case tcp(host: String, port: UInt16)
  case tls(host: String, port: UInt16)
  case unix(path: String)

  static let forms =
    "the broker's address: mqtt://HOST[:PORT], mqtts://HOST[:PORT] (TLS) or unix:/PATH"

  public init?(_ text: String) {
    if text.hasPrefix("unix:/") {
      self = .unix(path: String(text.dropFirst("unix:".count)))
    } else if text.hasPrefix("mqtt://") {
      guard let (host, port) = Self.place(text.dropFirst("mqtt://".count), 1_883) else {
        return nil
      }
      self = .tcp(host: host, port: port)
    } else if text.hasPrefix("mqtts://") {
      guard let (host, port) = Self.place(text.dropFirst("mqtts://".count), 8_883) else {
        return nil
      }
      self = .tls(host: host, port: port)
    } else {
      return nil
    }
  }

  /// A host with or without a port; an address of IPv6 is in brackets.
  private static func place(_ text: Substring, _ usual: UInt16) -> (String, UInt16)? {
    var rest = text
    if rest.last == "/" { rest.removeLast() }
    let host: Substring
    if rest.first == "[", let end = rest.firstIndex(of: "]") {
      host = rest[rest.index(after: rest.startIndex)..<end]
      rest = rest[rest.index(after: end)...]
    } else {
      host = rest.prefix { $0 != ":" }
      rest = rest.dropFirst(host.count)
    }
    let isHost = host.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"@/?#[]".utf8.contains($0) }
    guard isHost, (1...253).contains(host.utf8.count) else { return nil }
    guard !rest.isEmpty else { return (String(host), usual) }
    guard rest.first == ":", let port = UInt16(rest.dropFirst()), port > 0 else { return nil }
    return (String(host), port)
  }

  /// Whether it is the same broker, perhaps with TLS, for which it has another port.
  public func isSameBroker(as other: BrokerAddress) -> Bool {
    switch (self, other) {
    case (.tcp(let host, _), .tls(let otherHost, _)), (.tls(let host, _), .tcp(let otherHost, _)):
      host == otherHost
    default: self == other
    }
  }

  /// Whether nobody on a network can eavesdrop.
  var isPrivate: Bool {
    switch self {
    case .tls, .unix: true
    case .tcp(let host, _): host == "localhost" || host == "::1" || host.isLoopback
    }
  }

  public var description: String {
    switch self {
    case .tcp(let host, let port): "mqtt://\(host.inBrackets):\(port)"
    case .tls(let host, let port): "mqtts://\(host.inBrackets):\(port)"
    case .unix(let path): "unix:\(path)"
    }
  }
}

extension String {
  fileprivate var inBrackets: String { contains(":") ? "[\(self)]" : self }

  /// Whether it is an address in 127.0.0.0/8, not a host name that begins like one.
  fileprivate var isLoopback: Bool {
    let parts = split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }
}
