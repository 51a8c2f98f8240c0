// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The names of the apps of one session, so that each is fetched once (ANCS specification, Attribute
/// Fetching and Caching). That an app has no name is remembered too.
struct AppNames: Sendable {
  /// The state of an app's name.
  enum Entry: Hashable, Sendable {
    /// Not fetched yet.
    case unknown
    /// The phone has none.
    case none
    /// The phone failed to return it, for this reason. It is requested again after `due`, once nothing else waits.
    case failed(String, due: Instant)
    case name(String)
  }

  /// The maximum number of remembered apps; beyond it, the oldest is forgotten.
  static let capacity = 512

  /// An app's identifier in UTF-8, so that a slice of a response can be looked up without conversion.
  private struct Key: Hashable {
    let bytes: ArraySlice<UInt8>

    func hash(into hasher: inout Hasher) { hasher.combine(_rawHashValue(seed: 0)) }

    /// In one step, as for `ContentSignature`: every notification looks up its app's name.
    func _rawHashValue(seed: Int) -> Int {
      var hash = StableHash()
      hash.combine(bytes)
      return Int(truncatingIfNeeded: hash.value)
    }
  }

  /// The initial pause before the next request; it doubles each time, up to the maximum.
  private static let pause: Duration = .seconds(5)
  private static let longestPause: Duration = .seconds(3600)

  private var entries: [Key: Entry] = [:]
  private var order = FIFO<Key>(limit: capacity)
  /// The current pause for each failed name.
  private var pauses: [Key: Duration] = [:]

  subscript(app: String) -> Entry { self[Array(app.utf8)[...]] }

  subscript(app: ArraySlice<UInt8>) -> Entry { entries[Key(bytes: app)] ?? .unknown }

  /// Remembers the name of an app; nil or empty if it has none, or if the phone failed to return it.
  mutating func learn(_ name: String?, of app: String, _ failure: FetchFailure? = nil, at now: Instant = .zero) {
    let key = Key(bytes: Array(app.utf8)[...])
    let entry: Entry
    if let name, !name.isEmpty {
      entry = .name(name)
    } else if let failure {
      let pause = pauses[key].map { min($0 + $0, Self.longestPause) } ?? Self.pause
      pauses[key] = pause
      entry = .failed("the app's name was not fetched: \(failure)", due: now + pause)
    } else {
      entry = .none
    }
    if entries.updateValue(entry, forKey: key) == nil, let oldest = order.append(key) {
      (entries[oldest], pauses[oldest]) = (nil, nil)
    }
  }
}
