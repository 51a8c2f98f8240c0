// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import System
import Wire

extension Clients {
  /// `ancsd watch`: prints events as they arrive.
  static let watch = ClientCommand(
    "watch", "prints events as they arrive",
    options: [
      .count(of: "events", help: "exit after this many events", set: { $0.count = $1 }),
      .flag(
        "--reconnect",
        help: "wait for a daemon that is not running or exits, and resume where it stopped",
        set: { $0.reconnects = true }),
      .template,
    ] + watchOptions, phone: "only events of this phone, by address or name", ends: false,
    notes: [
      "Events: \(EventName.allCases.map(\.rawValue).joined(separator: ", ")). “incoming” and “why” "
        + "are printed only if you name them; with a filter and without --event, only notifications "
        + "are printed.",
      "The status is 75 if --timeout ends it before -n events arrived, 69 if the daemon exits.",
    ],
    examples: [
      "--app Messages --template '{title}: {message}'",
      "--event battery,connected,disconnected",
      "--json --reconnect --since 1h",
    ]
  ) { options, client throws(Failure) in
    var watcher = Watcher(options, client)
    return try await watcher.run()
  }

  /// `ancsd wait`: exits when something has happened.
  static let wait = ClientCommand(
    "wait", "waits for a new notification, or another event, and prints it", options: watchOptions,
    phone: "only events of this phone, by address or name", ends: false,
    notes: [
      "Without --event it waits for a new notification. --replay includes what is active now. The status is 75 if "
        + "--timeout ends it first, 69 if the daemon exits."
    ],
    examples: [
      "--category incoming-call --timeout 60",
      "--event connected",
      "--grep 'code|passcode' --json | jq -r .message",
    ]
  ) { options, client throws(Failure) in
    var options = options
    options.count = 1
    var watcher = Watcher(options, client, isForNews: options.events.isEmpty)
    return try await watcher.run()
  }

  private static let watchOptions: [CommandOption<ClientOptions>] =
    CommandOption.eventFilters + [
      .timeout(help: "exit after this time", set: { $0.timeout = $1 }),
      .value(
        "--since", value: "SEQ|TIME",
        expects: "the number of an event, or a time: \(WallTime.forms)",
        help:
          "start with the events after this number, or since a time: \(WallTime.forms); the last 1,000 are kept",
        read: { text -> (UInt64?, WallTime?)? in
          UInt64(text).map { ($0, nil) } ?? WallTime(typed: text).map { (0, $0) }
        }, set: { ($0.lastSeen, $0.since) = $1 }),
      .flag("--replay", help: "start with what is active now", set: { $0.replay = true }),
    ]
}

/// The work of `watch`.
struct Watcher {
  private let options: ClientOptions
  private let client: ControlClient
  private var page: EventPage
  /// The subscription for the next connection.
  private var subscription: Subscription
  private(set) var filter: EventFilter
  private var printed = 0

  /// - Parameter isForNews: whether it leaves out all but new notifications.
  init(_ options: ClientOptions, _ client: ControlClient, isForNews: Bool = false) {
    self.options = options
    self.client = client
    page = EventPage(client.console.style, today: .now)
    filter = EventFilter(options, isForNews: isForNews)
    subscription = Subscription(events: filter.names, replay: options.replay, since: options.lastSeen)
  }

  /// Prints events until the count or the time limit is reached.
  mutating func run() async throws(Failure) -> ExitStatus {
    let timer = options.timeout.map { client.startTimer($0) }
    // A daemon that does not respond is not waited for any longer.
    if let timeout = options.timeout { client.patience = min(client.patience, timeout) }
    while true {
      do throws(Failure) {
        if !client.isConnected, try await !client.connect(until: timer) { break }
        try await prepare()
        try await client.call(ControlMethods.subscribe, subscription, "watch")
        try await follow(until: timer)
        break
      } catch {
        guard options.reconnects, !client.isConnected, error.status == .unavailable else {
          throw error
        }
        client.console.remark("the daemon has exited: reconnecting…")
      }
    }
    return options.count == nil || printed == options.count ? .done : .tryAgain
  }

  private mutating func follow(until timer: Int?) async throws(Failure) {
    while printed != options.count, let line = try await client.nextLine(until: timer) {
      if try show(line) { printed += 1 }
    }
  }

  /// Asks the daemon which phone has the name, whether it serves more than one adapter, and the event number to
  /// continue from.
  private mutating func prepare() async throws(Failure) {
    if let selector = options.phone, filter.phone == nil {
      filter.phone = .some(try await client.address(of: selector, "watch"))
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
    let passesAll = filter.isEmpty && !options.reconnects && options.lastSeen == nil
    if client.console.format == .json, passesAll {
      try client.console.show(json: Array(json)) { "" }
      return true
    }
    // An event of a newer daemon that this program does not know can't be laid out.
    guard let event = NumberedEvent(line: line) else { return false }
    if options.reconnects { note(event) }
    guard isWanted(event) else { return false }
    try client.console.show(json: Array(json)) { page.text(event) }
    return true
  }

  private mutating func isWanted(_ event: NumberedEvent) -> Bool {
    if case .lost = event.event.content {
      // It is no event of the wanted kinds, but the user should know; unless it is about what was before the start.
      if filter.since != nil, printed == 0 { return false }
      if filter.names?.contains(.lost) == false {
        client.report(Failure(.tryAgain, "watch", event.event.sentence))
      }
    }
    return filter.matches(event)
  }
}
