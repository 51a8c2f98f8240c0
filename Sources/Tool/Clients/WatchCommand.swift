// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import Wire

/// The options of `watch`.
struct WatchOptions: FilterOptions {
  var client = ClientOptions()
  var filter = NotificationFilter()
  /// The kinds of events that are wanted. None: with a filter, notifications alone; otherwise all
  /// but `incoming` and `why`.
  var events: Set<EventName> = []
  /// After so many events it leaves.
  var count: Int?
  /// After so long it leaves.
  var timeout: Duration?
  var since: UInt64?
  var replay = false

  var subscription: Subscription {
    let names: Set<EventName>? = !events.isEmpty ? events : filter.isEmpty ? nil : [.notification]
    return Subscription(events: names, replay: replay, since: since)
  }
}

extension Clients {
  /// `ancsd watch`: prints events as they come.
  static let watch = ClientCommand<WatchOptions>(
    "watch", "prints what the phone says, as it says it",
    options: watchOptions + CommandOption.filters,
    notes: [
      "Events: \(EventName.allCases.map(\.rawValue).joined(separator: ", ")). “incoming” and “why” "
        + "are printed only where they are named; with a filter and without --event, notifications "
        + "alone are.",
      "The status is 75 where --timeout ends it before -n events came, 69 where the daemon leaves.",
    ]
  ) { options, client throws(Failure) in
    var watcher = Watcher(options, client)
    return try await watcher.run()
  }

  private static let watchOptions: [CommandOption<WatchOptions>] = [
    .count(of: "events", help: "leave after so many events", set: { $0.count = $1 }),
    .timeout(help: "leave after so long", set: { $0.timeout = $1 }),
    .value(
      "--event", value: "NAME", expects: "an event", help: "only events of this kind; may repeat",
      read: { EventName(rawValue: $0) }, set: { $0.events.insert($1) }),
    .value(
      "--since", value: "SEQ", expects: "the number of an event",
      help: "what came after the event of this number first; the last 1,000 are kept",
      read: { UInt64($0) }, set: { $0.since = $1 }),
    .flag("--replay", help: "what is active now first", set: { $0.replay = true }),
  ]
}

/// The work of `watch`.
struct Watcher {
  private let options: WatchOptions
  private let client: ControlClient
  private var phone: PhoneSelector?
  private var style: TextStyle
  /// The notifications that were shown, so that their removal is too: it does not name the app.
  private var shown: Set<Shown> = []

  private struct Shown: Hashable {
    var phone: Address?
    var uid: NotificationUID
  }

  init(_ options: WatchOptions, _ client: ControlClient) {
    self.options = options
    self.client = client
    phone = options.client.phone
    style = client.console.style
  }

  /// Prints events until there were enough, or the time is over.
  mutating func run() async throws(Failure) -> ExitStatus {
    try await prepare()
    let timer = options.timeout.map { client.startTimer($0) }
    try await client.call(ControlMethods.subscribe, options.subscription, "watch")
    var count = 0
    while true {
      switch try await client.next() {
      case .line(let line):
        guard try show(line) else { continue }
        count += 1
        if count == options.count { return .done }
      case .timeUp(timer): return options.count == nil ? .done : .tryAgain
      case .timeUp, .typed, .closed, .signal, .readerGone: continue
      }
    }
  }

  /// Asks the daemon which phone has the name, and whether more than one adapter is served.
  private mutating func prepare() async throws(Failure) {
    if let named = phone, Address(named.description) == nil {
      let phones = try await client.call(ControlMethods.listPhones, "watch")
      guard let found = phones.first(where: { named.matches($0.phone, name: $0.name) }) else {
        throw Failure(
          .unavailable, "watch", "no phone “\(named)”", remedy: "“ancsd phones” lists them")
      }
      phone = PhoneSelector(found.phone.description)
    }
    if client.console.format == .text {
      let status = try await client.call(ControlMethods.status, "watch")
      style.namesAdapter = status.adapters.count > 1
    }
  }

  /// Prints the event that a line holds, where it is wanted; returns whether it was.
  private mutating func show(_ line: [UInt8]) throws(Failure) -> Bool {
    guard let json = RPC.event(in: line) else { return false }
    if client.console.format == .json, options.filter.isEmpty, phone == nil {
      try client.console.print(json + [UInt8(ascii: "\n")])
      return true
    }
    // An event of a newer daemon that this program does not know can't be laid out.
    guard let event = NumberedEvent(line: line), isWanted(event.event) else { return false }
    try client.console.show(event, on: line, style)
    return true
  }

  private mutating func isWanted(_ event: Event) -> Bool {
    if let phone, !phone.matches(event.phone, name: nil) { return false }
    switch event.content {
    case .notification(let report):
      let key = Shown(phone: event.phone, uid: report.event.uid)
      if report.event.change == .removed {
        return options.filter.isEmpty || shown.remove(key) != nil
      }
      guard options.filter.matches(report) else { return false }
      shown.insert(key)
      return true
    case .incoming(let event): return options.filter.matches(event.category, event.flags)
    default: return true
    }
  }
}
