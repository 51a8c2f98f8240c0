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
  /// Publishes an event of this link.
  let publish: (Event.Content) -> Void
  /// Reports a failure that does not end the session.
  let report: (_ what: String, ATTFailure) -> Void
  /// Runs a user's program with an event of this link; if that event was published, it was the last
  /// one.
  let run: (_ program: [String], Event.Content) -> Void
  /// Called by a service when what the session waits for may have changed.
  let changed: () -> Void

  init(_ session: Session, _ context: SessionContext) {
    client = session.client
    phone = session.phone
    link = session.link
    (log, scheduler, wallTime) = (context.log, context.scheduler, context.wallTime)
    publish = { [unowned session] in session.publish($0) }
    report = { [unowned session] in session.report($0, $1) }
    run = { [unowned session] program, content in
      let event = NumberedEvent(
        seq: context.feed.recent.lastSeq, time: context.wallTime(), session.event(content))
      context.hooks.run(program, for: event)
    }
    changed = { [weak session] in session?.onWaitChange() }
  }

  /// Logs a malformed value from the phone.
  var logDropped: ([UInt8], String) -> Void {
    { [log] bytes, why in log.dropped("from the phone: \(why)", bytes) }
  }
}
