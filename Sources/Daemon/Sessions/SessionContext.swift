// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Board
import Control
import EventLoop
import GATT
import Wire

/// What the daemon provides to a session.
@LoopActor struct SessionContext {
  var feed: EventFeed
  /// For lines about this phone, with a rate limit.
  var log: Log
  /// The board's name, as the phone shows it.
  var name: String
  var scheduler: any Scheduler
  var wallTime: () -> WallTime
  /// The board's own attributes, which the phone may read.
  var database: AttributeDatabase
  var rules: RuleBook
  var hooks: HookRunner
  var quirks: Quirks
  /// Where the ATT PDUs are captured; nil without `--btsnoop`.
  var capture: CaptureWriter?
  /// Saves what was learned about a phone.
  var remember: (Phone) -> Void
  /// The phone on a link that is secured.
  var recognise: (any Link) -> Phone?
  /// Called when a phone's identity becomes known on its link.
  var identified: (Phone) -> Void
  /// Called when a phone's name was read.
  var named: (Phone) -> Void
}

/// What a session provides to its services.
@LoopActor struct ServiceContext {
  let client: Client
  let phone: Phone
  let link: any Link
  /// For lines about this phone.
  let log: Log
  let scheduler: any Scheduler
  let wallTime: () -> WallTime
  private let feed: EventFeed
  private let hooks: HookRunner
  /// Tasks of the services may outlive it.
  private weak let session: Session?

  init(_ session: Session, _ context: SessionContext) {
    client = session.client
    phone = session.phone
    link = session.link
    (log, scheduler, wallTime) = (context.log, context.scheduler, context.wallTime)
    (feed, hooks) = (context.feed, context.hooks)
    self.session = session
  }

  /// Publishes an event of this link.
  func publish(_ content: Event.Content) { session?.publish(content) }

  /// Reports a failure that does not end the session.
  func report(_ what: String, _ failure: ATTFailure) { session?.report(what, failure) }

  /// Runs a user's program with an event of this link; if that event was published, it was the last one.
  func run(_ program: [String], _ content: Event.Content) {
    guard let event = session?.event(content) else { return }
    hooks.run(program, for: NumberedEvent(seq: feed.recent.lastSeq, time: wallTime(), event))
  }

  /// Called by a service when what the session waits for may have changed.
  func changed() { session?.onWaitChange() }

  /// Logs a malformed value from the phone.
  var logDropped: ([UInt8], String) -> Void {
    { [log] bytes, why in log.dropped("from the phone: \(why)", bytes) }
  }
}
