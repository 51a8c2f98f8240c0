// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
public import Control
import JSON

/// How much of a phone's content leaves the board (docs/mqtt.md, “Privacy”).
public enum ContentLevel: String, CaseIterable, Comparable, Sendable {
  /// Nothing: notifications are only counted.
  case none
  /// App, category, flags, times and actions.
  case app
  /// The title and the subtitle too, and what is playing.
  case title
  /// Everything.
  case full

  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

  public static func < (one: ContentLevel, other: ContentLevel) -> Bool { one.rank < other.rank }

  /// What is sent, in words.
  public var sentence: String {
    switch self {
    case .none: "how many notifications there are, and whether something is playing"
    case .app: "apps, categories, flags, times and counts, without any text"
    case .title: "titles and what is playing, without messages"
    case .full: "the whole text of notifications, and what is playing"
    }
  }
}

/// Which content to publish for which notification: the first matching rule counts.
public struct ContentPolicy: Hashable, Sendable {
  public var level = ContentLevel.app
  public var rules: [Rule] = []

  /// A rule; its conditions must all hold.
  public struct Rule: Hashable, Sendable {
    /// Patterns of the app's identifier; none: any.
    public var apps: [Glob] = []
    /// None: any.
    public var categories: Set<Category> = []
    /// The phones that it applies to; empty: any.
    public var phones: Set<TopicName> = []
    public var level: ContentLevel

    func holds(app: String?, category: Category?, phone: TopicName?) -> Bool {
      if !phones.isEmpty, phone.map({ !phones.contains($0) }) ?? true { return false }
      if !categories.isEmpty, category.map({ !categories.contains($0) }) ?? true { return false }
      return apps.isEmpty || app.map { app in apps.contains { $0.matches(app) } } ?? false
    }
  }

  func level(app: String?, category: Category?, phone: TopicName?) -> ContentLevel {
    rules.first { $0.holds(app: app, category: category, phone: phone) }?.level ?? level
  }

  /// The highest level of any rule.
  public var most: ContentLevel { rules.map(\.level).reduce(level, max) }

  /// The level for a phone's media state: that of the first rule about it, whatever its app and category.
  func ofMedia(_ phone: TopicName?) -> ContentLevel {
    rules.first { $0.apps.isEmpty && $0.categories.isEmpty && $0.holds(app: nil, category: nil, phone: phone) }?.level
      ?? level
  }
}

/// The settings for mirroring a board.
public struct MirrorPolicy: Hashable, Sendable {
  /// Makes the digest of a notification, the same on all boards.
  public typealias Digest = ([UInt8]) -> String

  public var content = ContentPolicy()
  /// How many seconds an event is worth sending, and a broker keeps it for absent subscribers.
  public var expiry: UInt32 = 600
  /// Whether to publish events for notifications from before a session, and for repeated ones.
  public var includesPreExisting = false
  /// The prefix of Home Assistant's discovery topics; nil turns discovery off.
  public var discovery: String? = "homeassistant"
  public var allowed = Permission.usual
  /// The first levels of further topics that responses may be sent to.
  public var responsePrefixes: [String] = []
  /// The categories whose notifications trigger Home Assistant's automations for a device.
  public var triggers: Set<Category> = []
  /// The page that Home Assistant links the board to.
  public var link: String?
}

/// What the broker's clients may request (`allow` in the settings). Attributes, settings and the
/// timeline are never available to them.
public enum Permission: String, CaseIterable, Sendable {
  /// Control the player.
  case media
  /// Act on notifications: clear them, answer and decline calls.
  case act
  /// Read lists and the state.
  case read
  /// Open and close pairing.
  case pairing
  /// Remove a phone's bond.
  case forget

  /// The default permissions.
  public static let usual: Set<Permission> = [.media, .act, .read]
}

// MARK: - Withholding

/// The members of an object that leave the board. Members not named here never do, so nothing that a newer daemon adds
/// slips through.
struct Disclosure {
  /// The level from which on a member is published.
  private var levels: [String: ContentLevel] = [:]

  /// - Parameter members: the members that each level adds to those of the lower ones.
  private init(_ members: KeyValuePairs<ContentLevel, [String]>) {
    for (level, names) in members { for name in names { levels[name] = level } }
  }

  /// A notification, in an event or in a list.
  static let notification = Disclosure([
    .app: [
      "event", "seq", "time", "adapter", "phone", "change", "uid", "category", "category_count", "flags", "app_id",
      "app", "date", "date_utc", "positive", "negative", "truncated", "repeat", "urgent", "stale", "error", "digest",
    ], .title: ["title", "subtitle"], .full: ["message", "message_size"],
  ])

  static let player = Disclosure([.none: ["state", "volume"], .app: ["name", "rate", "elapsed"]])

  static let media = Disclosure([
    .none: ["player"], .app: ["queue", "commands", "as_of"], .title: ["track"],
  ])

  /// The object without withheld members, and their names.
  func apply(to object: JSONObject, _ level: ContentLevel) -> (object: JSONObject, withheld: [String]) {
    var (rest, withheld) = (JSONObject(), [String]())
    for (name, value) in object.members {
      if let least = levels[name], least <= level {
        rest.add(name, value)
      } else {
        withheld.append(name)
      }
    }
    return (rest, withheld)
  }
}

extension JSONObject {
  /// A notification as it leaves the board.
  func notification(_ level: ContentLevel) -> JSONObject {
    var (object, withheld) = Disclosure.notification.apply(to: self, level)
    // How long a text is says something about it.
    let truncated = object["truncated"]?.array?.filter {
      $0.string.map { !withheld.contains($0) } ?? false
    }
    object["truncated"] = truncated.flatMap { $0.isEmpty ? nil : .array($0) }
    object["error"] = object["error"].map { _ in "the phone has not sent everything" }
    if !withheld.isEmpty { object.add("withheld", .strings(withheld)) }
    return object
  }

  /// The media state as it leaves the board.
  func media(_ level: ContentLevel) -> JSONObject {
    // The state itself shows what has changed.
    var whole = self
    whole["changed"] = nil
    var (object, withheld) = Disclosure.media.apply(to: whole, level)
    if let player = object["player"]?.object {
      let (rest, names) = Disclosure.player.apply(to: player, level)
      object["player"] = .object(rest)
      withheld += names.map { "player.\($0)" }
    }
    if !withheld.isEmpty { object.add("withheld", .strings(withheld)) }
    return object
  }
}
