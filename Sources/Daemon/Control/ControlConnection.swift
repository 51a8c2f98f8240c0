// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Board
import Control
import EventLoop
import Wire

/// A client of the control socket: its lines in, and what waits to be sent to it.
///
///     client ──▶ onLine ──▶ begin ──▶ (a call) ──▶ finish ──┐
///                                      deliver, replay ─────┴─▶ outgoing ──▶ channel ──▶ client
///
/// A client that asks too much at a time is not read until some of it is answered; so is one that has not
/// read what it asked for. One that only listens, and does not read, is dropped, so that it never holds up
/// the radio or another client.
@LoopActor final class ControlConnection {
  /// The events that it wants; nil until it subscribes.
  private(set) var subscription: Subscription?
  /// Tells the calls under way that the client has gone.
  let cancellation = Cancellation()

  /// What the client sends.
  private enum Input {
    case open
    /// It is not read until what it has asked for is done.
    case paused
    /// It has finished sending, and still waits for what it asked for.
    case ended
  }

  private enum Outgoing {
    case reply([UInt8])
    /// An event that the client asked for with `replay` or `since`.
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
  /// How many of its calls are under way, or their replies wait to be sent.
  private var calls = 0
  /// How many earlier events wait to be sent.
  private var earlier = 0
  /// How many bytes of replies wait to be sent.
  private var replyBytes = 0
  /// How many bytes of live events wait to be sent.
  private var liveBytes = 0
  private var outgoing = FIFO<Outgoing>()

  /// - Parameters:
  ///   - onLine: called with each line that the client sends.
  ///   - onClose: called once when the connection has ended; with a sentence if it was ended here.
  init(
    _ channel: any LineChannel, onLine: @escaping ([UInt8]) -> Void,
    onClose: @escaping (_ why: String?) -> Void
  ) {
    self.channel = channel
    self.onLine = onLine
    self.onClose = onClose
    channel.onClose = { [weak self] end in
      self?.ended(end == .queueFull ? "it does not read" : nil)
    }
    // No legitimate client sends that much without a line end.
    channel.onOverlong = { [weak channel] in
      channel?.send(RPC.error(.invalidRequest("the line is too long"), id: .null))
      channel?.closeAfterSending()
    }
    channel.onEnd = { [weak self] in
      self?.input = .ended
      self?.goOn()
    }
    channel.onDrained = { [weak self] in self?.send() }
    channel.onLine = onLine
  }

  /// Closes the connection once what waits has been sent, as far as there is room for it.
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
    goOn()
  }

  /// A call is done; nil if the client wants no reply.
  func finish(_ reply: [UInt8]?) {
    if let reply {
      outgoing.append(.reply(reply))
      replyBytes += reply.count
      send()
    } else {
      calls -= 1
      goOn()
    }
  }

  // MARK: Events

  /// The client wants other events from now on; `events` are those before, in place of those that still wait.
  func subscribe(_ subscription: Subscription, from events: [NumberedEvent]) {
    self.subscription = subscription
    outgoing.removeAll { if case .earlier = $0 { true } else { false } }
    for event in events { outgoing.append(.earlier(event)) }
    earlier = events.count
    send()
  }

  /// Sends an event, if the client wants it.
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

  /// Sends what waits, as far as the client reads.
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
    goOn()
  }

  /// Reads on, pauses, or closes, as the calls under way have it.
  private func goOn() {
    let isBusy =
      calls >= ControlLimits.requestsOfClient || earlier > 0 || replyBytes > ControlLimits.answer
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
