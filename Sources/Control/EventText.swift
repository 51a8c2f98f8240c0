// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Mgmt
import Wire

extension NumberedEvent {
  /// The event as a person reads it: one line or more, without a line end behind the last.
  ///
  /// The time of day is the board's. A line longer than the terminal continues below the text, so that
  /// the times stay readable as a column.
  public func text(_ style: TextStyle) -> String {
    let margin = style.timeText(time).utf8.count + 2
    var head = StyledText(style.timeText(time), .faint)
    if style.namesAdapter, let adapter = event.adapter { head.add(adapter, .faint) }
    switch event.content {
    case .notification(let report):
      return report.lines(head: head, received: time, style, indent: margin)
        .joined(separator: "\n")
    case .media(let state, let changed):
      return state.lines(changed: changed, head: head, style, indent: margin)
        .joined(separator: "\n")
    default:
      event.describe(in: &head)
      return head.lines(style, indent: margin).joined(separator: "\n")
    }
  }
}

extension Event {
  /// The sentence for an event that is neither a notification nor media.
  fileprivate func describe(in text: inout StyledText) {
    switch content {
    case .ready(let address, let name, let version):
      text.add("ancsd \(version) ready as", .good)
      text.add("“\(name)”", .strong)
      let place = [adapter, address?.description].compactMap { $0 }.joined(separator: " ")
      if !place.isEmpty { text.add("on \(place)") }
    case .advertising(let pairable):
      text.add(
        pairable
          ? "waiting for a phone; to pair one, open Settings › Bluetooth on it and tap this device"
          : "waiting for the phone that is bonded")
    case .connected(let encrypted, let bonded):
      text.add("connected", .good)
      if let phone { text.add(phone.description, .strong) }
      text.add(encrypted ? "encrypted," : "not encrypted yet,")
      text.add(bonded ? "bonded" : "not bonded")
    case .pairing(let method, let passkey):
      text.add("pairing:", .attention)
      Self.describe(method, passkey?.description, in: &text)
    case .paired:
      text.add("paired", .good)
      if let phone { text.add("with \(phone)") }
    case .pairingFailed(let reason):
      text.add("pairing failed:", .bad)
      text.add(reason)
    case .subscribed(let services, let mtu, let requests):
      text.add("subscribed to", .good)
      text.add(Self.list(services))
      text.add("(MTU \(mtu), \(requests) requests)", .faint)
    case .authorization(true): text.add("the phone lets its notifications be read", .good)
    case .authorization(false):
      text.add("the phone does not let its notifications be read:", .attention)
      text.add("on it, turn on Settings › Bluetooth › this device › Share System Notifications")
    case .incoming(let event):
      text.add("incoming", .faint)
      text.add("\(event.change) #\(event.uid) \(event.category)")
      text.add(event.flags.names.joined(separator: " "), .faint)
    case .battery(let level):
      text.add("the phone's battery:")
      text.add("\(level) %", level <= 20 ? .attention : .strong)
    case .time(let time, let offset):
      text.add("the phone's clock: \(time.dateText) \(time.timeText)")
      text.add("(\(Self.offsetText(offset)))", .faint)
    case .stale(let what, let remedy):
      text.add(what, .attention)
      text.add("→ \(remedy)")
    case .servicesChanged(let services):
      text.add("services of the phone now: \(Self.list(services))")
    case .disconnected(let reason):
      text.add("disconnected:", .attention)
      text.add(reason)
    case .why(_, let why): text.add(why)
    case .error(let what, let code, let message):
      text.add("\(what):", .bad)
      text.add(message)
      if let code { text.add("(\(code))", .faint) }
    case .notification, .media: break
    }
  }

  private static func describe(
    _ method: PairingMethod, _ passkey: String?, in text: inout StyledText
  ) {
    switch method {
    case .justWorks: text.add("confirm it on the phone")
    case .confirm:
      text.add("does the phone show")
      text.add("\(passkey ?? "the same number")?", .strong)
    case .display:
      text.add("type")
      text.add(passkey ?? "the passkey", .strong)
      text.add("on the phone")
    case .entry: text.add("the phone shows six digits: they are wanted here")
    }
  }

  private static func list(_ services: [PhoneService]) -> String {
    services.isEmpty ? "nothing" : services.map(\.rawValue).joined(separator: ", ")
  }

  private static func offsetText(_ offset: Double) -> String {
    guard offset.isFinite, abs(offset) < 1e15, abs(offset) >= 2 else {
      return "the board's is the same"
    }
    let seconds = Int(abs(offset).rounded())
    return "\(seconds) s \(offset > 0 ? "ahead of" : "behind") the board's"
  }
}
