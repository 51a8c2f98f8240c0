// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Wire

/// The phone's side of ANCS, the Notification Provider: the phone's notifications, which outlive a
/// connection, and the session of the connected consumer.
///
///     add, modify, remove ──▶ Notification Source ──▶ consumer
///     consumer ──▶ Control Point ──▶ `handleCommand` ──▶ Data Source, a fragment a turn ──▶ consumer
final class NotificationProvider {
  /// The notifications, oldest first.
  private(set) var notifications: [PhoneNotification] = []
  /// The names of the phone's apps by their ids; other apps are not on the phone.
  var apps: [String: String] = [:]
  /// Whether Share System Notifications is on.
  private(set) var isAuthorized = true
  /// The codes to refuse the next commands with.
  var refusals: [UInt8] = []
  /// What happens to the next responses.
  var fates: [DataSourceSender.Fate] = []
  /// Sends the responses.
  let sender: DataSourceSender
  weak var phone: VirtualPhone? { didSet { sender.phone = phone } }

  /// Whether a consumer is subscribed to the Notification Source.
  private(set) var hasSession = false
  private var lastUID: UInt32 = 0
  /// Those that were modified, and not fetched since.
  private var modified: Set<NotificationUID> = []
  private let profile: PhoneProfile
  private var rules: PhoneRules { phone?.rules ?? PhoneRules() }

  init(_ profile: PhoneProfile, scheduler: any Scheduler) {
    self.profile = profile
    sender = DataSourceSender(scheduler: scheduler)
  }

  subscript(uid: NotificationUID) -> PhoneNotification? { notifications.last { $0.uid == uid } }

  // MARK: What happens on the phone

  func add(_ contents: NotificationContents, uid: NotificationUID?) throws(PhoneRefusal) -> NotificationUID {
    if let uid, self[uid] != nil { throw PhoneRefusal("notification \(uid) already exists") }
    let uid = uid ?? nextUID()
    lastUID = max(lastUID, uid == .probe ? 0 : uid.rawValue)
    var contents = contents
    let isDated = profile.datesCalls || contents.category != .incomingCall
    if isDated, contents.attributes[.date] == nil { contents[.date] = phone?.date }
    let notification = PhoneNotification(uid, contents)
    notifications.append(notification)
    announce(.added, notification)
    return uid
  }

  func modify(_ uid: NotificationUID, _ contents: NotificationContents) throws(PhoneRefusal) {
    let index = try index(of: uid)
    notifications[index].change(contents)
    if rules.modifiesOnce, !modified.insert(uid).inserted { return }
    announce(.modified, notifications[index])
  }

  @discardableResult func remove(_ uid: NotificationUID) throws(PhoneRefusal) -> PhoneNotification {
    let notification = notifications.remove(at: try index(of: uid))
    announce(.removed, notification)
    return notification
  }

  private func index(of uid: NotificationUID) throws(PhoneRefusal) -> Int {
    guard let index = notifications.firstIndex(where: { $0.uid == uid }) else {
      throw PhoneRefusal("there is no notification \(uid)")
    }
    return index
  }

  func removeAll() { while let last = notifications.popLast() { announce(.removed, last) } }

  func renumber() { for index in notifications.indices { notifications[index].uid = nextUID() } }

  /// Sets whether notifications are shared. When they are, all are announced to the consumer.
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

  /// The consumer subscribed to the Notification Source: a session begins, and all notifications are
  /// announced.
  func beginSession() {
    guard !hasSession else { return }
    hasSession = true
    if isAuthorized { replay() }
    phone?.stage?.begin()
  }

  /// The consumer unsubscribed, or the link has ended.
  func endSession() {
    if hasSession, rules.restartsUIDs {
      lastUID = 0
      for index in notifications.indices {
        notifications[index].uid = NotificationUID(rawValue: UInt32(index + 1))
        lastUID = UInt32(index + 1)
      }
    }
    hasSession = false
    modified = []
    sender.stop()
  }

  private func replay() {
    for notification in notifications { announce(.added, notification, preExisting: true) }
  }

  private func announce(_ change: NotificationChange, _ notification: PhoneNotification, preExisting: Bool = false) {
    guard hasSession, isAuthorized, !isHidden(notification) else { return }
    let count = notifications.count { $0.category == notification.category }
    var flags = notification.flags
    if preExisting { flags.formUnion(profile.preExistingFlags) }
    if change == .added, isLate(notification) { flags.insert(.preExisting) }
    let event = NotificationEvent(
      change, notification.uid, category: notification.category, categoryCount: UInt8(clamping: count), flags: flags)
    phone?.enqueue { $0.notify(.notificationSource, event.encoded) }
  }

  private func isHidden(_ notification: PhoneNotification) -> Bool {
    rules.hiddenApp != nil
      && notification.value(of: .appIdentifier) == rules.hiddenApp.map { Array($0.utf8) }
  }

  /// Whether it is delivered long after it was posted.
  private func isLate(_ notification: PhoneNotification) -> Bool {
    guard rules.marksLate, let date = phone?.date, let now = CivilTime(notificationDate: Array(date.utf8)),
      let posted = notification.value(of: .date).flatMap({ CivilTime(notificationDate: $0) })
    else { return false }
    return now.secondsSince1970 - posted.secondsSince1970 > 30
  }

  // MARK: Commands of the consumer

  /// Handles a value written to the Control Point. The response, if any, follows on the Data Source.
  func handleCommand(_ value: [UInt8]) throws(ErrorCode) {
    if sender.isBusy {
      phone?.onEvent(
        .violation("a command while the response to the previous one is still being sent"))
    }
    let decoded = Result { () throws(ErrorCode) in try ControlPointCommand(decoding: value) }
    do throws(ErrorCode) {
      guard isAuthorized || rules.respondsUnshared else { throw ErrorCode.writeNotPermitted }
      if !refusals.isEmpty { throw ErrorCode(refusals.removeFirst()) }
      if case .failure = decoded {
        phone?.onEvent(.violation("a malformed command on the Control Point: \(value.hex)"))
      }
      let command = try decoded.get()
      let response = try response(to: command)
      phone?.onEvent(.controlPoint(command, value: value, refused: nil))
      if let response {
        sender.send(response.encoded, fates.isEmpty ? .whole : fates.removeFirst())
      }
      if case .performNotificationAction(let uid, let action) = command { perform(action, on: uid) }
    } catch {
      phone?.onEvent(.controlPoint(try? decoded.get(), value: value, refused: error.rawValue))
      throw error
    }
  }

  /// The response to a permitted command; nil for an action.
  private func response(to command: ControlPointCommand) throws(ErrorCode) -> DataSourceResponse? {
    switch command {
    case .getNotificationAttributes(let uid, let requests):
      guard isAuthorized, let notification = self[uid] else { throw .invalidParameter }
      modified.remove(uid)
      var attributes: [DataSourceResponse.Attribute] = []
      for request in requests {
        guard let value = notification.value(of: request.id) else { throw .invalidParameter }
        var longest = Int(request.maximumLength ?? .max)
        if request.maximumLength != nil { longest = min(longest, rules.textLimit ?? longest) }
        attributes.append(
          .init(id: request.id.rawValue, value: profile.cut(value, to: longest)))
      }
      return DataSourceResponse(.notification(uid), attributes)
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
      guard notification.flags.contains(action.flag) else { throw .actionFailed }
      return nil
    }
  }

  /// Either action removes the notification; a declined call leaves a missed one.
  private func perform(_ action: NotificationAction, on uid: NotificationUID) {
    phone?.onEvent(.action(uid, action))
    guard let notification = try? remove(uid) else { return }
    if notification.category == .incomingCall, action == .negative {
      _ = try? add(notification.asMissedCall, uid: nil)
    }
  }
}

/// Sends the responses of the Data Source in order, one fragment on each turn of the loop, with configurable delays.
final class DataSourceSender {
  /// What happens to a response.
  enum Fate {
    case whole
    /// It is cut off in the middle.
    case cut
    /// It is not sent.
    case silent
  }

  /// How long a consumer must wait for a response that does not come. Its own timeout is longer; this one only detects
  /// a consumer that does not wait.
  static let patience: Duration = .seconds(4)

  /// The phone whose connection it sends on.
  weak var phone: VirtualPhone?
  /// The maximum length of a fragment, if it is less than what the link allows.
  var fragmentSize = Int.max
  /// The delay before the first fragment of a response.
  var responseDelay: Duration = .zero
  /// The delay between two fragments.
  var fragmentDelay: Duration = .zero

  private let scheduler: any Scheduler
  private var waiting: [ArraySlice<UInt8>] = []
  private var timer: TimerID?
  private var brokenUntil: Instant?

  init(scheduler: any Scheduler) { self.scheduler = scheduler }

  /// Whether a response is being sent, or the consumer must still wait for one that does not come.
  var isBusy: Bool { timer != nil || brokenUntil.map { scheduler.now < $0 } ?? false }

  /// Queues a response.
  func send(_ response: [UInt8], _ fate: Fate) {
    if fate != .whole { brokenUntil = scheduler.now + Self.patience }
    guard fate != .silent else { return }
    waiting.append(fate == .cut ? response.prefix(response.count / 2) : response[...])
    if timer == nil { schedule(after: responseDelay) }
  }

  /// The link or the subscription has ended: nothing more is sent.
  func stop() {
    waiting = []
    brokenUntil = nil
    if let timer { scheduler.cancel(timer) }
    timer = nil
  }

  private func schedule(after delay: Duration) {
    timer = scheduler.schedule(after: delay) { [weak self] in self?.sendNext() }
  }

  private func sendNext() {
    timer = nil
    guard let response = waiting.first, let connection = phone?.connection else { return }
    let fragment = response.prefix(max(1, min(connection.bearer.mtu - 3, fragmentSize)))
    let rest = response.dropFirst(fragment.count)
    if rest.isEmpty { waiting.removeFirst() } else { waiting[0] = rest }
    // Before sending: the consumer may send its next command as soon as it has the last fragment.
    if !waiting.isEmpty { schedule(after: rest.isEmpty ? responseDelay : fragmentDelay) }
    connection.notify(.dataSource, Array(fragment))
  }
}
