// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON

/// One client of the control socket: what it says is read here, and what it hears is decided here.
/// It knows neither the socket nor the daemon.
public struct ControlSession: Sendable {
  /// The longest line that is read, in bytes. The longest request that means something is a
  /// `gatt.write` of 512 bytes.
  public static let maximumLineLength = 8_192

  /// The most that may wait for a client that does not read, in bytes; beyond it the client is
  /// dropped.
  public static let maximumQueueLength = 1 << 20

  /// What the client wants to hear; nil as long as it has not subscribed.
  public private(set) var subscription: Subscription?

  public init() {}

  /// What a line from the client means.
  public enum Input: Hashable, Sendable {
    /// A request to be done, and answered where it has an id.
    case request(ControlRequest, RequestID?)
    /// Nothing can be done; this is the answer, without its line end.
    case reply([UInt8])
    /// Nothing is to be done or said: a blank line, or a wrong call that wants no answer.
    case nothing
  }

  /// Reads a line, without its line end.
  public func receive(_ line: some Collection<UInt8>) -> Input {
    if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return .nothing }
    guard line.count <= Self.maximumLineLength else {
      return .reply(Self.reply(.invalidRequest("the line is too long"), id: .null))
    }
    do throws(JSONError) {
      return receive(try JSONValue(parsing: line))
    } catch {
      return .reply(Self.reply(.parse(error.description), id: .null))
    }
  }

  private func receive(_ message: JSONValue) -> Input {
    guard let object = message.object else {
      let why = message.array == nil ? "not an object" : "batches are not taken: an object a line"
      return .reply(Self.reply(.invalidRequest(why), id: .null))
    }
    var id: RequestID?
    if let member = object["id"] {
      id = RequestID(member)
      guard id != nil else {
        return .reply(Self.reply(.invalidRequest("id is no string or number"), id: .null))
      }
    }
    guard object["jsonrpc"] == "2.0" else {
      return .reply(Self.reply(.invalidRequest("jsonrpc is not “2.0”"), id: id ?? .null))
    }
    guard let method = object["method"]?.string else {
      return .reply(Self.reply(.invalidRequest("method is no string"), id: id ?? .null))
    }
    do throws(RPCError) {
      return .request(try ControlRequest(method: method, params: object["params"]), id)
    } catch {
      // Without an id it is a notification, and those are never answered (section 4.1).
      return id.map { .reply(Self.reply(error, id: $0)) } ?? .nothing
    }
  }

  /// The answer to a request that was done, without its line end.
  public static func reply(_ result: JSONValue, id: RequestID) -> [UInt8] {
    RPCLine.result(result, id: id).utf8
  }

  /// The answer to a request that was not, without its line end.
  public static func reply(_ error: RPCError, id: RequestID) -> [UInt8] {
    RPCLine.error(error, id: id).utf8
  }

  /// Subscribes; the subscription before it ends. Answers with the events that come at once: what is
  /// active now (`active`), then what the client has missed. They go out behind the answer to the
  /// request.
  public mutating func subscribe(
    _ subscription: Subscription, active: @autoclosure () -> [NumberedEvent], ring: EventRing
  ) -> [NumberedEvent] {
    self.subscription = subscription
    var events = subscription.replay ? active() : []
    if let since = subscription.since {
      // What is active and was missed comes once.
      let shown = Set(events.map(\.event))
      events += ring.events(since: since).filter { !shown.contains($0.event) }
    }
    return events.filter { subscription.includes($0.event.name) }
  }

  /// Whether the client wants to hear of an event.
  public func wants(_ event: Event) -> Bool { subscription?.includes(event.name) ?? false }
}
