// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Board
import Control
import EventLoop
import GATT

/// What a session provides to its services.
@LoopActor struct ServiceContext {
  let client: Client
  let phone: Phone
  let link: any Link
  /// For lines about this phone.
  let log: Log
  private let daemon: Supervisor
  /// Tasks of the services may outlive it.
  private weak let session: Session?

  init(_ session: Session) {
    (client, phone, link, log) = (session.client, session.phone, session.link, session.log)
    (daemon, self.session) = (session.daemon, session)
  }

  /// The clocks.
  var platform: any Platform { daemon.platform }

  /// Publishes an event of this link.
  func publish(_ content: Event.Content) { session?.publish(content) }

  /// Reports a failure that does not end the session.
  func report(_ what: String, _ failure: ATTFailure) { session?.report(what, failure) }

  /// Runs a user's program with an event of this link; if that event was published, it was the last one.
  func run(_ program: [String], _ content: Event.Content) {
    let (seq, event) = (daemon.feed.recent.lastSeq, phone.event(content))
    daemon.hooks.run(program, for: NumberedEvent(seq: seq, time: platform.wallTime, event))
  }

  /// Called by a service when what the session waits for may have changed.
  func changed() { session?.onWaitChange() }

  /// Logs a malformed value from the phone.
  var logDropped: ([UInt8], String) -> Void {
    { [log] bytes, why in log.dropped("from the phone: \(why)", bytes) }
  }
}
