// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import System
import Wire

/// The options of `watch`.
struct WatchOptions: FilterOptions {
  var client = ClientOptions()
  var filter = NotificationFilter()
  /// The kinds of events to print. If empty: only notifications with a filter, otherwise all but `incoming` and `why`.
  var events: Set<EventName> = []
  /// How many events to print before it exits.
  var count: Int?
  /// The time after which it exits.
  var timeout: Duration?
  var since: Start?
  var replay = false
  var reconnects = false

  /// Where to start among the events that the daemon keeps.
  enum Start: Hashable, Sendable {
    /// After the event with this number.
    case number(UInt64)
    case time(WallTime)
  }

  /// The initial subscription.
  var subscription: Subscription {
    let names: Set<EventName>? = !events.isEmpty ? events : filter.isEmpty ? nil : [.notification]
    let since: UInt64? =
      switch since {
      case .number(let number)?: number
      case .time?: 0
      case nil: nil
      }
    return Subscription(events: names, replay: replay, since: since)
  }
}

extension Clients {
  /// `ancsd watch`: prints events as they arrive.
  static let watch = ClientCommand<WatchOptions>(
    "watch", "prints events as they arrive",
    options: watchOptions + CommandOption.filters, ends: false,
    notes: [
      "Events: \(EventName.allCases.map(\.rawValue).joined(separator: ", ")). “incoming” and “why” "
        + "are printed only if you name them; with a filter and without --event, only notifications "
        + "are printed.",
      "The status is 75 if --timeout ends it before -n events arrived, 69 if the daemon exits.",
    ]
  ) { options, client throws(Failure) in
    var watcher = Watcher(options, client)
    return try await watcher.run()
  }

  private static let watchOptions: [CommandOption<WatchOptions>] = [
    .count(of: "events", help: "exit after this many events", set: { $0.count = $1 }),
    .timeout(help: "exit after this time", set: { $0.timeout = $1 }),
    .list(
      "--event", of: "an event", names: EventName.allCases.map(\.rawValue),
      help: "only events of these kinds",
      read: { EventName(rawValue: $0) }, set: { $0.events.formUnion($1) }
    ).repeated,
    .value(
      "--since", value: "SEQ|TIME", expects: "the number of an event, or a time: \(WallTime.forms)",
      help:
        "start with the events after this number, or since a time: \(WallTime.forms); the last 1,000 are kept",
      read: { text in
        UInt64(text).map { .number($0) } ?? WallTime(typed: text).map { .time($0) }
      }, set: { $0.since = $1 }),
    .flag("--replay", help: "start with what is active now", set: { $0.replay = true }),
    .flag(
      "--reconnect",
      help: "wait for a daemon that is not running or exits, and resume where it stopped",
      set: { $0.reconnects = true }),
  ]
}

/// The work of `watch`.
struct Watcher {
  private let options: WatchOptions
  private let client: ControlClient
  /// The address of the selected phone, which may be unknown; nil: any phone.
  private var phone: Address??
  private var page: EventPage
  /// The subscription for the next connection.
  private var subscription: Subscription
  private var printed = 0
  /// The notifications that matched the filter, so that their removal is shown too: a removal lacks some of the
  /// members that a filter needs.
  private(set) var shown: Set<Shown> = []

  struct Shown: Hashable {
    var phone: Address?
    var uid: NotificationUID
  }

  init(_ options: WatchOptions, _ client: ControlClient) {
    self.options = options
    self.client = client
    page = EventPage(client.console.style, today: .now)
    subscription = options.subscription
  }

  /// Prints events until the count or the time limit is reached.
  mutating func run() async throws(Failure) -> ExitStatus {
    let timer = options.timeout.map { client.startTimer($0) }
    while true {
      do throws(Failure) {
        try await prepare()
        try await client.call(ControlMethods.subscribe, subscription, "watch")
        return try await follow(until: timer)
      } catch {
        guard options.reconnects, !client.isConnected, error.status == .unavailable else {
          throw error
        }
        client.console.remark("the daemon has exited: reconnecting…")
        try await client.connect(patiently: true)
      }
    }
  }

  private mutating func follow(until timer: Int?) async throws(Failure) -> ExitStatus {
    while true {
      switch try await client.next() {
      case .line(let line):
        guard try show(line) else { continue }
        printed += 1
        if printed == options.count { return .done }
      case .timeUp(timer): return options.count == nil ? .done : .tryAgain
      case .timeUp, .typed, .closed, .signal, .readerGone: continue
      }
    }
  }

  /// Asks the daemon which phone has the name, whether it serves more than one adapter, and the event number to
  /// continue from.
  private mutating func prepare() async throws(Failure) {
    if let selector = options.client.phone, phone == nil {
      phone = .some(try await client.address(of: selector, "watch"))
    }
    guard client.console.format == .text || options.reconnects else { return }
    let status = try await client.call(ControlMethods.status, "watch")
    page.style.namesAdapter = status.adapters.count > 1
    guard options.reconnects, subscription.life == nil else { return }
    subscription.life = status.life
    if subscription.since == nil { subscription.since = client.hasWaited ? 0 : status.seq }
  }

  /// Records where a new connection should resume.
  private mutating func note(_ event: NumberedEvent) {
    subscription.since = event.seq
    subscription.replay = false
    if case .ready(_, _, _, let life) = event.event.content, !life.isEmpty {
      subscription.life = life
    }
  }

  /// Prints the event on a line if it matches; returns whether it did.
  private mutating func show(_ line: [UInt8]) throws(Failure) -> Bool {
    guard let json = RPC.event(in: line) else { return false }
    let passesAll =
      options.filter.isEmpty && phone == nil && !options.reconnects && options.since == nil
    if client.console.format == .json, passesAll {
      try client.console.print(json + [UInt8(ascii: "\n")])
      return true
    }
    // An event of a newer daemon that this program does not know can't be laid out.
    guard let event = NumberedEvent(line: line) else { return false }
    if options.reconnects { note(event) }
    guard isWanted(event) else { return false }
    switch client.console.format {
    case .json: try client.console.print(json + [UInt8(ascii: "\n")])
    case .text: try client.console.print(line: page.text(event))
    }
    return true
  }

  mutating func isWanted(_ event: NumberedEvent) -> Bool {
    if case .time(let start)? = options.since, event.time < start { return false }
    if let phone, phone != event.event.phone { return false }
    switch event.event.content {
    case .notification(let report):
      let key = Shown(phone: event.event.phone, uid: report.event.uid)
      if report.event.change == .removed {
        return options.filter.isEmpty || shown.remove(key) != nil
      }
      guard options.filter.matches(report) else { return false }
      // No phone has more of them; removals are lost if the daemon or its phone never returns.
      if shown.count == NotificationLimits.notifications { shown.removeFirst() }
      if !options.filter.isEmpty { shown.insert(key) }
      return true
    case .incoming(let event): return options.filter.matches(event.category, event.flags)
    case .lost where subscription.events?.contains(.lost) == false:
      // It is no event of the wanted kinds, but the user should know.
      client.report(Failure(.tryAgain, "watch", event.event.sentence))
      return false
    default: return true
    }
  }
}
