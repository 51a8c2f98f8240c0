// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
public import Wire

extension StatusReport {
  /// Everything as a person reads it: a paragraph for the daemon, each adapter, each phone.
  public func text(_ style: TextStyle, now: WallTime) -> String {
    var head = StyledText("ancsd \(version)", .strong)
    head.add("up \(Self.age(from: started, to: now))")
    var lines = head.lines(style)
    for adapter in adapters { lines += adapter.lines(style) }
    if let why = waiting.why { lines += StyledText(why, waiting.paint).lines(style) }
    if adapters.isEmpty, waiting.why == nil {
      lines += StyledText("no adapter", .faint).lines(style)
    }
    for link in links { lines += link.lines(style, now: now) }
    let linked = Set(links.compactMap(\.phone))
    for phone in phones where !linked.contains(phone.phone) { lines += phone.lines(style) }
    if links.isEmpty, phones.isEmpty {
      lines += StyledText("no phone yet: “ancsd pair” tells how to bring one in", .attention)
        .lines(style)
    }
    return lines.joined(separator: "\n")
  }

  /// How long ago, in the two largest units that matter.
  static func age(from earlier: WallTime, to later: WallTime) -> String {
    // A clock that was set back in between makes no negative age.
    let seconds = max(0, later.seconds.subtractingReportingOverflow(earlier.seconds).partialValue)
    switch seconds {
    case 0..<60: return "\(seconds) s"
    case 60..<3_600: return "\(seconds / 60) min \(seconds % 60) s"
    case 3_600..<86_400: return "\(seconds / 3_600) h \(seconds / 60 % 60) min"
    default: return "\(seconds / 86_400) d \(seconds / 3_600 % 24) h"
    }
  }
}

/// The column in which what is said about an adapter or a phone begins.
private let indent = 8

/// A line that begins with what it is about.
private func subject(_ word: String, _ name: String) -> StyledText {
  var line = StyledText()
  let blanks = String(repeating: " ", count: max(0, indent - 1 - word.count))
  line.addWhole(word + blanks, .faint)
  line.add(name, .strong)
  return line
}

extension AdapterReport {
  /// The adapter on a line.
  public func lines(_ style: TextStyle) -> [String] {
    var line = subject("adapter", adapter)
    if let address { line.add(address.description) }
    if let name { line.add("“\(name)”") }
    if !isPresent {
      line.add("not there", .attention)
    } else if !isPowered {
      line.add("off", .attention)
    } else {
      line.add(isAdvertising ? "advertising" : "on", .good)
      if isPairable { line.add("pairable", .attention) }
    }
    if let why = waiting.why { line.add("– \(why)", waiting.paint) }
    return line.lines(style, indent: indent)
  }
}

extension LinkReport {
  /// The connection: who, how, and what comes over it.
  public func lines(_ style: TextStyle, now: WallTime) -> [String] {
    var first = subject("phone", phone?.description ?? "unknown")
    if let name { first.add("“\(name)”") }
    if let adapter { first.add("on \(adapter)") }
    first.add("connected", .good)
    first.add("for \(StatusReport.age(from: since, to: now)),")
    first.add(isEncrypted ? "encrypted," : "not encrypted,", isEncrypted ? .plain : .attention)
    first.add(isBonded ? "bonded" : "not bonded", isBonded ? .plain : .attention)
    var details = mtu.map { ["MTU \($0)", "\(requests) requests"] } ?? []
    if let rssi { details.append("\(rssi) dBm") }
    if let parameters {
      details.append("an interval of \(parameters.minimumMilliseconds) ms")
      if parameters.latency > 0 { details.append("latency \(parameters.latency)") }
    }
    if !details.isEmpty { first.add("(\(details.joined(separator: ", ")))", .faint) }
    var second = StyledText()
    if services.isEmpty {
      second.add("nothing subscribed yet", .attention)
    } else {
      second.add("subscribed to \(services.map(\.rawValue).joined(separator: ", "));")
      second.add("\(notifications) notification\(notifications == 1 ? "" : "s") active")
      if backlog > 0 { second.add("(\(backlog) to be fetched)", .faint) }
    }
    if isAuthorized == false { second.add("· reading not allowed", .attention) }
    if let battery { second.add("· battery \(battery) %") }
    var lines = first.lines(style, indent: indent)
    lines += second.lines(style, indent: indent, hanging: false)
    if let why = waiting.why {
      lines += StyledText(why, waiting.paint).lines(style, indent: indent, hanging: false)
    }
    return lines
  }
}

extension AppReport {
  /// Apps as a table: count, name, identifier.
  public static func table(_ apps: [AppReport], _ style: TextStyle) -> String {
    let names = apps.map { $0.name.printable.cut(toDisplayWidth: 30) }
    let counts = apps.map { $0.count.map { String($0) } ?? "" }
    let nameWidth = names.map(\.displayWidth).max() ?? 0
    let countWidth = counts.map(\.count).max() ?? 0
    func blanks(_ count: Int) -> String { String(repeating: " ", count: max(0, count)) }
    return apps.indices.map { row in
      var line = StyledText()
      line.addWhole(blanks(countWidth - counts[row].count) + counts[row], .strong)
      line.addWhole(names[row] + blanks(nameWidth - names[row].displayWidth), .app)
      line.addWhole(apps[row].appID)
      return line.text(style)
    }.joined(separator: "\n")
  }
}

extension PhoneReport {
  /// The phone on a line.
  public func lines(_ style: TextStyle) -> [String] {
    var line = subject("phone", phone.description)
    if let name { line.add("“\(name)”") }
    if let adapter { line.add("on \(adapter)") }
    line.add(isConnected ? "connected" : "not connected", isConnected ? .good : .faint)
    if let key {
      line.add(
        "(key: \(key.isSecureConnections ? "P-256" : "legacy"), "
          + "\(key.isAuthenticated ? "authenticated" : "unauthenticated"), \(key.size) bytes)",
        .faint)
    }
    return line.lines(style, indent: indent)
  }
}

extension WaitReport {
  /// What needs somebody to do something stands out.
  var paint: Paint { Wait.fineNames.contains(wait ?? "") ? .faint : .attention }
}

extension WaitLine {
  /// The line as a person reads it.
  public func text(_ style: TextStyle) -> String {
    var line = StyledText()
    for subject in [adapter, phone?.description].compactMap({ $0 }) {
      line.add("\(subject):", .strong)
    }
    line.add(why, Wait.fineNames.contains(wait) ? .plain : .attention)
    return line.lines(style, indent: 2).joined(separator: "\n")
  }
}
