// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import EventLoop
import GATT
import JSON
import System
import Wire

/// Does what clients of the control socket ask for, on the live sessions.
@LoopActor
struct ControlAnswers {
  private unowned let supervisor: Supervisor

  init(_ supervisor: Supervisor) { self.supervisor = supervisor }

  func answer(_ request: ControlRequest) async throws(RPCError) -> JSONValue {
    switch request {
    case .status: return await supervisor.statusOnAir().json
    case .subscribe: return true
    case .listNotifications(let query):
      return .array(notifications(matching: query).map(\.json))
    case .getNotification(let uid, let attributes, let phone):
      let session = try session(of: phone)
      let consumer = try notifications(of: phone)
      // One that is not known here is for the phone to refuse.
      return try await asking { () async throws(FetchFailure) in
        let report = try await consumer.get(uid, Set(attributes ?? NotificationAttributeID.all))
        return session.active(NotificationRecord(report)).json
      }
    case .act(let uid, let action, let phone):
      let consumer = try notifications(of: phone)
      return try await asking { () async throws(FetchFailure) in
        try await consumer.act(uid, action)
        return true
      }
    case .getApp(let identifier, let phone):
      let consumer = try notifications(of: phone)
      return try await asking { () async throws(FetchFailure) in
        let name = try await consumer.name(of: identifier)
        return AppReport(appID: identifier, name: name ?? identifier).json
      }
    case .listApps(let phone): return .array(apps(of: phone).map(\.json))
    case .getMedia(let phone):
      let media = try media(of: phone)
      return MediaReport(media.state, at: supervisor.scheduler.now).json
    case .command(let command, let phone): return try await send(command, to: phone)
    case .listPhones: return .array(supervisor.phoneReports.map(\.json))
    case .forget(let phone): return try await forget(phone)
    case .openPairing(let seconds):
      return try radio().openPairing(for: seconds).json
    case .closePairing:
      try radio().closePairing()
      return true
    case .respond(let accept, let passkey):
      guard try radio().respond(accept: accept, passkey: passkey) else {
        throw .unavailable("no pairing waits for an answer")
      }
      return true
    case .discover(let phone): return try await discover(on: try session(of: phone))
    case .known: return .array(supervisor.sessions.map(\.known.json))
    case .read(let handle, let phone):
      let session = try session(of: phone)
      return .string(
        try await reaching { () async throws(ATTFailure) in
          try await session.read(handle)
        }.hex)
    case .write(let handle, let value, let command, let phone):
      let session = try session(of: phone)
      try await reaching { () async throws(ATTFailure) in
        try await session.write(handle, value, command: command)
      }
      return true
    }
  }

  /// What is active now, as events of a replay: each notification as it stands, and what plays.
  func active() -> [NumberedEvent] {
    let time = WallTime.now
    var events: [NumberedEvent] = []
    for session in supervisor.sessions {
      for report in session.notifications?.active.all ?? [] {
        events.append(
          session.event(.notification(.added, NotificationRecord(report)), at: time))
      }
      if let state = session.media?.state {
        events.append(
          session.event(
            .media(MediaReport(state, at: supervisor.scheduler.now), changed: []), at: time))
      }
    }
    return events
  }

  // MARK: Which phone

  private func session(of selector: PhoneSelector?) throws(RPCError) -> Session {
    let candidates = supervisor.sessions.filter { session in
      selector?.matches(session.phone.identity?.address, name: session.phone.displayName) ?? true
    }
    guard let first = candidates.first else {
      throw .unavailable(
        selector.map { "no phone \($0.text) is connected" } ?? "no phone is connected")
    }
    guard candidates.count == 1 else {
      throw .invalidParams("several phones are connected: say which (phone)")
    }
    return first
  }

  private func notifications(
    of selector: PhoneSelector?
  ) throws(RPCError) -> NotificationConsumer {
    let session = try session(of: selector)
    guard let notifications = session.notifications else {
      throw .tryAgain("the phone is not subscribed to: \(session.why)")
    }
    return notifications
  }

  private func media(of selector: PhoneSelector?) throws(RPCError) -> MediaRemote {
    let session = try session(of: selector)
    guard let media = session.media else {
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

  // MARK: Notifications and apps

  private func notifications(matching query: NotificationQuery) -> [ActiveNotification] {
    let sessions = supervisor.sessions.filter { session in
      query.phone?.matches(session.phone.identity?.address, name: session.phone.displayName)
        ?? true
    }
    return sessions.flatMap { session in
      (session.notifications?.active.all ?? []).map { session.active(NotificationRecord($0)) }
    }.filter { query.matches($0.record) }
  }

  private func apps(of selector: PhoneSelector?) -> [AppReport] {
    var reports: [String: AppReport] = [:]
    for record in notifications(matching: NotificationQuery(phone: selector)).map(\.record) {
      guard let id = record.appID, !id.isEmpty else { continue }
      let known = reports[id]
      reports[id] = AppReport(
        appID: id, name: record.app ?? known?.name ?? id, count: (known?.count ?? 0) + 1)
    }
    return reports.values.sorted { $0.appID < $1.appID }
  }

  private func send(
    _ command: RemoteCommand, to selector: PhoneSelector?
  ) async throws(RPCError) -> JSONValue {
    let media = try media(of: selector)
    do {
      try await media.send(command)
      return true
    } catch {
      throw RPCError(error)
    }
  }

  private func forget(_ selector: PhoneSelector) async throws(RPCError) -> JSONValue {
    guard let radio = supervisor.radio else {
      throw .unavailable("there is no radio in use, so no phone is bonded")
    }
    guard try await radio.forget(selector) else {
      throw .unavailable("no phone \(selector.text) is bonded")
    }
    return true
  }

  // MARK: GATT

  private func discover(on session: Session) async throws(RPCError) -> JSONValue {
    try await reaching { () async throws(ATTFailure) in
      JSONValue.array(try await session.discoverAll().map(\.report))
    }
  }

  private func asking<Value>(
    _ work: () async throws(FetchFailure) -> Value
  ) async throws(RPCError) -> Value {
    do {
      return try await work()
    } catch {
      throw RPCError(error)
    }
  }

  private func reaching<Value>(
    _ work: () async throws(ATTFailure) -> Value
  ) async throws(RPCError) -> Value {
    do {
      return try await work()
    } catch {
      throw RPCError(error)
    }
  }
}
