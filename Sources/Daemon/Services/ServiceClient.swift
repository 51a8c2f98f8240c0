// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Board
import Control
import EventLoop
import GATT
import Wire

/// The client of one of the phone's services, for the life of a session. A session has a table of
/// them (`SessionServices`); CONTRIBUTING.md says how to add one.
///
///     located ──▶ subscribe ──▶ run ──▶ end
///
@LoopActor protocol ServiceClient: AnyObject {
  /// The service's type.
  var uuid: UUID { get }
  /// The types of the characteristics that are used of it.
  var characteristics: [UUID] { get }
  /// Its name in events and in `status`; nil for one that only the session itself uses.
  var name: PhoneService? { get }
  /// Its name in errors, as in `subscribing to notifications`.
  var title: String { get }
  /// When it is set up.
  var phase: ServicePhase { get }
  /// Which one is used where the phone has several.
  var instance: WantedService.Instance { get }
  /// Whether the phone has it and it is in use.
  var isActive: Bool { get }

  /// Subscribes to a located service.
  ///
  /// - Parameter anew: whether an earlier subscription on this link may still be active. It has to
  ///   be ended first, because a phone reports its current state only when a subscription begins.
  func subscribe(to service: LocatedService, anew: Bool) async throws(SubscriptionFailure)
  /// Runs until the service or the session ends; returns at once if it is already running.
  func run() async throws(ATTFailure)
  /// Called when the service is gone or the session is over. It may be subscribed to again.
  func end()

  /// Fills in its part of the link's status.
  func describe(in report: inout LinkReport)
}

extension ServiceClient {
  var instance: WantedService.Instance { .first }
  func run() async throws(ATTFailure) {}
  func describe(in report: inout LinkReport) {}
}

/// When a service is set up.
enum ServicePhase {
  /// Before the session is reported as subscribed: what must not wait.
  case first
  /// After everything else, and after the session is reported as subscribed.
  case later
}

/// Why a service is not subscribed to.
enum SubscriptionFailure: Error {
  /// It lacks a mandatory characteristic or CCCD; the text names the service.
  case incomplete(String)
  case failed(ATTFailure)
}
