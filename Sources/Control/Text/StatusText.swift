// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
public import Wire

// The status as text, for `status`, `pair` and reports.

extension StatusReport {
  /// The status as text: a paragraph for the daemon, each adapter and each phone.
  public func text(_ style: TextStyle, now: WallTime) -> String {
    var head = StyledText("ancsd \(version)", .strong)
    head.add("up \(Self.age(from: started, to: now))")
    var lines = head.lines(style)
    for adapter in adapters { lines += adapter.lines(style) }
    lines += waiting.text.lines(style)
    if adapters.isEmpty, links.isEmpty, waiting.why == nil {
      lines += StyledText("no adapter", .faint).lines(style)
    }
    for link in links { lines += link.lines(style, now: now) }
    let linked = Set(links.compactMap(\.phone))
    for phone in phones where !linked.contains(phone.phone) { lines += phone.lines(style) }
    if links.isEmpty, phones.isEmpty, !adapters.isEmpty {
      lines += StyledText("no phone yet: “ancsd pair” helps you pair one", .attention)
        .lines(style)
    }
    for bridge in bridges { lines += bridge.lines(style, now: now) }
    for forward in forwards { lines += forward.lines(style) }
    return lines.joined(separator: "\n")
  }

  /// How long ago, in its two largest units.
  static func age(from earlier: WallTime, to later: WallTime) -> String {
    // The clock may have been set back in between.
    let seconds = max(0, later.seconds.subtractingReportingOverflow(earlier.seconds).partialValue)
    switch seconds {
    case 0..<60: return "\(seconds) s"
    case 60..<3_600: return "\(seconds / 60) min \(seconds % 60) s"
    case 3_600..<86_400: return "\(seconds / 3_600) h \(seconds / 60 % 60) min"
    default: return "\(seconds / 86_400) d \(seconds / 3_600 % 24) h"
    }
  }
}

extension TextStyle {
  /// The column in which the text about an adapter or a phone begins.
  fileprivate var subjectIndent: Int { isNarrow ? 2 : 8 }
}

extension StyledText {
  /// A line that begins with its subject.
  init(subject word: String, _ name: String) {
    self.init()
    addWhole(word + String(repeating: " ", count: max(0, 7 - word.count)), .faint)
    add(name, .strong)
  }
}

extension AdapterReport {
  /// The adapter on a line.
  public func lines(_ style: TextStyle) -> [String] {
    var line = StyledText(subject: "adapter", adapter)
    if let address { line.add(address.description) }
    if let name { line.add("“\(name)”") }
    if !isPresent {
      line.add("not present", .attention)
    } else if !isPowered {
      line.add("off", .attention)
    } else {
      line.add(isAdvertising ? "advertising" : "on", .good)
      if let profile { line.add("(\(profile))", .faint) }
      if let phy { line.add("PHY \(phy)", .faint) }
      if isPairable { line.add("pairable", .attention) }
    }
    if let why = waiting.why { line.add("– \(why)", waiting.paint) }
    let refusal = StyledText(parametersRefusalText ?? "", .faint)
    return [line, refusal].lines(style, indent: style.subjectIndent)
  }

  /// The consequences if the controller refuses; nil if it does not.
  public var parametersRefusalText: String? {
    parametersRefusal.map { error in
      let code = String(error, digits: 2, radix: 16, uppercase: true)
      return "the controller refuses to request connection parameters (HCI error 0x"
        + "\(code)\(error == 0x0C ? ", Command Disallowed" : "")), as controllers of "
        + "Bluetooth 4.0 do: links keep the phone's supervision timeout of 720 ms, and are lost more easily; "
        + "the kernel requests the interval from the next link on"
    }
  }
}

extension LinkReport {
  /// The connection: the phone, the link, and the services.
  public func lines(_ style: TextStyle, now: WallTime) -> [String] {
    var first = StyledText(subject: "phone", phone?.description ?? name.map { "“\($0)”" } ?? "")
    if phone == nil {
      first.add("(address unknown)", .faint)
    } else if let name {
      first.add("“\(name)”")
    }
    if let adapter { first.add("on \(adapter)") }
    first.add("connected", .good)
    first.add("for \(StatusReport.age(from: since, to: now)),")
    first.add(isEncrypted ? "encrypted," : "not encrypted,", isEncrypted ? .plain : .attention)
    first.add(isBonded ? "bonded" : "not bonded", isBonded ? .plain : .attention)
    var details = mtu.map { ["MTU \($0)", "\(requests) requests"] } ?? []
    if let rssi { details.append("\(rssi) dBm") }
    if let interval { details.append("an interval of \(interval) ms") }
    if let latency, latency > 0 { details.append("latency \(latency)") }
    if !details.isEmpty { first.add("(\(details.joined(separator: ", ")))", .faint) }
    var second = StyledText()
    if services.isEmpty {
      second.add("nothing subscribed yet", .attention)
    } else {
      second.add("subscribed to \(services.map(\.rawValue).joined(separator: ", "));")
      second.add("\(notifications.counted("notification")) active")
      if backlog > 0 { second.add("(\(backlog) to fetch)", .faint) }
    }
    switch authorization {
    case .refused?: second.add("· reading not allowed", .attention)
    case .unknown(until: .response)?: second.add("· reading not allowed yet", .attention)
    case .granted?, .unknown?, nil: break
    }
    if let battery { second.add("· battery \(battery) %") }
    if let parametersPause {
      second.add(
        "· drops links after requests for connection parameters: no more for \((parametersPause + 3599) / 3600) h",
        .attention)
    }
    return [first, second, waiting.text].lines(style, indent: style.subjectIndent)
  }
}

extension AppReport {
  /// The apps as a table: count, name, identifier.
  public static func table(_ apps: [AppReport], _ style: TextStyle) -> String {
    let counts = apps.map { $0.count.map { String($0) } ?? "" }
    let width = counts.map(\.count).max() ?? 0
    let rows = zip(apps, counts).map { app, count in
      [
        StyledRun(String(repeating: " ", count: width - count.count) + count, .strong),
        StyledRun(app.name.printable.cut(toDisplayWidth: 30), .app), StyledRun(app.appID),
      ]
    }
    return StyledRow.table(rows, style)
  }
}

extension PhoneReport {
  /// The phone on a line.
  public func lines(_ style: TextStyle) -> [String] {
    var line = StyledText(subject: "phone", phone.description)
    if let name { line.add("“\(name)”") }
    if let adapter { line.add("on \(adapter)") }
    line.add(isConnected ? "connected" : "not connected", isConnected ? .good : .faint)
    if let key {
      line.add(
        "(key: \(key.isSecureConnections ? "P-256" : "legacy"), "
          + "\(key.isAuthenticated ? "authenticated" : "unauthenticated"), \(key.size) bytes)",
        .faint)
    }
    return line.lines(style, indent: style.subjectIndent)
  }
}

extension WaitReport {
  /// Waits that need the user to do something stand out.
  var paint: Paint { Wait.isFine(wait) ? .faint : .attention }

  /// Its sentence; empty if there is none.
  var text: StyledText { StyledText(why ?? "", paint) }
}

extension WaitLine {
  /// Whether it needs no action.
  public var isFine: Bool { Wait.isFine(wait) }

  /// The line as text.
  public func text(_ style: TextStyle) -> String {
    var line = StyledText()
    for subject in [adapter, phone?.description].compactMap({ $0 }) {
      line.add("\(subject):", .strong)
    }
    line.add(why, isFine ? .plain : .attention)
    return line.lines(style, indent: 2).joined(separator: "\n")
  }
}
