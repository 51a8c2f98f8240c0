// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Board
import Control
import EventLoop
import Mgmt
import Wire

/// Every phone that has connected since the start: who it is when it connects again, and who hears of its notifications
/// while it is here and while it is away.
@LoopActor final class PhoneBook {
  private(set) var phones: [Phone] = []
  /// How long the notifications of a phone are kept when its link is lost.
  var grace: Duration { didSet { for phone in phones { phone.notifications.period = grace } } }
  private let feed: EventFeed
  private let rules: RuleBook
  private let scheduler: any Scheduler

  init(_ feed: EventFeed, _ rules: RuleBook, _ scheduler: any Scheduler, grace: Duration) {
    self.feed = feed
    self.rules = rules
    self.scheduler = scheduler
    self.grace = grace
  }

  /// The phone on a link that begins, if it was here before.
  func known(on link: any Link) -> Phone? {
    phones.first { $0.identity == link.phone && $0.adapter == link.adapter && $0.session == nil }
  }

  /// Adds the phone on a link.
  ///
  /// - Parameters:
  ///   - number: the link's.
  ///   - keys: the bonds of its adapter; nil for a phone without a radio.
  func add(on link: any Link, _ number: Int, _ keys: KeyKeeper?) -> Phone {
    var cache = link.phone.flatMap { keys?.cache(of: $0) } ?? PhoneCache()
    let phone = Phone(number, on: link, PhoneNotifications(keeping: grace, scheduler, seen: cache.seen))
    cache.name = link.phone.flatMap { keys?.ring[$0]?.name }
    cache.seen = SeenContents()
    phone.cache = cache
    follow(phone)
    phones.append(phone)
    return phone
  }

  /// Publishes what clients are to be told of a phone's notifications, and does what the rules say.
  private func follow(_ phone: Phone) {
    let notifications = phone.notifications
    judge(phone)
    notifications.onPublish = { [feed, weak phone] in
      if let phone { feed.publish(phone.event(.notification($0))) }
    }
    notifications.onAct = { [rules, weak phone] in
      phone?.session?.perform(rules.rules[$0], on: $1)
    }
    notifications.onForgotten = { [feed, weak phone] in
      guard let phone else { return }
      feed.publish(
        phone.event(
          .error(
            what: "keeping the phone's notifications", code: nil,
            message: "there are too many of them: the oldest are no longer listed")))
    }
  }

  /// Judges a phone's notifications by the rules, again if they were judged before.
  private func judge(_ phone: Phone) { phone.notifications.rulesChanged(rules.judge(for: phone)) }

  /// The rules on notifications, or what is fetched without one, have changed.
  func rulesChanged() { for phone in phones { judge(phone) } }

  /// The daemon exits, which ends for its clients what they were told: nothing more is published of notifications.
  func close() { for phone in phones { phone.notifications.onPublish = { _ in } } }

  /// A phone's name or identity has become known, which rules may be about. Judging again without need would fetch again
  /// what is being fetched.
  func named(_ phone: Phone) { if rules.rules.selectPhones { judge(phone) } }

  /// A phone with a private address turned out to be one that was here before: what was kept of that one goes.
  func identified(_ phone: Phone) {
    named(phone)
    let key = (phone.adapter, phone.identity)
    for former in phones where former !== phone && former.session == nil && (former.adapter, former.identity) == key {
      forget(former)
    }
  }

  /// Drops everything known of a phone. Clients are told that its notifications are gone.
  func forget(_ phone: Phone) {
    phone.notifications.clear()
    phones.removeAll { $0 === phone }
  }

  /// The same for a phone whose bond was removed.
  func forget(_ identity: DeviceAddress) {
    for phone in phones where phone.identity == identity { forget(phone) }
  }
}
