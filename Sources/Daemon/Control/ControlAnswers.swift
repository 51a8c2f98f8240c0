// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Control
import EventLoop
import GATT
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
    return supervisor.sessions.flatMap { _, session in
      session.services.replay().map {
        NumberedEvent(seq: seq, time: time, session.event($0))
      }
    }
  }

  // MARK: Status

  private func registerStatus(in dispatcher: inout ControlDispatcher) {
    dispatcher.register(ControlMethods.status) { _ in await self.supervisor.status() }
    dispatcher.register(ControlMethods.timeline) { _ in self.supervisor.timeline.report }
    dispatcher.register(ControlMethods.listPhones) { _ in self.supervisor.phoneReports }
    dispatcher.register(ControlMethods.knownAttributes) { _ in
      self.supervisor.sessions.map(\.session.knownAttributes)
    }
  }

  // MARK: Notifications, apps and media

  private func registerServices(in dispatcher: inout ControlDispatcher) {
    dispatcher.register(ControlMethods.listNotifications) { self.notifications(matching: $0) }
    dispatcher.register(ControlMethods.getNotification) { parameters throws(RPCError) in
      let session = try self.session(of: parameters.phone)
      let consumer = try self.notifications(of: parameters.phone)
      let attributes = parameters.attributes ?? []
      // If the notification is not known here, the phone refuses the request.
      do throws(FetchFailure) {
        let report = try await consumer.get(
          parameters.uid, Set(attributes.isEmpty ? NotificationAttributeID.all : attributes))
        return session.active(report)
      } catch {
        throw RPCError(error)
      }
    }
    dispatcher.register(ControlMethods.act) { parameters throws(RPCError) in
      let consumer = try self.notifications(of: parameters.phone)
      do throws(FetchFailure) {
        try await consumer.act(parameters.uid, parameters.action)
        return true
      } catch {
        throw RPCError(error)
      }
    }
    dispatcher.register(ControlMethods.getApp) { parameters throws(RPCError) in
      let consumer = try self.notifications(of: parameters.phone)
      do throws(FetchFailure) {
        let name = try await consumer.name(of: parameters.appID)
        return AppReport(appID: parameters.appID, name: name ?? parameters.appID)
      } catch {
        throw RPCError(error)
      }
    }
    dispatcher.register(ControlMethods.listApps) { self.apps(of: $0.phone) }
    dispatcher.register(ControlMethods.getMedia) { parameters throws(RPCError) in
      try self.media(of: parameters.phone).state ?? MediaState()
    }
    dispatcher.register(ControlMethods.sendMediaCommand) { parameters throws(RPCError) in
      let remote = try self.media(of: parameters.phone).remote
      do throws(MediaFailure) {
        try await remote?.send(parameters.command)
        return true
      } catch {
        throw RPCError(error)
      }
    }
  }

  private func notifications(matching query: NotificationQuery) -> [ActiveNotification] {
    supervisor.sessions.map(\.session).filter { query.phone?.matches($0) ?? true }
      .flatMap { session in
        let consumer = session.services.active(NotificationService.self)?.consumer
        return (consumer?.active.all ?? []).filter(query.matches).map(session.active)
      }
  }

  private func apps(of selector: PhoneSelector?) -> [AppReport] {
    var reports: [String: AppReport] = [:]
    for report in notifications(matching: NotificationQuery(phone: selector)).map(\.report) {
      guard let id = report.attributes.appIdentifier, !id.isEmpty else { continue }
      let known = reports[id]
      reports[id] = AppReport(
        appID: id, name: report.app ?? known?.name ?? id, count: (known?.count ?? 0) + 1)
    }
    return reports.values.sorted { $0.appID < $1.appID }
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
      do {
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
    dispatcher.register(ControlMethods.discover) { parameters throws(RPCError) in
      let client = try self.session(of: parameters.phone).client
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
    dispatcher.register(ControlMethods.readAttribute) { parameters throws(RPCError) in
      let client = try self.session(of: parameters.phone).client
      do throws(ATTFailure) {
        return HexBytes(try await client.readLong(parameters.handle.value))
      } catch {
        throw RPCError(error)
      }
    }
    dispatcher.register(ControlMethods.writeAttribute) { parameters throws(RPCError) in
      let client = try self.session(of: parameters.phone).client
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
    let candidates = supervisor.sessions.map(\.session).filter { selector?.matches($0) ?? true }
    guard let first = candidates.first else {
      throw .unavailable(selector.map { "no phone \($0) is connected" } ?? "no phone is connected")
    }
    guard candidates.count == 1 else {
      throw .invalidParams("several phones are connected: say which (phone)")
    }
    return first
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

extension Session {
  /// A notification with the phone that it is on.
  fileprivate func active(_ report: NotificationReport) -> ActiveNotification {
    ActiveNotification(report, adapter: link.adapter, phone: address)
  }
}

extension PhoneSelector {
  @LoopActor fileprivate func matches(_ session: Session) -> Bool {
    matches(session.phone.identity?.address, name: session.phone.displayName)
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
