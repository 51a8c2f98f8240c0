// SPDX-License-Identifier: GPL-3.0-or-later
import JSON

/// The topics of a board (docs/mqtt.md, “Topics”).
public struct BoardTopics: Hashable, Sendable {
  /// The prefix of all topics.
  let prefix: String
  public let board: TopicName

  public init(prefix: String = "ancsd", board: TopicName) {
    self.prefix = prefix
    self.board = board
  }

  /// The last part of a phone's topic, after its name.
  enum PhoneTopic: String, CaseIterable, Sendable {
    case state, battery, media, call, counts
    case notificationEvent = "event/notification"
    case callEvent = "event/call"

    /// The states, which are retained, unlike the events.
    static let states: [PhoneTopic] = [.state, .battery, .media, .call, .counts]
  }

  /// The root of the board's topics.
  public var root: String { "\(prefix)/\(board)" }

  /// Whether the board is online: the topic of the will.
  var state: String { "\(root)/state" }
  var boardState: String { "\(root)/board" }
  var boardEvent: String { "\(root)/event" }

  /// What the broker publishes if the board disappears.
  public var will: Publication { .state(state, BoardPresence()) }

  func of(_ phone: TopicName, _ topic: PhoneTopic) -> String {
    "\(root)/phone/\(phone)/\(topic.rawValue)"
  }

  /// The levels of a topic below another one; nil if it is not below that.
  static func levels(of topic: String, below root: String) -> [String]? {
    guard topic.hasPrefix(root + "/") else { return nil }
    return topic.dropFirst(root.count + 1).split(separator: "/", omittingEmptySubsequences: false)
      .map(String.init)
  }

  /// The phone of one of these topics; nil if it is none.
  func phone(ofState topic: String) -> TopicName? {
    guard case (let name?, let levels)? = place(of: topic), levels.count == 1, PhoneTopic(rawValue: levels[0]) != nil
    else { return nil }
    return TopicName(name)
  }

  /// The phone that a topic of this board is about, or nil for the board itself, and the levels behind that.
  private func place(of topic: String) -> (phone: String?, levels: [String])? {
    guard let levels = Self.levels(of: topic, below: root) else { return nil }
    guard levels[0] == "phone", levels.count > 1 else { return (nil, levels) }
    return (levels[1], Array(levels[2...]))
  }

  // MARK: Requests

  /// The topic filters of a board's requests. A method may be several levels: RabbitMQ makes `/` of its `.`.
  public var requestFilters: [String] { ["\(root)/request/#", "\(root)/phone/+/request/#"] }

  /// The target of a request, from its topic.
  struct RequestTarget: Hashable {
    /// Nil: the board, or the only phone.
    var phone: TopicName?
    var method: String
  }

  /// Reads the topic of a request; nil for any other topic.
  func requestTarget(_ topic: String) -> RequestTarget? {
    guard let (name, levels) = place(of: topic), levels.first == "request", levels.count > 1, !levels.contains("")
    else { return nil }
    let phone = name.flatMap { TopicName($0) }
    if name != nil, phone == nil { return nil }
    return RequestTarget(phone: phone, method: levels.dropFirst().joined(separator: "."))
  }

  /// The topic of a request, as Home Assistant's buttons use it.
  func request(_ method: String, of phone: TopicName? = nil) -> String {
    "\(root(of: phone))/request/\(method)"
  }

  /// The maximum number of levels in the topic of a response. Brokers end the connection of a client that publishes to more
  /// than they take (mosquitto: 201).
  private static let mostLevels = 128

  /// Whether a response may be sent to a topic.
  ///
  /// - Parameter further: the first levels of further topics.
  func mayRespond(to topic: String, further: [String]) -> Bool {
    let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
    // (By their bytes: with an accent, a wildcard is another character, but still one to the broker.)
    guard !topic.utf8.contains(where: { [0x23, 0x2B, 0].contains($0) }), !levels.contains(""),
      levels.count <= Self.mostLevels
    else { return false }
    if further.contains(where: { topic.hasPrefix($0 + "/") }) { return true }
    guard let (_, rest) = place(of: topic) else { return false }
    return rest.first == "response" && rest.count > 1
  }

  /// Where a response goes if the request does not say.
  func response(to target: RequestTarget) -> String {
    "\(root(of: target.phone))/response/\(target.method)"
  }

  private func root(of phone: TopicName?) -> String { phone.map { "\(root)/phone/\($0)" } ?? root }

  // MARK: Home Assistant

  /// The topic that tells Home Assistant of a device. The board is a level of its own, so that a broker can confine
  /// each board to its own.
  ///
  /// - Parameters:
  ///   - discovery: what discovery topics begin with.
  ///   - device: `board`, or the id of a phone, which keeps its topic when its name changes.
  func discovery(under discovery: String, _ device: String) -> String {
    "\(discovery)/device/\(board)/\(device)/config"
  }

  /// Whether a topic tells Home Assistant of a device.
  static func isOfDevice(_ topic: String) -> Bool { topic.hasSuffix("/config") }

  /// Whether a topic is one of this board's, or of its and its phones' devices.
  func contain(_ topic: String, discovery: String?) -> Bool {
    topic.hasPrefix(root + "/")
      || discovery.map { topic.hasPrefix("\($0)/device/\(board)/") } ?? false
  }

  /// Whether a text can be the first levels of topics: no wildcard, no empty level, nothing that is not printed.
  public static func isPrefix(_ text: String) -> Bool {
    let levels = text.split(separator: "/", omittingEmptySubsequences: false)
    return (1...64).contains(text.utf8.count) && !text.hasPrefix("$")
      && levels.allSatisfy { level in
        !level.isEmpty
          && level.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x23 && $0 != 0x2B }
      }
  }
}

/// The name of a board or a phone in topics: 1 to 32 of the characters `a` to `z`, `0` to `9` and `-`, so it can be
/// one level of a topic and a part of Home Assistant's ids.
public struct TopicName: Hashable, Sendable, LosslessStringConvertible {
  public let description: String

  /// The maximum length in characters.
  static let longest = 32

  /// Nil if the text is not a valid name.
  public init?(_ text: String) {
    let isName = text.utf8.allSatisfy(Self.isPart) && (1...Self.longest).contains(text.utf8.count)
    guard isName else { return nil }
    description = text
  }

  /// Makes a name from any text: `Anna’s Küche` becomes `anna-s-k-che`. A text without such letters or digits becomes
  /// `fallback`.
  public init(from text: String, or fallback: TopicName) {
    let dash = UInt8(ascii: "-")
    // The first byte of a multi-byte character stands for all.
    let words = text.lowercased().utf8.filter { $0 & 0xC0 != 0x80 }
      .split { $0 == dash || !Self.isPart($0) }
    var bytes = Array(words.joined(separator: [dash])).prefix(Self.longest)
    if bytes.last == dash { bytes.removeLast() }
    self = TopicName(String(decoding: bytes, as: UTF8.self)) ?? fallback
  }

  /// A name that the program itself assigns.
  init(known text: StaticString) { description = text.description }

  private static func isPart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// A board whose host has no name. No phone may have this name, because it stands for the board next to the phones'
  /// names.
  public static let board = TopicName(known: "board")
  /// A phone without a configured name.
  static let phone = TopicName(known: "iphone")
}
