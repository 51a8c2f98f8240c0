// SPDX-License-Identifier: GPL-3.0-or-later

/// The names of the apps of one session, so that each is asked for once (ANCS specification, Attribute
/// Fetching and Caching). That an app has no name is remembered too.
public struct AppNames: Sendable {
  /// What is known of an app's name.
  public enum Entry: Hashable, Sendable {
    /// It was not asked for yet.
    case unknown
    /// The phone has none, or failed to say it.
    case none
    case name(String)
  }

  /// The greatest number of apps; beyond it, the one that was learned first is forgotten.
  public static let capacity = 512

  private var entries: [String: String?] = [:]
  private var order: [String] = []

  public init() {}

  public subscript(app: String) -> Entry {
    guard let entry = entries[app] else { return .unknown }
    return entry.map(Entry.name) ?? .none
  }

  /// Remembers the name of an app; nil or an empty text where it has none.
  public mutating func learn(_ name: String?, of app: String) {
    let known = name.flatMap { $0.isEmpty ? nil : $0 }
    if entries.updateValue(known, forKey: app) == nil {
      order.append(app)
      if order.count > Self.capacity { entries[order.removeFirst()] = nil }
    }
  }
}
