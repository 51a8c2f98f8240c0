// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

extension NotificationConsumer {
  /// A notification with the attributes asked for: what is not known of them yet is fetched now, before
  /// everything else.
  ///
  /// - Throws: why they could not be fetched; Invalid Parameter where there is no such notification.
  public func get(
    _ uid: NotificationUID,
    _ attributes: Set<NotificationAttributeID> = Set(NotificationAttributeID.all)
  ) async throws(FetchFailure) -> NotificationReport {
    let known = active[uid]
    var report = known ?? NotificationReport(NotificationEvent(.added, uid, categoryCount: 0))
    let flags = known?.event.flags ?? [.positiveAction, .negativeAction]
    let wanted = AttributeSelection(attributes, maximumLengths: settings.selection.maximumLengths)
    let missing = wanted.requests(for: flags).filter { !report.attributes.has($0.id) }
    if !missing.isEmpty {
      if let response = try await ask(.getNotificationAttributes(uid, missing)) {
        let fetched = NotificationAttributes(response, requested: missing)
        report.attributes.merge(fetched)
        report.failure = nil
        merge(fetched, of: uid)
      }
    }
    if attributes.contains(.appIdentifier), let app = report.attributes.appIdentifier {
      report.app = (try? await name(of: app)) ?? app
    }
    return report
  }

  /// Acts on a notification.
  ///
  /// - Throws: why it was not done; Action Failed where the phone tried in vain.
  public func act(_ uid: NotificationUID, _ action: Action) async throws(FetchFailure) {
    _ = try await ask(.performNotificationAction(uid, action))
  }

  /// The name of an app; nil where the phone has none. It is asked for once a session.
  public func name(of app: String) async throws(FetchFailure) -> String? {
    if app.isEmpty { return nil }
    switch queue.names[app] {
    case .name(let name): return name
    case .none: return nil
    case .unknown: break
    }
    let answer: Result<DataSourceResponse?, FetchFailure>
    do {
      answer = .success(
        try await ask(.getAppAttributes(appIdentifier: app, [.displayName])))
    } catch {
      guard error.code != nil, error.code != .writeNotPermitted else { throw error }
      answer = .failure(error)
    }
    queue.learn(answer.displayName, of: app)
    return answer.displayName.flatMap { $0.isEmpty ? nil : $0 }
  }

  private func ask(
    _ command: ControlPointCommand
  ) async throws(FetchFailure) -> DataSourceResponse? {
    let answer: Result<DataSourceResponse?, FetchFailure>
    answer = await withCheckedContinuation { waiter in
      if isEnded { return waiter.resume(returning: .failure(.ended)) }
      queue.add(Request(command: command, waiter: waiter))
      alarm.ring()
    }
    return try answer.get()
  }
}
