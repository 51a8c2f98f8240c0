// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import Wire

// Which phone a client means, and whether it is there: the one place for both.

extension ControlClient {
  /// Throws where an empty answer would only mean that there is no phone to tell anything: none is connected,
  /// or not the one that is meant, or its notifications are not subscribed to yet.
  func requireNotifications(of selector: PhoneSelector?, _ what: String) async throws(Failure) {
    let status = try await call(ControlMethods.status, what)
    let links = status.links.filter { selector?.matches($0.phone, name: $0.name) ?? true }
    guard !links.isEmpty else { throw Failure(noPhone: selector, status, what) }
    guard !links.contains(where: { $0.services.contains(.ancs) }) else { return }
    throw Failure(
      .tryAgain, what, "the phone is not subscribed to",
      remedy: links.lazy.compactMap(\.waiting.why).first)
  }

  /// The address of the phone that is meant, among those that are connected or bonded. It is nil for one
  /// whose address is not known.
  func address(of selector: PhoneSelector, _ what: String) async throws(Failure) -> Address? {
    if let address = Address(selector.description) { return address }
    let status = try await call(ControlMethods.status, what)
    if let link = status.links.first(where: { selector.matches($0.phone, name: $0.name) }) {
      return link.phone
    }
    let bonded = status.phones.first { selector.matches($0.phone, name: $0.name) }
    guard let bonded else { throw Failure(noPhone: selector, status, what) }
    return bonded.phone
  }
}

extension Failure {
  /// The phone that is meant, or any, is not connected.
  fileprivate init(noPhone selector: PhoneSelector?, _ status: StatusReport, _ what: String) {
    guard let selector else {
      self.init(
        .unavailable, what, "no phone is connected",
        remedy: status.waits.first.map { "\($0.why)" } ?? "“ancsd status” tells more")
      return
    }
    if status.phones.contains(where: { selector.matches($0.phone, name: $0.name) }) {
      self.init(
        .unavailable, what, "the phone “\(selector)” is not connected",
        remedy: "“ancsd status” tells what it is waiting for")
    } else {
      let known =
        status.links.compactMap { $0.name ?? $0.phone?.description }
        + status.phones.map { $0.name ?? $0.phone.description }
      let near = nearest(to: selector.description, among: known)
      self.init(
        .unavailable, what, "no phone “\(selector)”",
        remedy: near.map { "did you mean “\($0)”?" } ?? "“ancsd phones” lists them")
    }
  }
}
