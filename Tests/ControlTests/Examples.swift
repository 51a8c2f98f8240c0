// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import JSON
import Mgmt
import Wire

@testable import Control

/// One event of each kind. `EventCorpus` has them, too, and so their lines are recorded.
enum Examples {
  static let time = WallTime(seconds: 1_795_244_400, nanoseconds: 42_000_000)
  static let phone = Address("C0:11:22:33:44:55")

  static var notification: NotificationReport {
    var report = NotificationReport(
      NotificationEvent(
        .added, 12, category: .social, categoryCount: 2, flags: [.positiveAction, .negativeAction]))
    report.app = "Messages"
    report.attributes[.appIdentifier] = "com.apple.MobileSMS"
    report.attributes[.title] = "Anna"
    report.attributes[.subtitle] = ""
    report.attributes[.message] = "Dinner tonight?"
    report.attributes.messageSize = 15
    report.attributes.fetchedDate = CivilTime(secondsSince1970: 1_795_244_399)
    report.attributes[.positiveActionLabel] = "Reply"
    report.attributes[.negativeActionLabel] = "Clear"
    return report
  }

  static var media: MediaState {
    var media = MediaState()
    media.player.name = "Music"
    media.player.state = .playing
    media.player.rate = 1
    media.player.position = MediaState.Position(seconds: 67.0004, instant: .zero)
    media.player.volume = 0.0625
    media.queue.index = 0
    media.queue.count = 12
    media.queue.shuffleMode = .off
    media.track.title = "Lovers Dream"
    media.track.artist = "Anna Ternheim"
    media.track.duration = 252.5
    media.commands = [.play, .pause]
    return media
  }

  static let all: [Event.Content] = [
    .ready(address: Address("00:1A:7D:DA:71:13"), name: "kitchen", version: "0.1.0", life: "2f"),
    .advertising(pairable: true), .connected(encrypted: true, bonded: false),
    .connected(encrypted: false, bonded: true, profile: .solicitHeartRate),
    .pairing(PairingQuestion(.display, passkey: Passkey(value: 42))),
    .pairing(PairingQuestion(.confirm, passkey: Passkey(value: 7), seconds: 30)),
    .pairing(PairingQuestion(.justWorks)), .paired, .pairingFailed(reason: "refused"),
    .subscribed([.ancs, .ams, .battery, .time], mtu: 185, requests: 15),
    .authorization(.unknown(until: .notification)),
    .incoming(
      NotificationEvent(
        .removed, 0xFFFF_FFFE, category: Category(rawValue: 12), categoryCount: 0, flags: [.silent, .preExisting])),
    .notification(notification), .media(media, changed: [.trackTitle]), .battery(level: 80),
    .time(CivilTime(secondsSince1970: 1_795_244_400), offset: -1.25),
    .stale(what: "no answer", remedy: "wait"), .servicesChanged([]),
    .disconnected(reason: "Connection Timeout"), .lost(count: 3, first: 5, last: 9),
    .why(wait: "mtu", why: "connected"), .error(what: "read", code: 3, message: "m"),
    .error(what: "negative on #1", code: nil, message: "m", rule: "spam"),
  ]
}

extension JSONCodable {
  /// The value as JSON text on one line.
  var jsonText: String { String(decoding: json, as: UTF8.self) }
}
