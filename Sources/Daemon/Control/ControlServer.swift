// SPDX-License-Identifier: GPL-3.0-or-later
import Board
import Control
import EventLoop
import JSON
import System
import Wire

/// The control socket: reads its clients' requests, and sends responses and events.
///
/// The resources of clients are limited, for each and together (`ControlLimits`).
@LoopActor final class ControlServer {
  private let feed: EventFeed
  private let life: String
  private let log: Log
  private let handlers: ControlHandlers
  private var dispatcher = ControlDispatcher()
  /// What ends accepting clients; nil once the daemon exits.
  private var stopListening: (() -> Void)?
  private var clients: [Int: ControlConnection] = [:]
  private var lastClient = 0
  /// Whether the log already says that there are too many clients.
  private var isFull = false
  /// The number of all clients' calls in progress.
  private var calls = 0

  init(_ daemon: Supervisor) throws(SystemError) {
    (handlers, feed, life) = (ControlHandlers(daemon), daemon.feed, daemon.life)
    log = daemon.log.limited(by: LogBudget("clients of the control socket", daemon.platform.scheduler))
    handlers.register(in: &dispatcher)
    stopListening = try daemon.platform.listenForClients(at: daemon.socket, log: log) {
      [weak self] in self?.accept($0)
    }
    feed.subscribe(readsQuiet: { [weak self] in self?.reads($0) ?? false }) { [weak self] in self?.deliver($0) }
  }

  /// Stops listening, and closes each client's connection once its queue has been sent.
  func close() {
    stopListening?()
    stopListening = nil
    for client in clients.values { client.close() }
  }

  private func accept(_ channel: any LineChannel) {
    guard clients.count < ControlLimits.clients else { return refuse(channel) }
    isFull = false
    lastClient += 1
    let id = lastClient
    clients[id] = ControlConnection(
      channel, onLine: { [weak self] in self?.receive($0, from: id) },
      onClose: { [weak self] why in
        if let why { self?.log.notice("dropped a control client: \(why)") }
        self?.clients[id] = nil
      })
  }

  private func refuse(_ channel: any LineChannel) {
    let why = "\(ControlLimits.clients) clients are connected already"
    if !isFull { log.notice("refused a control client: \(why)") }
    isFull = true
    channel.send(RPC.error(.tryAgain(why), id: .null))
    channel.close()
  }

  private func receive(_ line: [UInt8], from id: Int) {
    guard let client = clients[id] else { return }
    let (requests, isBatch) = dispatcher.receive(line)
    perform(requests, for: client) { isBatch ? RPC.batch(of: $0) : $0[0] }
  }

  /// Performs a request, or those of a batch, and responds once all are done, with a line that `joined` makes of the
  /// responses.
  private func perform(
    _ requests: [ControlDispatcher.Request], for client: ControlConnection, _ joined: @escaping ([[UInt8]]) -> [UInt8]
  ) {
    var replies: [[UInt8]] = []
    var subscriptions: [Subscription] = []
    var left = requests.count
    for _ in requests { client.begin() }
    for request in requests {
      perform(request, for: client) { reply, subscription in
        if var reply {
          let whole = replies.reduce(reply.count) { $0 + $1.count + 1 }
          if whole > ControlLimits.response, case .call(_, let id?) = request {
            let why = "the responses to the batch are too long together: send the requests one by one"
            reply = RPC.error(.unavailable(why), id: id)
          }
          replies.append(reply)
        }
        if let subscription { subscriptions.append(subscription) }
        left -= 1
        if left > 0 { return client.finish(nil) }
        let reply = replies.isEmpty ? nil : joined(replies)
        guard let subscription = subscriptions.last else { return client.finish(reply) }
        // A client that has finished sending would be taken for done before it is subscribed.
        client.begin()
        client.finish(reply)
        self.subscribe(client, subscription)
        client.finish(nil)
      }
    }
  }

  /// Performs a request. `done` gets the response, if one is expected, and the subscription that
  /// begins after it.
  private func perform(
    _ request: ControlDispatcher.Request, for client: ControlConnection,
    done: @escaping (_ reply: [UInt8]?, Subscription?) -> Void
  ) {
    switch request {
    case .nothing: done(nil, nil)
    case .reply(let reply): done(reply, nil)
    case .subscribe(let subscription, let id):
      done(id.map { RPC.result(true, id: $0) }, subscription)
    case .call(_, let id) where calls >= ControlLimits.requests:
      let why = "\(ControlLimits.requests) requests are in progress already"
      done(id.map { RPC.error(.tryAgain(why), id: $0) }, nil)
    case .call(let call, let id):
      calls += 1
      Loop.start { [weak self] in
        let reply = await call(id ?? .null, client.cancellation)
        self?.calls -= 1
        done(id == nil ? nil : reply, nil)
      }
    }
  }

  private func subscribe(_ client: ControlConnection, _ subscription: Subscription) {
    client.subscribe(
      subscription,
      from: subscription.initialEvents(active: handlers.replay(), recent: feed.recent, life: life, now: feed.clock()))
  }

  // Most boards have no client most of the time.

  private func reads(_ name: EventName) -> Bool {
    !clients.isEmpty && clients.values.contains { $0.subscription?.includes(name) ?? false }
  }

  private func deliver(_ event: NumberedEvent) {
    guard !clients.isEmpty, stopListening != nil else { return }
    for client in clients.values { client.deliver(event) }
  }
}

extension Subscription {
  /// The events to send immediately: what is active now, then what the client has missed.
  func initialEvents(
    active: @autoclosure () -> [NumberedEvent], recent: RecentEvents, life: String, now: Instant
  ) -> [NumberedEvent] {
    var events = replay ? active() : []
    var missing: NumberedEvent?
    if var since {
      // Event numbers of an earlier run mean nothing in this one.
      if let theirs = self.life, theirs != life { since = 0 }
      // An event that is both active and missed is sent once.
      let shown = Set(events.map(\.event))
      let start = maxAge.map { now + .seconds(-$0.value) }
      events += recent.events(since: since, from: start).filter { !shown.contains($0.event) }
      // A client that comes for the first time misses none; one that names a life of the daemon was there before. One that
      // subscribes only to states misses nothing that still holds.
      let hasSeenAny = since > 0 || self.life != nil
      if hasSeenAny, EventName.allCases.contains(where: { $0.shelf() == .news && includes($0) }) {
        missing = recent.missing(since: since, from: start)
      }
    }
    return [missing].compactMap { $0 } + events.filter { includes($0.event.name) }
  }
}

/// What the clients of the control socket may use, each and together (docs/security.md, “Limits”).
enum ControlLimits {
  /// The maximum number of clients.
  static let clients = 64
  /// File descriptors reserved for bonds, links and adapters.
  static let spareDescriptors = 32
  /// The longest line that is read, in bytes. The longest legitimate request is a `gatt.write` of
  /// 512 bytes, and a batch of any others fits.
  static let line = 16_384
  /// The maximum nesting and cost of a line's values. A full batch costs half of it.
  static let json = JSONLimits(depth: 8, cost: 2_048)
  /// The maximum number of requests in a batch.
  static let batch = 64
  /// The maximum number of a client's requests in progress, unless they are a batch. Beyond it, the
  /// daemon stops reading from the client.
  static let requestsOfClient = 16
  /// The maximum number of requests in progress for all clients. Beyond it, requests are refused.
  static let requests = 256
  /// The maximum bytes of events waiting for a client that does not read. Beyond it, the client is
  /// dropped.
  static let queue = 1 << 20
  /// The maximum bytes passed to a client's socket before the client has read the earlier ones.
  static let window = 256 << 10
  /// The longest response in bytes: more would not fit into the queue.
  static let response = queue - window
  /// The longest page of a list in bytes. Every client can read lines of that length.
  static let page = 256 << 10
}
