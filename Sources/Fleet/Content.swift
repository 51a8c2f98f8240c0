// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
public import Control
import JSON

/// How much of what a phone shows leaves the board (docs/mqtt.md, “Privacy”).
public enum ContentLevel: Int, CaseIterable, Comparable, Sendable {
  /// Nothing of it: a notification is only counted.
  case none
  /// Which app, the category, the flags, times and actions.
  case app
  /// The title and the subtitle too, and what is playing.
  case title
  /// Everything.
  case full

  public static let names = ["none", "app", "title", "full"]

  public init?(name: String) {
    guard let number = Self.names.firstIndex(of: name) else { return nil }
    self.init(rawValue: number)
  }

  public var name: String { Self.names[rawValue] }

  public static func < (one: ContentLevel, other: ContentLevel) -> Bool {
    one.rawValue < other.rawValue
  }

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

/// Which content is told of which notification: the first rule that it meets counts.
public struct ContentPolicy: Hashable, Sendable {
  public var level: ContentLevel
  public var rules: [Rule] = []

  public init(_ level: ContentLevel = .app, rules: [Rule] = []) {
    self.level = level
    self.rules = rules
  }

  /// A rule; its conditions must all hold.
  public struct Rule: Hashable, Sendable {
    /// Patterns of the app's identifier; none: any.
    public var apps: [Glob]
    /// None: any.
    public var categories: Set<Category>
    /// The phones that it is about; none: any.
    public var phones: Set<TopicName>
    public var level: ContentLevel

    public init(
      apps: [Glob] = [], categories: Set<Category> = [], phones: Set<TopicName> = [],
      _ level: ContentLevel
    ) {
      self.apps = apps
      self.categories = categories
      self.phones = phones
      self.level = level
    }

    func holds(app: String?, category: Category?, phone: TopicName?) -> Bool {
      if !phones.isEmpty, phone.map({ !phones.contains($0) }) ?? true { return false }
      if !categories.isEmpty, category.map({ !categories.contains($0) }) ?? true { return false }
      return apps.isEmpty || app.map { app in apps.contains { $0.matches(app) } } ?? false
    }
  }

  func level(app: String?, category: Category?, phone: TopicName?) -> ContentLevel {
    rules.first { $0.holds(app: app, category: category, phone: phone) }?.level ?? level
  }

  /// The most that may be told of anything.
  public var most: ContentLevel { rules.map(\.level).max().map { max($0, level) } ?? level }

  /// What is told of what a phone plays: no rule is about that.
  var ofMedia: ContentLevel { level }
}

// MARK: - Withholding

/// Which members of an object leave the board. What is not named here does not, so that nothing slips through that a
/// newer daemon adds.
struct Disclosure {
  /// The members that do at each level; at a level, those of lower ones do, too.
  let members: [(level: ContentLevel, names: [String])]

  /// A notification, in an event or in a list.
  static let notification = Disclosure(members: [
    (
      .app,
      [
        "event", "seq", "time", "adapter", "phone", "change", "uid", "category", "category_count",
        "flags", "app_id", "app", "message_size", "date", "date_utc", "positive", "negative",
        "truncated", "repeat", "urgent", "stale", "error", "digest",
      ]
    ), (.title, ["title", "subtitle"]), (.full, ["message"]),
  ])

  static let player = Disclosure(members: [
    (.none, ["state", "rate", "elapsed", "volume"]), (.app, ["name"]),
  ])

  static let media = Disclosure(members: [
    (.none, ["player", "queue", "commands"]), (.title, ["track"]),
  ])

  /// The object without what is withheld, and the names of that.
  func apply(
    to object: JSONObject, _ level: ContentLevel
  ) -> (object: JSONObject, withheld: [String]) {
    let allowed = members.filter { $0.level <= level }.flatMap(\.names)
    var (rest, withheld) = (JSONObject(), [String]())
    for (name, value) in object.members {
      if allowed.contains(name) { rest.add(name, value) } else { withheld.append(name) }
    }
    return (rest, withheld)
  }
}

extension JSONObject {
  /// A notification as it leaves the board.
  func notification(_ level: ContentLevel) -> JSONObject {
    var (object, withheld) = Disclosure.notification.apply(to: self, level)
    if !withheld.isEmpty { object.add("withheld", .strings(withheld)) }
    return object
  }

  /// What a phone plays, as it leaves the board.
  func media(_ level: ContentLevel) -> JSONObject {
    // What has changed is told by the state itself.
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
