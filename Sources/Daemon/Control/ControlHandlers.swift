// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Board
import Control
import EventLoop
import GATT
import JSON
import System
import Wire

/// Implements the methods of the control socket on the live sessions.
@LoopActor struct ControlHandlers {
  private weak let server: Supervisor?
  private let bridges = ClientReports<BridgeReport>()
  private let forwards = ClientReports<Page<ForwardReport>>()

  init(_ daemon: Supervisor) { server = daemon }

  /// The daemon, which a request that it answers last may outlive.
  private var daemon: Supervisor {
    get throws(RPCError) {
      guard let server else { throw .unavailable("the daemon has exited") }
      return server
    }
  }

  /// Registers every method.
  func register(in dispatcher: inout ControlDispatcher) {
    registerStatus(in: &dispatcher)
    registerServices(in: &dispatcher)
    registerPairing(in: &dispatcher)
    registerAttributes(in: &dispatcher)
  }

  /// The active notifications and the current media state, as events.
  func replay() -> [NumberedEvent] {
    guard let daemon = server else { return [] }
    let (time, seq) = (daemon.platform.wallTime, daemon.feed.recent.lastSeq)
    let media = daemon.sessions.compactMap { session in
      session.services.active(MediaRemote.self).map { remote in
        session.phone.event(
          .media(remote.state.carried(to: daemon.platform.scheduler.now), changed: []))
      }
    }
    return (daemon.notifications(of: nil).events + media).map {
      NumberedEvent(seq: seq, time: time, $0)
    }
  }

  // MARK: Status

  private func registerStatus(in dispatcher: inout ControlDispatcher) {
    dispatcher.register(ControlMethods.status) { _ throws(RPCError) in
      var status = try await self.daemon.status()
      status.bridges = self.bridges.all.sorted { $0.broker < $1.broker }
      let forwards = self.forwards.all.flatMap(\.elements)
      if !forwards.isEmpty { status.forwards = forwards.sorted { $0.name < $1.name } }
      return status
    }
    dispatcher.register(ControlMethods.reportBridge) { report, caller in
      self.bridges.keep(report, of: caller)
      return true
    }
    dispatcher.register(ControlMethods.reportForwards) { report, caller in
      self.forwards.keep(report, of: caller)
      return true
    }
    dispatcher.register(ControlMethods.settings) { _ throws(RPCError) in
      let daemon = try self.daemon
      return daemon.settings.report(on: daemon.sessions.map(\.settings))
    }
    dispatcher.register(ControlMethods.timeline) { _ throws(RPCError) in
      try self.daemon.timeline.report
    }
    dispatcher.register(ControlMethods.readHistory) { query throws(RPCError) in
      guard let history = try self.daemon.history else {
        throw .unavailable(
          "the daemon keeps no history, since its settings have no table [log]; --file reads an earlier one")
      }
      return try await history.read(query)
    }
    dispatcher.register(ControlMethods.listPhones) { _ throws(RPCError) in
      Page(try self.daemon.phoneReports)
    }
    dispatcher.register(ControlMethods.knownAttributes) { _ throws(RPCError) in
      Page(try self.daemon.sessions.map(\.knownAttributes))
    }
  }

  // MARK: Notifications, apps and media

  private func registerServices(in dispatcher: inout ControlDispatcher) {
    dispatcher.register(ControlMethods.listNotifications) { query throws(RPCError) in
      try self.daemon.notifications(of: query.phone).page(matching: query)
    }
    dispatcher.register(ControlMethods.getNotification) { parameters, caller throws(RPCError) in
      if let known = try self.listed(parameters) { return known }
      let session = try self.session(of: parameters.phone)
      let consumer = try self.notifications(of: parameters.phone)
      let attributes = parameters.attributes ?? []
      // If the notification is not known here, the phone refuses the request.
      return try await asked { () async throws(FetchFailure) in
        session.phone.active(
          try await consumer.get(
            parameters.uid, Set(attributes.isEmpty ? NotificationAttributeID.all : attributes), caller))
      }
    }
    dispatcher.register(ControlMethods.act) { parameters, caller throws(RPCError) in
      let consumer = try self.notifications(of: parameters.phone)
      return try await asked { () async throws(FetchFailure) in
        try await consumer.act(parameters.uid, parameters.action, caller)
        return true
      }
    }
    dispatcher.register(ControlMethods.explainRules) { parameters throws(RPCError) in
      let phone = try self.phone(parameters.phone, with: parameters.uid)
      guard let report = phone.notifications.ledger.known(parameters.uid) else {
        throw .phone("there is no notification \(parameters.uid)", att: nil)
      }
      return RuleExplanation(parameters.uid, try self.daemon.rules.explain(report, from: phone))
    }
    dispatcher.register(ControlMethods.getApp) { parameters, caller throws(RPCError) in
      let consumer = try self.notifications(of: parameters.phone)
      return try await asked { () async throws(FetchFailure) in
        let name = try await consumer.name(of: parameters.appID, caller)
        return AppReport(appID: parameters.appID, name: name ?? parameters.appID)
      }
    }
    dispatcher.register(ControlMethods.listApps) { query throws(RPCError) in
      try self.daemon.notifications(of: query.phone).apps(after: query.after)
    }
    dispatcher.register(ControlMethods.getMedia) { parameters throws(RPCError) in
      try self.media(of: parameters.phone).state.carried(to: self.daemon.platform.scheduler.now)
    }
    dispatcher.register(ControlMethods.sendMediaCommand) { parameters, caller throws(RPCError) in
      let remote = try self.media(of: parameters.phone)
      return try await asked { () async throws(MediaFailure) in
        try await remote.send(parameters.command, for: .user(caller))
        return true
      }
    }
  }

  // MARK: Pairing and bonds

  private func registerPairing(in dispatcher: inout ControlDispatcher) {
    dispatcher.register(ControlMethods.openPairing) { parameters throws(RPCError) in
      let radio = try self.radio()
      guard !radio.adapters.isEmpty else { throw .unavailable("there is no adapter to pair with") }
      let seconds = parameters.seconds?.value
      let daemon = try self.daemon
      let end = seconds.map { daemon.platform.scheduler.now + .seconds($0) }
      var report = PairingReport(name: daemon.name, seconds: seconds)
      report.opening = radio.openPairing(until: end ?? Instant(nanoseconds: .max))
      if let (question, phone) = radio.pairingQuestion {
        (report.question, report.phone) = (question, phone)
      }
      return report
    }
    dispatcher.register(ControlMethods.closePairing) { parameters throws(RPCError) in
      try self.radio().closePairing(parameters.opening)
      return true
    }
    dispatcher.register(ControlMethods.respondToPairing) { parameters throws(RPCError) in
      try self.radio().respond(parameters)
      return true
    }
    dispatcher.register(ControlMethods.forgetPhone) { parameters throws(RPCError) in
      guard let phone = parameters.phone else { throw .invalidParams("phone is missing") }
      guard let radio = try self.daemon.radio else {
        throw .unavailable("no radio is in use, so no phone is bonded")
      }
      let isKnown: Bool
      do throws(SystemError) {
        isKnown = try await radio.forget(phone)
      } catch {
        throw .internalError(
          "the phone is refused from now on, but its keys are still on the disk, and will be used after "
            + "the next start: \(error)")
      }
      guard isKnown else { throw .unavailable("no phone \(phone) is bonded") }
      return true
    }
  }

  // MARK: Attributes

  private func registerAttributes(in dispatcher: inout ControlDispatcher) {
    dispatcher.register(ControlMethods.discover) { parameters, caller throws(RPCError) in
      let client = try self.client(of: parameters.phone, for: caller)
      return try await asked { () async throws(ATTFailure) -> JSONValue in
        var services: [JSONValue] = []
        for service in try await client.primaryServices() {
          services.append(try await client.locate(service).described)
        }
        return ["services": .array(services)]
      }
    }
    dispatcher.register(ControlMethods.readAttribute) { parameters, caller throws(RPCError) in
      let client = try self.client(of: parameters.phone, for: caller)
      return try await asked { () async throws(ATTFailure) in
        HexBytes(try await client.readLong(parameters.handle.value))
      }
    }
    dispatcher.register(ControlMethods.writeAttribute) { parameters, caller throws(RPCError) in
      let client = try self.client(of: parameters.phone, for: caller)
      let (handle, value) = (parameters.handle.value, parameters.value.bytes)
      return try await asked { () async throws(ATTFailure) in
        if parameters.isCommand {
          try client.writeCommand(handle, value)
        } else {
          try await client.writeInFull(handle, value)
        }
        return true
      }
    }
  }

  // MARK: Which phone

  /// The session with the selected phone, or with the only one. One that is not secured may be anybody, and does not count.
  private func session(of selector: PhoneSelector?) throws(RPCError) -> Session {
    let name = try daemon.name
    let matching = try daemon.sessions.filter { selector?.matches($0.phone) ?? true }
    let candidates = matching.filter(\.link.isUpAndSecured)
    guard let first = candidates.first else {
      if let wait = matching.first(where: \.link.isBonded)?.wait {
        throw .tryAgain("not subscribed to the phone: \(wait.sentence(name: name))")
      }
      throw .unavailable(selector.map { "no phone \($0) is connected" } ?? "no phone is connected")
    }
    guard candidates.count == 1 else {
      throw .invalidParams("several phones are connected: say which (phone)")
    }
    return first
  }

  /// A listed notification of which its phone can't be asked now, as far as it is known: the phone is away, or has not
  /// announced it since, so that another may have its UID.
  private func listed(_ parameters: NotificationParameters) throws(RPCError) -> ActiveNotification? {
    guard let (phone, report) = try daemon.notifications(of: parameters.phone).only(parameters.uid),
      report.isStale || phone.session?.services.lacksNotifications ?? true
    else { return nil }
    return phone.active(report)
  }

  /// The phone with the notification of this UID.
  private func phone(_ selector: PhoneSelector?, with uid: NotificationUID) throws(RPCError) -> Phone {
    let candidates = try daemon.phoneBook.phones.filter { phone in
      (selector?.matches(phone) ?? true) && phone.notifications.ledger.known(uid) != nil
    }
    guard candidates.count < 2 else {
      throw .invalidParams("several phones have a notification with this UID: say which (phone)")
    }
    guard let phone = candidates.first else {
      throw .phone("there is no notification \(uid)", att: nil)
    }
    return phone
  }

  /// A client for single attributes of the phone.
  private func client(of selector: PhoneSelector?, for caller: Cancellation) throws(RPCError) -> Client {
    try session(of: selector).client.acting(for: .debugging(caller))
  }

  private func notifications(of selector: PhoneSelector?) throws(RPCError) -> NotificationConsumer {
    let session = try session(of: selector)
    guard let consumer = session.services.active(NotificationConsumer.self) else {
      let why = try session.wait?.sentence(name: daemon.name) ?? "disconnected"
      throw .tryAgain("not subscribed to the phone: \(why)")
    }
    return consumer
  }

  private func media(of selector: PhoneSelector?) throws(RPCError) -> MediaRemote {
    guard let media = try session(of: selector).services.active(MediaRemote.self) else {
      throw .tryAgain("the phone has no media service now")
    }
    return media
  }

  private func radio() throws(RPCError) -> Radio {
    guard let radio = try daemon.radio else {
      throw .unavailable("no radio is in use, so pairing is not possible")
    }
    return radio
  }
}

/// The reports of clients about themselves, each for as long as the client is connected.
@LoopActor private final class ClientReports<Report> {
  private var reports: [ObjectIdentifier: Report] = [:]

  var all: [Report] { Array(reports.values) }

  /// Keeps a client's report until the client disconnects.
  func keep(_ report: Report, of client: Cancellation) {
    let id = ObjectIdentifier(client)
    if reports.updateValue(report, forKey: id) == nil {
      _ = client.onCancel { [weak self] in self?.reports[id] = nil }
    }
  }
}

// MARK: - The phone's errors, as clients see them

/// Why the phone did not do what a client wanted.
private protocol PhoneFailure: Error { var asError: RPCError { get } }

/// Sends a request to the phone; the phone's refusal becomes the client's error.
@LoopActor private func asked<Response, Reason: PhoneFailure>(
  _ ask: @LoopActor () async throws(Reason) -> Response
) async throws(RPCError) -> Response {
  do throws(Reason) { return try await ask() } catch { throw error.asError }
}

extension ATTFailure: PhoneFailure {
  fileprivate var asError: RPCError {
    if let code { return .phone("\(code)", att: code.rawValue) }
    if case .tooLong = self { return .unavailable("\(self)") }
    return isEnd ? .unavailable("\(self)") : .tryAgain("\(self)")
  }
}

extension FetchFailure: PhoneFailure {
  fileprivate var asError: RPCError {
    switch self {
    case .refused(let code): .phone("\(self)", att: code.rawValue)
    case .unsupported, .outdated, .ended: .unavailable("\(self)")
    case .undelivered(let cause): cause.asError
    case .timedOut, .malformed, .cancelled: .tryAgain("\(self)")
    }
  }
}

extension MediaFailure: PhoneFailure {
  fileprivate var asError: RPCError {
    switch self {
    case .refused(let code): .phone("\(self)", att: code.rawValue)
    case .noRemoteCommand: .unavailable("\(self)")
    case .undelivered(let cause): cause.asError
    }
  }
}
