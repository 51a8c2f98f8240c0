// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Control
import EventLoop
import GATT
import Wire

/// One of the phone's services with the daemon as its client, for the life of a session. A session has
/// a table of them (`SessionServices`); CONTRIBUTING.md says how to add one.
///
///     located ──▶ subscribe ──▶ run ──▶ end
///        └── read: a service that can wait is first read by its type, in one request
@LoopActor protocol ServiceClient: AnyObject {
  /// The service's type.
  var uuid: UUID { get }
  /// What events and statuses call it; nil for one that the session uses for itself.
  var name: PhoneService? { get }
  /// What it is called in errors, as in `subscribing to notifications`.
  var title: String { get }
  /// When it is set up.
  var phase: ServicePhase { get }
  /// Which one counts where the phone shows several.
  var instance: Client.Instance { get }
  /// Whether the phone has it, and it is in use.
  var isActive: Bool { get }

  /// Reads what one request brings, before the service is located.
  func read() async throws(ATTFailure)
  /// Subscribes to a service that was located (nil: read, but not found).
  ///
  /// - Parameter anew: whether an older subscription of this link may still stand. It has to be ended
  ///   first, because a phone tells what it has only when a subscription begins.
  func subscribe(to service: LocatedService?, anew: Bool) async throws(SubscriptionFailure)
  /// Is called when the session reports `subscribed`, to report what is already known.
  func announce()
  /// Serves until the service or the session ends; returns at once where it already runs.
  func run() async throws(ATTFailure)
  /// Ends: the service is gone, or the session is over. It may be subscribed to again.
  func end()

  /// What is active now, for a client that joins later.
  func replay() -> [Event.Content]
  /// Fills in the link's status.
  func describe(in report: inout LinkReport)
}

extension ServiceClient {
  var instance: Client.Instance { .first }
  func read() async throws(ATTFailure) {}
  func announce() {}
  func run() async throws(ATTFailure) {}
  func replay() -> [Event.Content] { [] }
  func describe(in report: inout LinkReport) {}
}

/// When a service is set up.
enum ServicePhase {
  /// Before the session is reported as subscribed.
  case first
  /// Read by its type at first, and located and subscribed to when everything else is done.
  case later
}

/// Why a service is not subscribed to.
enum SubscriptionFailure: Error {
  /// It lacks a characteristic or a configuration that it must have; the text names the service.
  case incomplete(String)
  case failed(ATTFailure)
}
