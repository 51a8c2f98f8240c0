// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Board
import Control
import EventLoop
import Wire

/// A client of the control socket: its incoming lines and its outgoing queue.
///
///     client ──▶ onLine ──▶ begin ──▶ (a call) ──▶ finish ──┐
///                                      deliver, replay ─────┴─▶ outgoing ──▶ channel ──▶ client
///
/// The daemon stops reading from a client that has too many requests in progress until some are answered, and from one
/// that has not read its responses. It drops a subscriber that does not read, so that no client ever delays the radio
/// or another client.
@LoopActor final class ControlConnection {
  /// The events it subscribed to; nil until it subscribes.
  private(set) var subscription: Subscription?
  /// Tells the calls in progress that the client has disconnected.
  let cancellation = Cancellation()

  /// What the client sends.
  private enum Input {
    case open
    /// Not read until its requests are done.
    case paused
    /// It has finished sending, and still waits for responses.
    case ended
  }

  private enum Outgoing {
    case reply([UInt8])
    /// An event requested with `replay` or `since`.
    case earlier(NumberedEvent)
    case live(NumberedEvent)

    var line: [UInt8] {
      switch self {
      case .reply(let line): line
      case .earlier(let event), .live(let event): event.line
      }
    }
  }

  private let channel: any LineChannel
  private let onLine: ([UInt8]) -> Void
  private let onClose: (_ why: String?) -> Void
  private var input = Input.open
  /// The number of its calls in progress, or with responses waiting to be sent.
  private var calls = 0
  /// The number of earlier events waiting to be sent.
  private var earlier = 0
  /// The bytes of responses waiting to be sent.
  private var replyBytes = 0
  /// The bytes of live events waiting to be sent.
  private var liveBytes = 0
  private var outgoing = FIFO<Outgoing>()

  /// - Parameters:
  ///   - onLine: called with each line that the client sends.
  ///   - onClose: called once when the connection has ended; with a reason if the daemon ended it.
  init(_ channel: any LineChannel, onLine: @escaping ([UInt8]) -> Void, onClose: @escaping (_ why: String?) -> Void) {
    self.channel = channel
    self.onLine = onLine
    self.onClose = onClose
    channel.onClose = { [weak self] end in
      self?.ended(end == .queueFull ? "it does not read" : nil)
    }
    // No legitimate client sends so long a line.
    channel.onOverlong = { [weak channel] in
      channel?.send(RPC.error(.invalidRequest("the line is too long"), id: .null))
      channel?.closeAfterSending()
    }
    channel.onEnd = { [weak self] in
      self?.input = .ended
      self?.settle()
    }
    channel.onDrained = { [weak self] in self?.send() }
    channel.onLine = onLine
  }

  /// Closes the connection once its queue has been sent, as far as the socket has room.
  func close() {
    while channel.queuedBytes < ControlLimits.window, let next = outgoing.popFirst() {
      channel.send(next.line)
    }
    channel.closeAfterSending()
  }

  // MARK: Calls

  /// A call begins.
  func begin() {
    calls += 1
    settle()
  }

  /// A call is done; nil if the client expects no response.
  func finish(_ reply: [UInt8]?) {
    if let reply {
      outgoing.append(.reply(reply))
      replyBytes += reply.count
      send()
    } else {
      calls -= 1
      settle()
    }
  }

  // MARK: Events

  /// Replaces the client's subscription; `events` are earlier ones, which replace those still waiting.
  func subscribe(_ subscription: Subscription, from events: [NumberedEvent]) {
    self.subscription = subscription
    outgoing.removeAll { if case .earlier = $0 { true } else { false } }
    for event in events { outgoing.append(.earlier(event)) }
    earlier = events.count
    send()
  }

  /// Sends an event if the client subscribed to it.
  func deliver(_ event: NumberedEvent) {
    guard subscription?.includes(event.event.name) == true else { return }
    outgoing.append(.live(event))
    liveBytes += event.line.count
    send()
    guard liveBytes > ControlLimits.queue else { return }
    channel.close()
    ended("it does not read")
  }

  // MARK: The channel

  /// Sends from the queue, as far as the client reads.
  private func send() {
    while channel.queuedBytes < ControlLimits.window, let next = outgoing.popFirst() {
      switch next {
      case .reply(let reply):
        calls -= 1
        replyBytes -= reply.count
      case .earlier: earlier -= 1
      case .live(let event): liveBytes -= event.line.count
      }
      channel.send(next.line)
    }
    settle()
  }

  /// Resumes reading, pauses, or closes, depending on the calls in progress.
  private func settle() {
    let isBusy = calls >= ControlLimits.requestsOfClient || earlier > 0 || replyBytes > ControlLimits.response
    switch input {
    case .open where isBusy:
      input = .paused
      channel.onLine = nil
    case .paused where !isBusy:
      input = .open
      channel.onLine = onLine
    case .ended where calls == 0 && subscription == nil: channel.closeAfterSending()
    case .open, .paused, .ended: break
    }
  }

  private func ended(_ why: String?) {
    outgoing.removeAll()
    cancellation.cancel()
    onClose(why)
  }
}
