// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Control
import EventLoop
import GATT
import System
import Wire

/// Implements the methods of the control socket on the live sessions.
@LoopActor struct ControlAnswers {
  private unowned let supervisor: Supervisor

  init(_ supervisor: Supervisor) { self.supervisor = supervisor }

  /// Registers every method.
  func register(in dispatcher: inout ControlDispatcher) {
    registerStatus(in: &dispatcher)
    registerServices(in: &dispatcher)
    registerPairing(in: &dispatcher)
    registerAttributes(in: &dispatcher)
  }

  /// The active notifications and the current media state, as events.
  func replay() -> [NumberedEvent] {
    let time = supervisor.platform.wallTime
    let seq = supervisor.feed.recent.lastSeq
    let kept = supervisor.keptNotifications(of: nil).map { phone, entry in
      phone.event(.notification(entry.report))
    }
    let live = supervisor.sessions.flatMap { _, session in
      session.services.replay().map { session.event($0) }
    }
    return (kept + live).map { NumberedEvent(seq: seq, time: time, $0) }
  }

  // MARK: Status

  private func registerStatus(in dispatcher: inout ControlDispatcher) {
    dispatcher.register(ControlMethods.status) { _ in await self.supervisor.status() }
    dispatcher.register(ControlMethods.settings) { _ in self.supervisor.settings.report }
    dispatcher.register(ControlMethods.timeline) { _ in self.supervisor.timeline.report }
    dispatcher.register(ControlMethods.listPhones) { _ in self.supervisor.phoneReports }
    dispatcher.register(ControlMethods.knownAttributes) { _ in
      self.supervisor.sessions.map(\.session.knownAttributes)
    }
  }

  // MARK: Notifications, apps and media

  private func registerServices(in dispatcher: inout ControlDispatcher) {
    dispatcher.register(ControlMethods.listNotifications) { query throws(RPCError) in
      try self.notifications(matching: query)
    }
    dispatcher.register(ControlMethods.getNotification) { parameters, caller throws(RPCError) in
      let session = try self.session(of: parameters.phone)
      let consumer = try self.notifications(of: parameters.phone)
      let attributes = parameters.attributes ?? []
      // If the notification is not known here, the phone refuses the request.
      do throws(FetchFailure) {
        let report = try await consumer.get(
          parameters.uid, Set(attributes.isEmpty ? NotificationAttributeID.all : attributes), caller
        )
        return session.active(report)
      } catch {
        throw RPCError(error)
      }
    }
    dispatcher.register(ControlMethods.act) { parameters, caller throws(RPCError) in
      let consumer = try self.notifications(of: parameters.phone)
      do throws(FetchFailure) {
        try await consumer.act(parameters.uid, parameters.action, caller)
        return true
      } catch {
        throw RPCError(error)
      }
    }
    dispatcher.register(ControlMethods.getApp) { parameters, caller throws(RPCError) in
      let consumer = try self.notifications(of: parameters.phone)
      do throws(FetchFailure) {
        let name = try await consumer.name(of: parameters.appID, caller)
        return AppReport(appID: parameters.appID, name: name ?? parameters.appID)
      } catch {
        throw RPCError(error)
      }
    }
    dispatcher.register(ControlMethods.listApps) { self.apps($0) }
    dispatcher.register(ControlMethods.getMedia) { parameters throws(RPCError) in
      try self.media(of: parameters.phone).state ?? MediaState()
    }
    dispatcher.register(ControlMethods.sendMediaCommand) { parameters, caller throws(RPCError) in
      let remote = try self.media(of: parameters.phone).remote
      do throws(MediaFailure) {
        try await remote?.send(parameters.command, for: .user(caller))
        return true
      } catch {
        throw RPCError(error)
      }
    }
  }

  private func notifications(
    matching query: NotificationQuery
  ) throws(RPCError) -> Page<ActiveNotification> {
    guard let after = ListPlace(query.after) else {
      throw .invalidParams("after is no “next” of this list")
    }
    var page = Page<ActiveNotification>()
    for (phone, entry) in supervisor.keptNotifications(of: query.phone)
    where query.matches(entry.report) {
      let place = ListPlace(link: entry.session, number: entry.number)
      guard after < place else { continue }
      let notification = ActiveNotification(
        phone.dated(entry.report), adapter: phone.adapter, phone: phone.identity?.address)
      guard page.add(notification, at: place.description, within: ControlLimits.page) else {
        return page
      }
    }
    for (link, session) in supervisor.sessions(of: query.phone) where link >= after.link {
      let number = link == after.link ? after.number : 0
      for (number, report) in session.activeNotifications.arrived(after: number)
      where report.standing != .hidden && query.matches(report) {
        let place = ListPlace(link: link, number: number).description
        guard page.add(session.active(report), at: place, within: ControlLimits.page) else {
          return page
        }
      }
    }
    return page
  }

  /// The apps, in the order of their identifiers.
  private func apps(_ query: AppQuery) -> Page<AppReport> {
    var reports: [String: AppReport] = [:]
    func count(_ report: NotificationReport) {
      guard report.standing != .hidden, let id = report.attributes.appIdentifier, !id.isEmpty else {
        return
      }
      reports[id, default: AppReport(appID: id, name: id, count: 0)].add(report)
    }
    for (_, entry) in supervisor.keptNotifications(of: query.phone) { count(entry.report) }
    for (_, session) in supervisor.sessions(of: query.phone) {
      for (_, report) in session.activeNotifications.arrived(after: 0) { count(report) }
    }
    var page = Page<AppReport>()
    for (id, report) in reports.sorted(by: { $0.key < $1.key }) where id > query.after ?? "" {
      guard page.add(report, at: id, within: ControlLimits.page) else { break }
    }
    return page
  }

  // MARK: Pairing and bonds

  private func registerPairing(in dispatcher: inout ControlDispatcher) {
    dispatcher.register(ControlMethods.openPairing) { parameters throws(RPCError) in
      let radio = try self.radio()
      guard !radio.adapters.isEmpty else { throw .unavailable("no adapter is there to pair on") }
      let seconds = parameters.seconds?.value
      let end = seconds.map { self.supervisor.platform.scheduler.now + .seconds($0) }
      for adapter in radio.sortedAdapters {
        adapter.openPairing(until: end ?? Instant(nanoseconds: .max))
      }
      var report = PairingReport(name: self.supervisor.name, seconds: seconds)
      if let (question, phone) = radio.pairingQuestion {
        (report.question, report.phone) = (question, phone)
      }
      return report
    }
    dispatcher.register(ControlMethods.closePairing) { _ throws(RPCError) in
      for adapter in try self.radio().sortedAdapters { adapter.closePairing() }
      return true
    }
    dispatcher.register(ControlMethods.respondToPairing) { parameters throws(RPCError) in
      try self.radio().respond(parameters)
      return true
    }
    dispatcher.register(ControlMethods.forgetPhone) { parameters throws(RPCError) in
      guard let radio = self.supervisor.radio else {
        throw .unavailable("there is no radio in use, so no phone is bonded")
      }
      let isKnown: Bool
      do throws(SystemError) {
        isKnown = try await radio.forget(parameters.phone)
      } catch {
        throw .internalError(
          "the phone is refused from now on, but its keys are still on the disk, and would be used after "
            + "the next start: \(error)")
      }
      guard isKnown else { throw .unavailable("no phone \(parameters.phone) is bonded") }
      return true
    }
  }

  // MARK: Attributes

  private func registerAttributes(in dispatcher: inout ControlDispatcher) {
    dispatcher.register(ControlMethods.discover) { parameters, caller throws(RPCError) in
      let client = try self.client(of: parameters.phone, for: caller)
      do throws(ATTFailure) {
        var services: [DiscoveredServiceReport] = []
        for service in try await client.primaryServices() {
          services.append(DiscoveredServiceReport(try await client.locate(service)))
        }
        return services
      } catch {
        throw RPCError(error)
      }
    }
    dispatcher.register(ControlMethods.readAttribute) { parameters, caller throws(RPCError) in
      let client = try self.client(of: parameters.phone, for: caller)
      do throws(ATTFailure) {
        return HexBytes(try await client.readLong(parameters.handle.value))
      } catch {
        throw RPCError(error)
      }
    }
    dispatcher.register(ControlMethods.writeAttribute) { parameters, caller throws(RPCError) in
      let client = try self.client(of: parameters.phone, for: caller)
      let (handle, value) = (parameters.handle.value, parameters.value.bytes)
      do throws(ATTFailure) {
        if parameters.isCommand {
          try client.writeCommand(handle, value)
        } else {
          try await client.writeInFull(handle, value)
        }
        return true
      } catch {
        throw RPCError(error)
      }
    }
  }

  // MARK: Which phone

  private func session(of selector: PhoneSelector?) throws(RPCError) -> Session {
    let candidates = supervisor.sessions(of: selector).map(\.session)
    guard let first = candidates.first else {
      throw .unavailable(selector.map { "no phone \($0) is connected" } ?? "no phone is connected")
    }
    guard candidates.count == 1 else {
      throw .invalidParams("several phones are connected: say which (phone)")
    }
    return first
  }

  /// A client of the phone's attributes for somebody who looks at single ones.
  private func client(
    of selector: PhoneSelector?, for caller: Cancellation
  ) throws(RPCError) -> Client {
    try session(of: selector).client.acting(for: .debugging(caller))
  }

  private func notifications(of selector: PhoneSelector?) throws(RPCError) -> NotificationConsumer {
    let session = try session(of: selector)
    guard let consumer = session.services.active(NotificationService.self)?.consumer else {
      let why = session.wait?.sentence(name: supervisor.name) ?? "disconnected"
      throw .tryAgain("the phone is not subscribed to: \(why)")
    }
    return consumer
  }

  private func media(of selector: PhoneSelector?) throws(RPCError) -> MediaService {
    guard let media = try session(of: selector).services.active(MediaService.self) else {
      throw .tryAgain("the phone shows no media service now")
    }
    return media
  }

  private func radio() throws(RPCError) -> Radio {
    guard let radio = supervisor.radio else {
      throw .unavailable("there is no radio in use, so nothing to pair with")
    }
    return radio
  }
}

/// A place in the list of all phones' notifications: behind the one that was the `number`th to arrive on a
/// link.
private struct ListPlace: CustomStringConvertible, Comparable {
  var link = 0
  var number: UInt64 = 0

  init(link: Int, number: UInt64) {
    self.link = link
    self.number = number
  }

  /// Reads a place as it was told to a client; the beginning, if there is none.
  init?(_ text: String?) {
    let parts = (text ?? "0.0").split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let link = Int(parts[0]), let number = UInt64(parts[1]) else {
      return nil
    }
    self.init(link: link, number: number)
  }

  var description: String { "\(link).\(number)" }

  static func < (one: ListPlace, other: ListPlace) -> Bool {
    (one.link, one.number) < (other.link, other.number)
  }
}

extension Supervisor {
  /// The sessions with the phone that is meant, or all, in the order of their links.
  fileprivate func sessions(
    of selector: PhoneSelector?
  ) -> [(number: Int, session: Session)] {
    sessions.filter { selector?.matches($0.session.phone) ?? true }
  }

  /// What is kept of the notifications of the phone that is meant, or of all, in the order of arrival.
  fileprivate func keptNotifications(
    of selector: PhoneSelector?
  ) -> [(phone: Phone, entry: KeptNotifications.Entry)] {
    phones.filter { selector?.matches($0) ?? true }
      .flatMap { phone in phone.kept.kept.entries.map { (phone, $0) } }
      .filter { $0.1.report.standing != .hidden }
      .sorted { ($0.1.session, $0.1.number) < ($1.1.session, $1.1.number) }
  }
}

extension AppReport {
  /// Counts another of the app's notifications.
  fileprivate mutating func add(_ notification: NotificationReport) {
    count = (count ?? 0) + 1
    if let app = notification.app { name = app }
  }
}

extension Session {
  fileprivate var activeNotifications: ActiveNotifications {
    services.active(NotificationService.self)?.consumer?.active ?? ActiveNotifications()
  }

  /// A notification with the phone that it is on.
  fileprivate func active(_ report: NotificationReport) -> ActiveNotification {
    ActiveNotification(phone.dated(report), adapter: link.adapter, phone: address)
  }
}

extension PhoneSelector {
  @LoopActor fileprivate func matches(_ phone: Phone) -> Bool {
    matches(phone.identity?.address, name: phone.displayName)
  }
}

// MARK: - Errors of the phone, as clients see them

extension RPCError {
  fileprivate init(_ failure: ATTFailure) {
    if let code = failure.code {
      self = .phone("\(code)", att: code.rawValue)
    } else {
      self = failure.isEnd ? .unavailable("\(failure)") : .tryAgain("\(failure)")
    }
  }

  fileprivate init(_ failure: FetchFailure) {
    if let code = failure.code {
      self = .phone("\(failure)", att: code.rawValue)
    } else {
      self = failure == .ended ? .unavailable("\(failure)") : .tryAgain("\(failure)")
    }
  }

  fileprivate init(_ failure: MediaFailure) {
    switch failure {
    case .refused(let code): self = .phone("\(failure)", att: code.rawValue)
    case .noRemoteCommand: self = .unavailable("\(failure)")
    case .undelivered(let cause): self.init(cause)
    }
  }
}
