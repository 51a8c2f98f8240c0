// SPDX-License-Identifier: GPL-3.0-or-later

/// The timeouts and intervals of a notification consumer. The defaults are those of proven firmware (PebbleOS).
public struct ConsumerTiming: Hashable, Sendable {
  /// For the next part of a response.
  public var response: Duration = .seconds(10)
  /// For a complete response, however slowly it arrives.
  public var wholeResponse: Duration = .seconds(120)
  /// Before the first probe, which only determines whether the phone allows access.
  public var firstProbe: Duration = .seconds(1)
  /// Between two probes, which check whether the phone still knows the session.
  public var probe: Duration = .seconds(15 * 60)
  /// For the response to a probe.
  public var probeResponse: Duration = .seconds(5)
  /// Of silence on the Notification Source, before the subscriptions are written again.
  public var silence: Duration = .seconds(6 * 3600)
  /// Before retrying with a phone that refused access; doubled each time, up to `longestRetry`.
  public var retry: Duration = .seconds(5)
  public var longestRetry: Duration = .seconds(60)
  /// After a subscription, in which what is announced as pre-existing counts as such.
  public var preExisting: Duration = .seconds(10)
  /// Whether a response on the Control Point proves that the phone shares its notifications.
  public var responsesProve = false
  /// The longest time that a call rings, in case its removal is lost.
  public var call: Duration = .seconds(120)

  public init() {}
}
