// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import System

/// The control socket: reads its clients' requests, and sends replies and events.
///
/// A client that does not read is dropped when its queue is full, so that it never holds up the
/// radio or another client.
@LoopActor final class ControlServer {
  /// The most that is queued for a client that does not read, in bytes. Beyond it the client is
  /// dropped.
  nonisolated static let maximumQueueLength = 1 << 20

  private unowned let supervisor: Supervisor
  private let log: Log
  private let answers: ControlAnswers
  private var dispatcher = ControlDispatcher()
  private var listener: (any Listener)?
  private var clients: [Int: Client] = [:]
  private var lastClient = 0
  private var feedHandler: Int?

  private struct Client {
    let channel: any LineChannel
    /// How many of its calls are under way.
    var calls = 0
    /// Whether it has finished sending.
    var hasEnded = false
    /// The events that it wants; nil until it subscribes.
    var subscription: Subscription?
  }

  init(_ supervisor: Supervisor, at path: String?) throws(SystemError) {
    self.supervisor = supervisor
    log = supervisor.log.limited(
      by: LogBudget("clients of the control socket", supervisor.platform.scheduler))
    answers = ControlAnswers(supervisor)
    answers.register(in: &dispatcher)
    listener = try supervisor.platform.listenForClients(at: path, log: log) {
      [weak self] in self?.accept($0)
    }
    feedHandler = supervisor.feed.subscribe { [weak self] in self?.deliver($0) }
  }

  /// Stops listening, and closes each client's connection once its queue has been sent.
  func close() {
    if let feedHandler { supervisor.feed.unsubscribe(feedHandler) }
    listener?.close()
    for client in clients.values { client.channel.closeAfterSending() }
  }

  private func accept(_ channel: any LineChannel) {
    lastClient += 1
    let id = lastClient
    clients[id] = Client(channel: channel)
    channel.onClose = { [weak self] end in
      if case .queueFull = end {
        self?.log.notice("dropped a control client that does not read")
      }
      self?.clients[id] = nil
    }
    // No legitimate client sends that much without a line end.
    channel.onOverlong = { [weak channel] in
      channel?.send(RPC.error(.invalidRequest("the line is too long"), id: .null))
      channel?.closeAfterSending()
    }
    channel.onEnd = { [weak self] in
      self?.clients[id]?.hasEnded = true
      self?.closeIfDone(id)
    }
    channel.onLine = { [weak self] in self?.receive($0, from: id) }
  }

  /// Closes the connection of a client that has finished sending, as `nc -N` and `socat` do after their input,
  /// once it has its replies. One that has subscribed stays until it leaves.
  private func closeIfDone(_ id: Int) {
    guard let client = clients[id], client.hasEnded, client.calls == 0, client.subscription == nil
    else { return }
    client.channel.closeAfterSending()
  }

  private func receive(_ line: [UInt8], from id: Int) {
    guard let channel = clients[id]?.channel else { return }
    switch dispatcher.receive(line) {
    case .nothing: break
    case .reply(let reply): channel.send(reply)
    case .call(let call, let request):
      clients[id]?.calls += 1
      Loop.start { [weak self] in
        let reply = await call.reply(to: request ?? .null)
        if request != nil { self?.clients[id]?.channel.send(reply) }
        self?.clients[id]?.calls -= 1
        self?.closeIfDone(id)
      }
    case .subscribe(let subscription, let request):
      clients[id]?.subscription = subscription
      if let request { channel.send(RPC.result(true, id: request)) }
      let events = subscription.initialEvents(
        active: answers.replay(), recent: supervisor.feed.recent)
      for event in events { channel.send(event.line) }
    }
  }

  private func deliver(_ event: NumberedEvent) {
    for client in clients.values where client.subscription?.includes(event.event.name) == true {
      client.channel.send(event.line)
    }
  }
}

extension Subscription {
  /// The events that are sent at once: what is active now, then what the client has missed.
  func initialEvents(
    active: @autoclosure () -> [NumberedEvent], recent: RecentEvents
  ) -> [NumberedEvent] {
    var events = replay ? active() : []
    if let since {
      // What is both active and missed is sent once.
      let shown = Set(events.map(\.event))
      events += recent.events(since: since).filter { !shown.contains($0.event) }
    }
    return events.filter { includes($0.event.name) }
  }
}
