// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

extension NotificationConsumer {
  /// Does what is due about a session that may only look alive.
  func watchSession() async throws(ATTFailure) {
    for task in watch.due(at: now) where !isEnded {
      switch task {
      case .endCall(let uid): endCall(uid)
      case .tryAuthorization: _ = try await send(.probe)
      case .probe: try await probe()
      case .subscribeAgain: try await subscribeAgain(endingFirst: false)
      }
    }
  }

  /// Tells that a call is over whose removal must have been lost.
  private func endCall(_ uid: NotificationUID) {
    guard var event = active[uid]?.event else { return }
    event.change = .removed
    event.categoryCount = event.categoryCount == 0 ? 0 : event.categoryCount - 1
    take(event)
  }

  /// Asks about a notification that can't exist. A phone that knows the session says so within seconds;
  /// one that does not is unsubscribed from and subscribed to again. The first time it is only asked in
  /// order to learn whether it lets us read.
  private func probe() async throws(ATTFailure) {
    guard controlPoint != nil else { return }
    let isFirst = !watch.isGranted
    let asked = now
    var found = "the phone does not answer on the Control Point"
    let timer = client.bearer.scheduler.schedule(after: settings.timing.probeAnswer) {
      [weak self] in self?.suspect(found)
    }
    defer { client.bearer.scheduler.cancel(timer) }
    let result = try await send(.probe)
    if now - asked < settings.timing.probeAnswer {
      if isFirst || result.failure?.code.isExpectedByProbe == true { return }
      found = "the phone answers on the Control Point for a notification that it can't have"
      suspect(found)
    }
    doubt = found
    forget()
    try await subscribeAgain(endingFirst: true)
  }

  private func suspect(_ what: String) {
    doubt = what
    onStale(what)
  }
}

extension ErrorCode? {
  /// What a phone says that knows the session: that there is no such notification, or that it lets
  /// nobody read, which is looked after elsewhere.
  fileprivate var isExpectedByProbe: Bool {
    self == .writeNotPermitted
      || self?.rawValue == ControlPointError.invalidParameter.rawValue
  }
}

extension Result {
  fileprivate var failure: Failure? {
    if case .failure(let failure) = self { failure } else { nil }
  }
}
