// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Fleet
import JSON
import Wire

/// What is sent about a notification: no more of it than `content` allows.
struct ForwardMessage: Hashable, Sendable {
  private(set) var title: String
  private(set) var body: String
  /// The call that it is about; nil for other notifications.
  private(set) var call: Call?
  /// The event of the daemon's run that it is about; nil if that run has ended.
  var seq: UInt64?
  /// When it was told.
  let came: Instant

  /// A call, as both of its notifications (it comes, it was missed) name it.
  struct Call: Hashable, Sendable {
    var phone: Address?
    var caller: String?
  }

  init(title: String, body: String) {
    (self.title, self.body, came) = (title, body, .zero)
  }

  /// - Parameter phone: what the phone is called, if that is known.
  init(
    _ event: NumberedEvent, _ report: NotificationReport, phone: String?, _ level: ContentLevel,
    at now: Instant
  ) {
    (seq, came) = (event.seq, now)
    let category = report.event.category
    if category == .incomingCall || category == .missedCall {
      call = Call(phone: event.event.phone, caller: report.attributes.title)
    }
    let kind = Self.kinds[category] ?? "New notification"
    let app = report.app ?? report.attributes.appIdentifier ?? "Notification"
    let heading = report.attributes.title.flatMap { $0.isEmpty ? nil : $0 }
    let texts = [report.attributes.subtitle, level == .full ? report.attributes.message : nil]
    let shown = texts.compactMap { $0 }.filter { !$0.isEmpty }
    switch level {
    case .none: (title, body) = ("ancsd", "A notification on \(phone ?? "the phone")")
    case .app: (title, body) = (app, kind)
    case .title, .full:
      title = heading.map { "\($0) – \(app)" } ?? app
      body = shown.isEmpty ? kind : shown.joined(separator: "\n")
    }
    // Nothing that ends or hides what follows in a terminal, a log or a mail.
    (title, body) = (title.printable, body.printableLines)
  }

  private static let kinds: [Category: String] = [
    .incomingCall: "Incoming call", .missedCall: "Missed call", .voicemail: "Voicemail",
  ]

  /// For the program that sends it.
  var line: [UInt8] {
    JSONValue.object(["title": .string(title), "body": .string(body)]).json + [UInt8(ascii: "\n")]
  }
}
