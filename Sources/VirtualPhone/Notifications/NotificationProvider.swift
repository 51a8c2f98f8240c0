// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Wire

/// The phone's end of ANCS: the Notification Provider. It holds the notifications of the phone, from
/// one connection to the next, and the session of whoever is connected.
///
///     add, modify, remove ──▶ Notification Source ──▶ consumer
///     consumer ──▶ Control Point ──▶ `take(command:)` ──▶ Data Source, a fragment a turn ──▶ consumer
final class NotificationProvider {
  /// The notifications, oldest first.
  private(set) var notifications: [PhoneNotification] = []
  /// What the phone's apps are called; an app that is not here is not on the phone.
  var apps: [String: String] = [:]
  /// Whether Share System Notifications is on.
  private(set) var isAuthorized = true
  /// What becomes of commands and answers.
  var faults = ProviderFaults()
  /// What sends the answers.
  let sender: DataSourceSender

  /// Takes what happens here.
  var report: (PhoneEvent) -> Void = { _ in }
  /// Notifies a value of the Notification Source, on a later turn and in order.
  var notify: ([UInt8]) -> Void = { _ in }
  /// Called when a session begins.
  var onSession: () -> Void = {}
  /// What the phone's clock shows, as ANCS writes it.
  var date: () -> String = { "" }

  /// Whether a consumer is subscribed to the Notification Source.
  private(set) var hasSession = false
  private var lastUID: UInt32 = 0

  init(scheduler: any Scheduler) { sender = DataSourceSender(scheduler: scheduler) }

  subscript(uid: NotificationUID) -> PhoneNotification? {
    notifications.last { $0.uid == uid }
  }

  // MARK: What happens on the phone

  func add(
    _ contents: NotificationContents, uid: NotificationUID?
  ) throws(PhoneRefusal) -> NotificationUID {
    if let uid, self[uid] != nil { throw PhoneRefusal("there is a notification \(uid) already") }
    let uid = uid ?? nextUID()
    lastUID = max(lastUID, uid == .probe ? 0 : uid.rawValue)
    var contents = contents
    // Calls have no date, as phones have it.
    if contents.attributes[.date] == nil, contents.category != .incomingCall {
      contents[.date] = date()
    }
    let notification = PhoneNotification(uid, contents)
    notifications.append(notification)
    tell(.added, notification)
    return uid
  }

  func modify(_ uid: NotificationUID, _ contents: NotificationContents) throws(PhoneRefusal) {
    guard let index = notifications.firstIndex(where: { $0.uid == uid }) else {
      throw PhoneRefusal("there is no notification \(uid)")
    }
    notifications[index].change(contents)
    tell(.modified, notifications[index])
  }

  func remove(_ uid: NotificationUID) throws(PhoneRefusal) {
    guard let index = notifications.firstIndex(where: { $0.uid == uid }) else {
      throw PhoneRefusal("there is no notification \(uid)")
    }
    tell(.removed, notifications.remove(at: index))
  }

  func removeAll() {
    while let last = notifications.popLast() { tell(.removed, last) }
  }

  func renumber() {
    for index in notifications.indices { notifications[index].uid = nextUID() }
  }

  /// Whether notifications are shared. Once they are, the consumer hears of all that are there.
  func authorize(_ granted: Bool) {
    guard granted != isAuthorized else { return }
    isAuthorized = granted
    if granted, hasSession { replay() }
  }

  private func nextUID() -> NotificationUID {
    repeat { lastUID &+= 1 } while self[NotificationUID(rawValue: lastUID)] != nil
    return NotificationUID(rawValue: lastUID)
  }

  // MARK: The session

  /// The consumer subscribed to the Notification Source: a session begins with all that is there.
  func beginSession() {
    guard !hasSession else { return }
    hasSession = true
    if isAuthorized { replay() }
    onSession()
  }

  /// It ended the subscription, or the link is gone.
  func endSession() {
    hasSession = false
    sender.stop()
  }

  private func replay() {
    for notification in notifications { tell(.added, notification, preExisting: true) }
  }

  private func tell(_ change: Change, _ notification: PhoneNotification, preExisting: Bool = false)
  {
    guard hasSession, isAuthorized else { return }
    let count = notifications.count { $0.category == notification.category }
    let event = NotificationEvent(
      change, notification.uid, category: notification.category,
      categoryCount: UInt8(clamping: count),
      flags: notification.flags.union(preExisting ? .preExisting : []))
    notify(event.encoded)
  }

  // MARK: What the consumer asks for

  /// Takes what was written to the Control Point. Its answer, where it has one, follows on the Data
  /// Source.
  func take(command value: [UInt8]) throws(ErrorCode) {
    if sender.isBusy {
      report(.violation("a command while the answer to the one before is still going out"))
    }
    let command = Result { () throws(ControlPointError) in try ControlPointCommand(decoding: value)
    }
    do throws(ErrorCode) {
      guard isAuthorized else { throw ErrorCode.writeNotPermitted }
      if let code = faults.takeRefusal() { throw ErrorCode(code) }
      try obey(command, value)
    } catch {
      report(.controlPoint(try? command.get(), value: value, refused: error.rawValue))
      throw error
    }
  }

  private func obey(
    _ command: Result<ControlPointCommand, ControlPointError>, _ value: [UInt8]
  ) throws(ErrorCode) {
    switch command {
    case .failure(let error):
      report(.violation("a malformed command on the Control Point: \(value.hex)"))
      throw ErrorCode(error.rawValue)
    case .success(let command):
      let answer = try answer(to: command)
      report(.controlPoint(command, value: value, refused: nil))
      if let answer { sender.send(answer.encoded, faults.takeFate()) }
      if case .performNotificationAction(let uid, let action) = command { perform(action, on: uid) }
    }
  }

  /// The answer to a command that may be obeyed; none to an action.
  private func answer(
    to command: ControlPointCommand
  ) throws(ErrorCode) -> DataSourceResponse? {
    switch command {
    case .getNotificationAttributes(let uid, let requests):
      guard let notification = self[uid] else { throw .invalidParameter }
      var response = DataSourceResponse(.notification(uid), [])
      for request in requests {
        guard let value = notification.value(of: request.id) else { throw .invalidParameter }
        let longest = Int(request.maximumLength ?? .max)
        response.attributes.append(
          .init(id: request.id.rawValue, value: Array(value.prefix(longest))))
      }
      return response
    case .getAppAttributes(let app, let ids):
      guard let name = apps[app], ids.allSatisfy({ $0 == .displayName }) else {
        throw .invalidParameter
      }
      return DataSourceResponse(
        .app(identifier: app), ids.map { .init(id: $0.rawValue, value: Array(name.utf8)) })
    case .performNotificationAction(let uid, let action):
      guard let notification = self[uid], action == .positive || action == .negative else {
        throw .invalidParameter
      }
      let flag: EventFlags = action == .positive ? .positiveAction : .negativeAction
      guard notification.flags.contains(flag) else { throw .actionFailed }
      return nil
    }
  }

  /// Whatever the action is, it takes the notification off the phone's screen; a call that is
  /// declined leaves a missed one.
  private func perform(_ action: Action, on uid: NotificationUID) {
    guard let index = notifications.firstIndex(where: { $0.uid == uid }) else { return }
    report(.action(uid, action))
    let notification = notifications.remove(at: index)
    tell(.removed, notification)
    if notification.category == .incomingCall, action == .negative {
      _ = try? add(notification.asMissedCall, uid: nil)
    }
  }
}

extension ErrorCode {
  fileprivate static let invalidParameter = ErrorCode(ControlPointError.invalidParameter.rawValue)
  fileprivate static let actionFailed = ErrorCode(ControlPointError.actionFailed.rawValue)
}

/// How the next commands and answers go wrong.
struct ProviderFaults {
  private var refusals: [UInt8] = []
  private var silences = 0
  private var cuts = 0
  /// The most bytes of a fragment; nil: what the MTU has room for.
  var fragmentSize: Int?

  mutating func refuse(_ code: UInt8, count: Int) {
    refusals += Array(repeating: code, count: count)
  }

  mutating func silence(_ count: Int) { silences += count }

  mutating func cut(_ count: Int) { cuts += count }

  /// The code that the command at hand is to be refused with.
  mutating func takeRefusal() -> UInt8? { refusals.isEmpty ? nil : refusals.removeFirst() }

  /// What becomes of the answer at hand.
  mutating func takeFate() -> DataSourceSender.Fate {
    if silences > 0 {
      silences -= 1
      return .silent
    }
    if cuts > 0 {
      cuts -= 1
      return .cut
    }
    return .whole
  }
}
