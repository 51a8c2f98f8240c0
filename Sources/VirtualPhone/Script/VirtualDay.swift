// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Wire

/// The script of `--virtual-phone`: every category, a call that is answered and one that is missed, a message longer than
/// any maximum, a modification, and music. It takes about sixteen seconds.
public enum VirtualDay {
  /// A command, and its time after the one before.
  public typealias Moment = (after: Duration, command: PhoneCommand)

  /// Commands before the first session.
  public static let before: [PhoneCommand] = [
    .add(Texts.dentist, uid: 1), .add(Texts.newsletter, uid: 2), .add(Texts.parcel, uid: 3),
    .media(Texts.playing, playlist: Texts.album),
  ]

  /// Commands from the first session on, once.
  public static let moments: [Moment] = [
    (.milliseconds(800), .add(Texts.mother, uid: 10)), (.milliseconds(700), .add(Texts.headline, uid: 11)),
    (.milliseconds(700), .remote(.nextTrack)), (.milliseconds(700), .add(Texts.letter, uid: 12)),
    (.milliseconds(700), .add(Texts.rings, uid: 13)), (.milliseconds(600), .modify(10, Texts.motherAgain)),
    (.milliseconds(700), .add(Texts.payment, uid: 14)), (.milliseconds(700), .add(Texts.call, uid: 15)),
    (.milliseconds(200), .media(Texts.paused)),
    // The call is answered: its notification is removed, and the music pauses.
    (.milliseconds(2200), .remove(15)), (.milliseconds(500), .add(Texts.arrival, uid: 16)),
    (.milliseconds(700), .add(Texts.episode, uid: 17)), (.milliseconds(600), .remote(.play)),
    (.milliseconds(500), .remote(.volumeUp)), (.milliseconds(500), .add(Texts.secondCall, uid: 18)),
    // The call is missed.
    (.milliseconds(1300), .remove(18)), (.milliseconds(100), .add(Texts.missedCall, uid: 19)),
    (.milliseconds(700), .add(Texts.voicemail, uid: 20)), (.milliseconds(500), .battery(79)),
    (.milliseconds(500), .remote(.nextTrack)), (.milliseconds(600), .add(Texts.update, uid: 21)),
    (.milliseconds(500), .remove(11)), (.milliseconds(500), .add(Texts.meeting, uid: 22)),
    (.milliseconds(500), .media(Texts.paused)),
  ]

  /// Commands after those, repeated.
  static let afterwards: [Moment] = [
    (.seconds(20), .add(Texts.mother)), (.seconds(15), .remote(.togglePlayPause)), (.seconds(25), .add(Texts.headline)),
    (.seconds(20), .remote(.nextTrack)), (.seconds(30), .add(Texts.letter)), (.seconds(20), .add(Texts.arrival)),
    (.seconds(10), .remote(.volumeDown)), (.seconds(10), .remote(.volumeUp)), (.seconds(30), .add(Texts.payment)),
  ]

  /// The names of the script's apps, and of some others.
  static let apps = [
    "com.apple.MobileSMS": "Messages", "com.apple.mobilephone": "Phone", "com.apple.facetime": "FaceTime",
    "com.apple.mobilemail": "Mail", "com.apple.mobilecal": "Calendar", "com.apple.reminders": "Reminders",
    "com.apple.news": "News", "com.apple.Health": "Health", "com.apple.Fitness": "Fitness", "com.apple.Maps": "Maps",
    "com.apple.podcasts": "Podcasts", "com.apple.Music": "Music", "com.apple.AppStore": "App Store",
    "com.example.bank": "Sparkasse", "com.example.parcel": "Paketdienst",
  ]
}

extension EventFlags {
  /// An undocumented bit in notifications of a photo app; it may mean that there is a picture.
  fileprivate static let attachment = EventFlags(rawValue: 0x20)
}

/// The contents of the script.
private enum Texts {
  static let dentist = NotificationContents(
    .schedule, app: "com.apple.mobilecal", title: "Dentist", message: "Today at 10:30", negative: "Clear")
  static let newsletter = NotificationContents(
    .email, app: "com.apple.mobilemail", title: "Debian Project", subtitle: "Updated Debian 12",
    message: "The Debian project is pleased to announce an update of its stable distribution.",
    negative: "Clear", flags: .silent)
  static let parcel = NotificationContents(
    .other, app: "com.example.parcel", title: "On its way",
    message: "Your parcel arrives today between 13:00 and 15:00.", negative: "Clear")

  static let mother = NotificationContents(
    .social, app: "com.apple.MobileSMS", title: "Mum",
    message: "Are you coming on Saturday? 🍰", positive: "Reply", negative: "Clear")
  static let motherAgain = NotificationContents(attributes: [
    .message: Array("Are you coming on Sunday? 🍰 Saturday is too early.".utf8)
  ])
  static let headline = NotificationContents(
    .news, app: "com.apple.news", title: "Science",
    message: "A comet that was last seen 70,000 years ago is back in the morning sky ☄️",
    negative: "Clear", flags: .attachment)
  static let rings = NotificationContents(
    .healthAndFitness, app: "com.apple.Fitness", title: "Activity",
    message: "You closed your Move ring, two hours earlier than usual.", negative: "Clear", flags: .silent)
  static let payment = NotificationContents(
    .businessAndFinance, app: "com.example.bank", title: "Bäckerei Müller",
    subtitle: "Card payment", message: "−4,80 €", negative: "Clear")
  // Older phones put directional marks around phone numbers.
  static let call = NotificationContents(
    .incomingCall, app: "com.apple.mobilephone", title: "\u{202D}+49 30 5550 0199\u{202C}",
    message: "Incoming Call", positive: "Answer", negative: "Decline", flags: .important)
  static let secondCall = NotificationContents(
    .incomingCall, app: "com.apple.mobilephone", title: "Grace Hopper",
    message: "Incoming Call", positive: "Answer", negative: "Decline", flags: .important)
  static let missedCall = NotificationContents(
    .missedCall, app: "com.apple.mobilephone", title: "Grace Hopper", message: "Missed call",
    positive: "Dial", negative: "Clear")
  static let voicemail = NotificationContents(
    .voicemail, app: "com.apple.mobilephone", title: "Grace Hopper",
    message: "Voicemail, 0:42", positive: "Dial", negative: "Clear")
  static let arrival = NotificationContents(
    .location, app: "com.apple.Maps", title: "Time to leave",
    message: "25 min to Dentist, traffic is light.", negative: "Clear")
  static let episode = NotificationContents(
    .entertainment, app: "com.apple.podcasts", title: "Nachtwache 夜間放送",
    subtitle: "Folge 118", message: "Wie ein Signal um die Erde reist 📡", negative: "Clear")
  static let update = NotificationContents(
    .other, app: "com.apple.AppStore", title: "3 apps were updated", message: "", negative: "Clear", flags: .silent)
  static let meeting = NotificationContents(
    .schedule, app: "com.apple.mobilecal", title: "Stand-up", subtitle: "Room 2",
    message: "In 15 minutes", positive: "Snooze", negative: "Clear")

  /// A letter of 2,500 bytes with characters of two, three and four bytes throughout, so that cutting it
  /// is likely to cut a character.
  static let letter: NotificationContents = {
    let day = [
      "We left the hut before sunrise 🌄 and had the glacier to ourselves; ",
      "at the col the wind was so strong that nobody heard a word — ",
      "Åse pointed 👉, and by nine we stood on the summit 🧗‍♀️🧗🏽‍♂️. ", "日の出はとても綺麗で、写真をたくさん撮りました。",
      "Lunch: 🧀🥖🍎, and a marmot 🐿️ watched. ",
    ].joined()
    let days = (1...7).map { "Day \($0): \(day)" }
    return NotificationContents(
      .email, app: "com.apple.mobilemail", title: "Jürgen Åström", subtitle: "Seven days in the mountains 🏔️",
      message: "Dear family,\n" + days.joined(separator: "\n") + "\nJ.", negative: "Clear")
  }()

  static let album = [
    MediaState.Track(artist: "Nina Simone", album: "Pastel Blues", title: "Sinnerman", duration: 622.04),
    // Too long for an Entity Update at the usual MTU, so the remote reads it whole.
    MediaState.Track(
      artist: "Johann Sebastian Bach; Collegium Vocale Gent, Philippe Herreweghe", album: "Johannes-Passion, BWV 245",
      title: "Johannes-Passion, BWV 245, Erster Teil: 1. Chor „Herr, unser Herrscher, dessen "
        + "Ruhm in allen Landen herrlich ist! Zeig uns durch deine Passion, dass du, der wahre "
        + "Gottessohn, zu aller Zeit, auch in der größten Niedrigkeit, verherrlicht worden bist“", duration: 521.5),
    MediaState.Track(artist: "坂本龍一", album: "async", title: "andata", duration: 279.1),
  ]

  static let playing: MediaState = {
    var change = MediaState()
    change.player.state = .playing
    change.player.position = MediaState.Position(seconds: 61.5, instant: .zero)
    change.queue.repeatMode = .all
    return change
  }()

  static let paused: MediaState = {
    var change = MediaState()
    change.player.state = .paused
    return change
  }()
}

extension VirtualPhone {
  /// Plays the script: `before` at once, the moments from the first session on (at once if there is one).
  /// `dayEnded` is the event after the last moment.
  ///
  /// - Parameter once: leaves out `afterwards`.
  public func play(once: Bool) {
    // Commands that fail because their notification exists or was removed are skipped.
    for command in VirtualDay.before { _ = try? perform(command) }
    stage = DayPlayer(self, once: once)
    if provider.hasSession { stage?.begin() }
  }

  /// Stops the script.
  public func stopPlaying() { stage = nil }
}

/// Plays a script on a phone for as long as it is alive.
final class DayPlayer {
  /// The most notifications while the script is repeated for hours.
  private static let maximumNotifications = 24
  /// The last command's notifications are sent before the end is reported.
  private static let pauseBeforeEnd = Duration.seconds(1)

  private weak let phone: VirtualPhone?
  private let once: Bool
  private var hasBegun = false
  private var isRepeating = false
  /// What is still to come; without a command, the day has ended.
  private var rest: ArraySlice<(after: Duration, command: PhoneCommand?)>

  init(_ phone: VirtualPhone, once: Bool) {
    self.phone = phone
    self.once = once
    rest = VirtualDay.moments.map { ($0.after, $0.command) } + [(Self.pauseBeforeEnd, nil)]
  }

  /// Begins, unless it has begun.
  func begin() {
    guard !hasBegun else { return }
    hasBegun = true
    playNext()
  }

  private func playNext() {
    if rest.isEmpty, !once {
      isRepeating = true
      rest = VirtualDay.afterwards.map { ($0.after, $0.command) }[...]
    }
    guard let phone, let moment = rest.popFirst() else { return }
    _ = phone.scheduler.schedule(after: moment.after) { [weak self] in
      guard let self, let phone = self.phone else { return }
      if let command = moment.command {
        _ = try? phone.perform(command)
      } else {
        phone.onEvent(.dayEnded)
      }
      while isRepeating, phone.notifications.count > Self.maximumNotifications {
        _ = try? phone.perform(.remove(phone.notifications[0].uid))
      }
      playNext()
    }
  }
}
