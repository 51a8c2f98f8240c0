// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import GAP
import GATT
import TestLoop
import Wire

/// A scripted phone at the other end of the link, which answers a millisecond later.
final class StubPhone {
  /// How the phone answers a command.
  enum Reaction {
    /// Accepts it and sends these values on the Data Source.
    case response([[UInt8]])
    /// Sends the values before it accepts the command.
    case responseFirst([[UInt8]])
    case refuse(UInt8)
    /// Does not answer.
    case ignore
  }

  static let controlPoint: Handle = 0x25
  static let notificationSource: Handle = 0x28
  static let dataSource: Handle = 0x2B

  static let service = LocatedService(
    service: Service(uuid: .notificationCenter, range: HandleRange(0x23, 0x2C)),
    characteristics: [
      Characteristic(
        declaration: 0x24, properties: .write, value: controlPoint, uuid: .controlPoint, end: 0x26),
      Characteristic(
        declaration: 0x27, properties: .notify, value: notificationSource,
        uuid: .notificationSource, end: 0x29, cccd: 0x29),
      Characteristic(
        declaration: 0x2A, properties: .notify, value: dataSource, uuid: .dataSource, end: 0x2C,
        cccd: 0x2C),
    ])

  let clock: HandClock
  let bearer: Bearer
  let client: Client
  /// The attributes' texts of each notification.
  var notifications: [UInt32: [UInt8: String]] = [:]
  /// The names of apps by id.
  var apps: [String: String] = [:]
  /// The response to a command; nil: that of a correct phone.
  var react: (ControlPointCommand) -> Reaction? = { _ in nil }
  /// The error for writing a CCCD; nil: it is accepted.
  var refuseSubscription: (Handle) -> UInt8? = { _ in nil }
  /// Whether values can be written in parts.
  var takesLongWrites = true
  /// The maximum length of a fragment.
  var fragment = 20
  /// The commands and subscriptions, in order.
  private(set) var log: [String] = []
  private(set) var commands: [ControlPointCommand] = []
  private var prepared: [UInt8] = []

  init(_ clock: HandClock) {
    self.clock = clock
    bearer = Bearer(scheduler: clock)
    client = Client(bearer)
    bearer.send = { [unowned self] bytes in later { $0.receive(bytes) } }
  }

  private func later(_ action: @escaping (StubPhone) -> Void) {
    _ = clock.schedule(after: .milliseconds(1)) { [weak self] in if let self { action(self) } }
  }

  private func send(_ pdu: PDU) { bearer.receive(pdu.encoded) }

  /// Notifies an event on the Notification Source.
  func notify(_ event: NotificationEvent) {
    send(.handleValueNotification(Self.notificationSource, value: event.encoded))
  }

  func notify(_ change: NotificationChange, _ uid: UInt32, _ category: Category = .social, _ flags: EventFlags = []) {
    notify(NotificationEvent(change, .init(rawValue: uid), category: category, flags: flags))
  }

  /// Has a notification with these texts from now on, and announces it.
  func add(_ uid: UInt32, _ texts: [UInt8: String], _ category: Category = .social, _ flags: EventFlags = []) {
    notifications[uid] = texts
    notify(.added, uid, category, flags)
  }

  /// Sends a value of the Data Source.
  func notifyData(_ value: [UInt8]) {
    send(.handleValueNotification(Self.dataSource, value: value))
  }

  private func receive(_ bytes: [UInt8]) {
    guard let pdu = try? PDU(decoding: bytes) else { return }
    switch pdu {
    case .writeRequest(Self.controlPoint, let value):
      handleCommand(value, completedBy: .writeResponse, to: .writeRequest)
    case .writeRequest(let handle, let value):
      log.append("\(handle) = \(value.hex)")
      if let code = refuseSubscription(handle) {
        send(.error(ErrorCode(code), to: .writeRequest, at: handle))
      } else {
        send(.writeResponse)
      }
    case .prepareWriteRequest(let handle, let offset, let part) where takesLongWrites:
      if offset == 0 { prepared = [] }
      prepared += part
      send(.prepareWriteResponse(handle, offset: offset, value: part))
    case .executeWriteRequest where takesLongWrites:
      handleCommand(prepared, completedBy: .executeWriteResponse, to: .executeWriteRequest)
    default: send(.error(.requestNotSupported, to: pdu.opcode))
    }
  }

  private func handleCommand(_ value: [UInt8], completedBy response: PDU, to request: Opcode) {
    guard let command = try? ControlPointCommand(decoding: value) else {
      return send(.error(ErrorCode(0xA1), to: request, at: Self.controlPoint))
    }
    commands.append(command)
    switch react(command) ?? usual(command) {
    case .response(let values):
      send(response)
      later { phone in values.forEach(phone.notifyData) }
    case .responseFirst(let values):
      values.forEach(notifyData)
      later { $0.send(response) }
    case .refuse(let code): send(.error(ErrorCode(code), to: request, at: Self.controlPoint))
    case .ignore: break
    }
  }

  /// The response of a correct phone.
  func usual(_ command: ControlPointCommand) -> Reaction {
    switch command {
    case .getNotificationAttributes(let uid, let requests):
      guard let texts = notifications[uid.rawValue] else { return .refuse(0xA2) }
      let attributes = requests.map { request in
        let value = Array((texts[request.id.rawValue] ?? "").utf8)
        return DataSourceResponse.Attribute(
          id: request.id.rawValue,
          value: Array(value.prefix(request.maximumLength.map(Int.init) ?? value.count)))
      }
      let response = DataSourceResponse(.notification(uid), attributes)
      return .response(response.fragments(ofAtMost: fragment))
    case .getAppAttributes(let app, _):
      guard let name = apps[app] else { return .refuse(0xA2) }
      let response = DataSourceResponse(
        .app(identifier: app), [.init(id: 0, value: Array(name.utf8))])
      return .response(response.fragments(ofAtMost: fragment))
    case .performNotificationAction(let uid, _):
      return notifications[uid.rawValue] == nil ? .refuse(0xA2) : .response([])
    }
  }
}

extension ControlPointCommand {
  /// The notification whose attributes it asks for.
  var notification: NotificationUID? {
    if case .getNotificationAttributes(let uid, _) = self { uid } else { nil }
  }

  /// Whether it asks for the name of an app.
  var isAboutApp: Bool { if case .getAppAttributes = self { true } else { false } }
}

/// What a test's session fetches, and its timing.
struct ConsumerSettings {
  var selection: AttributeSelection
  var timing = ConsumerTiming()

  init(_ selection: AttributeSelection = .all) { self.selection = selection }
}

/// A consumer on the stub phone, and all that it reported.
final class Session {
  let phone: StubPhone
  let consumer: NotificationConsumer
  let notifications: PhoneNotifications
  var ledger: NotificationLedger { notifications.ledger }
  private(set) var log: [String] = []
  private(set) var reports: [NotificationReport] = []
  var stale: Int { log.count { $0 == "stale" } }
  /// Why the session is dead.
  private(set) var deaths: [String] = []
  private(set) var dropped = 0
  /// The consumer's run.
  private(set) var serving: Started<Void>?

  init(_ clock: HandClock, _ settings: ConsumerSettings) throws {
    phone = StubPhone(clock)
    notifications = PhoneNotifications(keeping: .seconds(120), clock)
    guard
      let consumer = NotificationConsumer(
        phone.client, StubPhone.service, timing: settings.timing, notifications: notifications)
    else { throw ATTFailure.protocolViolation("no consumer") }
    notifications.rulesChanged(settings.selection.judge)
    self.consumer = consumer
    notifications.onPublish = { [unowned self] report in
      reports.append(report)
      var words = "\(report.event.change) \(report.event.uid)"
      if let title = report.attributes.title { words += " \(title)" }
      if let app = report.app { words += " @\(app)" }
      if report.isRepeat { words += " again" }
      if let failure = report.failure { words += " (\(failure))" }
      log.append(words)
    }
    consumer.onAuthorization = { [unowned self] in log.append("authorization \(Self.text($0))") }
    consumer.onStale = { [unowned self] _ in log.append("stale") }
    consumer.onDead = { [unowned self] in deaths.append($0) }
    consumer.onDropped = { [unowned self] _, _ in dropped += 1 }
  }

  /// Runs a test with a session.
  static func run(
    _ settings: ConsumerSettings = .init(),
    _ test: @escaping @Sendable (isolated TestLoop, Session) async throws -> Void
  ) throws {
    try TestLoop.run { loop in try await test(loop, Session(loop.clock, settings)) }
  }

  /// The same with a session that has subscribed and serves.
  static func serve(
    _ settings: ConsumerSettings = .init(),
    _ test: @escaping @Sendable (isolated TestLoop, Session) async throws -> Void
  ) throws {
    try run(settings) { loop, session in
      try await session.begin(loop)
      try await test(loop, session)
    }
  }

  /// Subscribes, and serves from then on.
  func begin(_ loop: isolated TestLoop) async throws {
    try await consumer.subscribe()
    serving = loop.start { try await self.consumer.run() }
    await loop.settle()
  }

  private static func text(_ authorization: Authorization) -> String {
    if case .unknown(let proof) = authorization {
      "unknown until a \(proof)"
    } else {
      "\(authorization)"
    }
  }

  /// What was reported, except authorization.
  var told: [String] { log.filter { !$0.hasPrefix("authorization") } }
}
