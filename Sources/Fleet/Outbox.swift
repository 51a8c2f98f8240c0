// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// The publications waiting for the broker, and those it has not acknowledged yet.
///
///     add ──▶ waiting ──sent──▶ in flight ──acknowledged──▶ done
///                ▲                             │
///                └──── it has no space now ────┘
///
/// It is no queue of events: while anything waits here the daemon's events are not read (`isFull`), and the daemon
/// keeps them. So what waits is at most one publication for each retained topic, those of one event, and the responses to
/// requests under way. When the connection is lost, everything is dropped: the states are published again, and the
/// daemon is asked for the events after `lastAcknowledged`.
public struct Outbox: Sendable {
  /// The maximum number of unacknowledged publications: our limit, and the broker's (Receive Maximum).
  public static let widestWindow = 16

  /// How many responses to requests may wait to be sent.
  static let mostResponses = 64
  /// The pauses after the broker had no space; those of other boards have begun at other times.
  private static let pauses = RetryPauses(longest: .seconds(60)) { 0.5 }

  /// What has become of a publication.
  public enum Result: Hashable, Sendable {
    case delivered(Publication)
    case refused(Publication)
    /// An event for which the broker has no space now: it will be sent again after a pause.
    case postponed(Publication)
  }

  private struct Entry: Sendable {
    var publication: Publication
    /// When an event is too old; nil as long as the broker takes them.
    var end: Instant?
  }

  private var waiting: [Entry] = []
  private var inFlight: [(number: UInt16, entry: Entry)] = []
  private var window = Outbox.widestWindow
  /// Set while the broker has no space: how often in a row, and when to try again.
  private(set) var pause: (count: Int, until: Instant)?
  /// The last handled event, whether published or not; after `begin`, the last one that the broker has acknowledged.
  public private(set) var lastHandled: Position?

  /// - Parameter position: the last event that the broker has acknowledged; nil if none is known.
  public init(position: Position? = nil) { lastHandled = position }

  /// The last event that the broker has acknowledged, with all before it; nil if none is known.
  public var lastAcknowledged: Position? {
    let open = (inFlight.map(\.entry) + waiting).compactMap(\.publication.position)
    // An event of an earlier run precedes all of this one.
    guard let life = open.first?.life,
      let first = open.lazy.filter({ $0.life == life }).map(\.seq).min()
    else { return lastHandled }
    return Position(life: life, seq: first &- 1)
  }

  /// Whether no more events should be read.
  public var isFull: Bool { !waiting.isEmpty || inFlight.count >= window }

  /// Whether a request can be answered soon. Whoever asks faster than the broker takes the responses is not heard.
  public var hasSpaceForResponse: Bool {
    waiting.count { if case .response = $0.publication.kind { true } else { false } }
      < Self.mostResponses
  }

  /// The number of unacknowledged publications.
  public var unacknowledged: Int { inFlight.count + waiting.count }

  /// Whether the broker owes an acknowledgement.
  public var isAwaiting: Bool { !inFlight.isEmpty }

  /// When to send again, or to give up an event; nil: there is nothing to wait for but the broker.
  public func deadline(after now: Instant) -> Instant? {
    guard let pause, !waiting.isEmpty else { return nil }
    return ([pause.until] + waiting.compactMap(\.end)).filter { $0 > now }.min()
  }

  /// A connection begins.
  ///
  /// - Parameter receiveMaximum: the broker's Receive Maximum (MQTT 5, 3.2.2.3.3).
  public mutating func begin(receiveMaximum: Int) {
    if let lastAcknowledged { lastHandled = lastAcknowledged }
    waiting = []
    inFlight = []
    pause = nil
    window = max(1, min(receiveMaximum, Self.widestWindow))
  }

  /// Adds publications. A state replaces an older one that is still waiting; an event ages while the broker has no space.
  public mutating func add(_ publications: [Publication], at now: Instant) {
    for publication in publications {
      if publication.isState,
        let place = waiting.firstIndex(where: { $0.publication.isState && $0.publication.topic == publication.topic })
      {
        waiting[place].publication = publication
      } else {
        var entry = Entry(publication: publication)
        if pause != nil { entry.end = publication.end(from: now) }
        waiting.append(entry)
      }
    }
  }

  /// Gives up the postponed events that are too old by now.
  ///
  /// - Returns: how many.
  public mutating func dropExpired(at now: Instant) -> UInt64 {
    guard pause != nil else { return 0 }
    let before = waiting.count
    waiting.removeAll { $0.end.map { $0 <= now } ?? false }
    return UInt64(before - waiting.count)
  }

  /// An event was read; its publications were added before.
  public mutating func handled(_ position: Position) {
    // An event about the present (`lost`, a replay) may have an older number.
    if let lastHandled, lastHandled.life == position.life, lastHandled.seq > position.seq { return }
    lastHandled = position
  }

  /// The next publication to send, if the window has room. It waits until it is `sent` or finished. After a pause there is
  /// one at a time until the broker takes one: with several, it could take a later event and refuse an earlier one.
  public func next(at now: Instant) -> Publication? {
    if let pause, pause.until > now || !inFlight.isEmpty { return nil }
    guard inFlight.count < window, let entry = waiting.first else { return nil }
    guard let end = entry.end else { return entry.publication }
    return entry.publication.expiring(after: UInt32(clamping: max(1, (end - now).components.seconds)))
  }

  /// The next publication was sent, and the broker will acknowledge it by this number.
  public mutating func sent(as number: UInt16) { inFlight.append((number, waiting.removeFirst())) }

  /// The next publication is over: it was sent to a broker that acknowledges nothing, or can't be sent.
  public mutating func finishNext() { waiting.removeFirst() }

  /// The next publication is too long: this one is sent instead.
  public mutating func replaceNext(with shorter: Publication) { waiting[0].publication = shorter }

  /// The broker has acknowledged a publication; nil if none of this number was sent.
  public mutating func acknowledged(_ number: UInt16, _ reason: ReasonCode, at now: Instant) -> Result? {
    guard let place = inFlight.firstIndex(where: { $0.number == number }) else { return nil }
    var entry = inFlight.remove(at: place).entry
    let publication = entry.publication
    if reason.isLackOfSpace, let position = publication.position {
      entry.end = entry.end ?? publication.end(from: now)
      // In the order of the events, and before everything else.
      let place = waiting.firstIndex {
        $0.publication.position.map { $0.seq > position.seq } ?? true
      }
      waiting.insert(entry, at: place ?? waiting.endIndex)
      if pause.map({ $0.until <= now }) ?? true {
        let count = (pause?.count ?? 0) + 1
        pause = (count, now + Self.pauses.pause(after: count))
      }
      return .postponed(publication)
    }
    if !reason.isRefusal { pause = nil }
    return reason.isRefusal ? .refused(publication) : .delivered(publication)
  }
}
