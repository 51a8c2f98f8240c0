// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
public import Wire

/// Keeps an eye on what everything waits for, and tells when that changes: at once, and again when it has
/// lasted for a few seconds, which is what a log wants to know.
///
/// It is told that something may have changed (`mayHaveChanged`) and looks once the work at hand is
/// done; without that it does nothing, so a daemon with nothing to do stays asleep.
@LoopActor
public final class WaitBoard {
  /// What one thing waits for.
  public struct Standing: Hashable, Sendable {
    /// Whose wait it is.
    public var subject: Subject
    public var wait: Wait

    public init(_ subject: Subject, _ wait: Wait) {
      self.subject = subject
      self.wait = wait
    }
  }

  /// Who waits: an adapter, a link, or the daemon itself.
  public struct Subject: Hashable, Sendable {
    /// As in `hci0`, or as it was named; nil where there is none.
    public var adapter: String?
    /// Counts the links, from 1 on; nil where it is none.
    public var link: Int?
    /// The phone at the other end, as far as it is known.
    public var phone: Address?

    public init(adapter: String? = nil, link: Int? = nil, phone: Address? = nil) {
      self.adapter = adapter
      self.link = link
      self.phone = phone
    }

    /// The same one, also when it is learned later who the phone is.
    fileprivate var identity: Subject { Subject(adapter: link == nil ? adapter : nil, link: link) }
  }

  /// How long something has to last before it is worth a line in the log.
  public static let patience: Duration = .seconds(3)

  /// Asked for everything that waits now.
  public var current: () -> [Standing] = { [] }
  /// Is told what somebody waits for from now on.
  public var onChange: (Standing) -> Void = { _ in }
  /// Is told what has lasted, once.
  public var onLasting: (Standing) -> Void = { _ in }

  private let scheduler: any Scheduler
  private var known: [Subject: Record] = [:]
  private var isDue = false

  private struct Record {
    var wait: Wait?
    var since: Instant
    var timer: TimerID?
    /// What was told as lasting.
    var told: Wait?
  }

  public init(scheduler: any Scheduler) { self.scheduler = scheduler }

  /// Looks soon, once, however often it was called.
  public func mayHaveChanged() {
    guard !isDue else { return }
    isDue = true
    _ = scheduler.schedule(at: scheduler.now) { [weak self] in
      self?.isDue = false
      self?.look()
    }
  }

  private func look() {
    var standings: [Subject: Standing] = [:]
    var order: [Subject] = []
    for standing in current() {
      let identity = standing.subject.identity
      if standings.updateValue(standing, forKey: identity) == nil { order.append(identity) }
    }
    for subject in order where known[subject]?.wait != standings[subject]?.wait {
      if let standing = standings[subject] { change(subject, to: standing) }
    }
    for (subject, record) in known where standings[subject] == nil && record.wait != nil {
      change(subject, to: nil)
    }
  }

  private func change(_ subject: Subject, to standing: Standing?) {
    var record = known[subject] ?? Record(since: scheduler.now)
    if let timer = record.timer { scheduler.cancel(timer) }
    record.timer = nil
    // After a while without any wait the next one is news, whatever it is.
    if record.wait == nil, scheduler.now - record.since >= Self.patience { record.told = nil }
    record.wait = standing?.wait
    record.since = scheduler.now
    known[subject] = record
    guard let standing else {
      // A link that has ended never comes back.
      if subject.link != nil { known[subject] = nil }
      return
    }
    onChange(standing)
    // Once all is well, nothing is to wake the daemon up just to say so.
    if standing.wait.isUrgent || standing.wait.isRest { return hasLasted(subject, standing) }
    known[subject]?.timer = scheduler.schedule(after: Self.patience) { [weak self] in
      self?.hasLasted(subject, standing)
    }
  }

  private func hasLasted(_ subject: Subject, _ standing: Standing) {
    guard var record = known[subject], record.wait == standing.wait else { return }
    record.timer = nil
    let isNews = record.told != standing.wait
    record.told = standing.wait
    known[subject] = record
    if isNews { onLasting(standing) }
  }
}
