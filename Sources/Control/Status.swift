// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
public import GAP
public import JSON
public import Wire

// The results of the control socket's methods: written by the daemon, read by its clients.

/// The result of `status`.
public struct StatusReport: JSONObjectCodable, Hashable, Sendable {
  public var version = ""
  /// When the daemon started.
  public var started = WallTime(seconds: 0)
  /// Identifies this run of the daemon, as in `ready`.
  public var life: String?
  /// The number of the last event.
  public var seq: UInt64?
  public var adapters: [AdapterReport] = []
  public var links: [LinkReport] = []
  /// The phones that are bonded, connected or not.
  public var phones: [PhoneReport] = []
  /// The MQTT bridges that are connected to the daemon.
  public var bridges: [BridgeReport] = []
  /// The history that it keeps, if it does.
  public var history: HistoryReport?
  /// What the daemon itself waits for; empty if an adapter or a link has a wait of its own.
  public var waiting = WaitReport()
  /// Counts since the daemon started.
  public var totals: Totals?
  /// The daemon's resident memory in bytes; nil if unknown.
  public var memory: Int64?

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("version", &version)
    try json.required("started", &started)
    try json.optional("life", &life)
    try json.optional("seq", &seq)
    try json.list("adapters", &adapters)
    try json.list("links", &links)
    try json.list("phones", &phones)
    if M.isReading || !bridges.isEmpty { try json.list("bridges", &bridges) }
    try json.optional("history", &history)
    try waiting.members(&json)
    try json.optional("totals", &totals)
    try json.optional("memory", &memory)
  }
}

/// The history that the daemon keeps (`[log]`).
public struct HistoryReport: JSONObjectCodable, Hashable, Sendable {
  /// The path of its file.
  public var file = ""
  /// Older events are removed, in seconds.
  public var age: Int64 = 0
  /// The maximum size of the file, in MiB.
  public var size = 0
  /// Whether titles and messages are kept.
  public var hasTexts = false

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("file", &file)
    try json.required("age", &age)
    try json.required("size", &size)
    try json.required("texts", &hasTexts)
  }
}

/// A wait, by name and as a sentence. Both are nil if there is nothing to wait for.
public struct WaitReport: Hashable, Sendable {
  public var wait: String?
  public var why: String?

  /// - Parameter name: the board's name, as the phone shows it.
  public init(_ wait: Wait? = nil, name: String = "") {
    self.wait = wait?.name
    why = wait?.sentence(name: name)
  }

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("wait", &wait)
    try json.optional("why", &why)
  }
}

/// An adapter that is served, or awaited.
public struct AdapterReport: JSONObjectCodable, Hashable, Sendable {
  /// As in `hci0`, or the address if only that is known.
  public var adapter = ""
  public var address: Address?
  /// The name that phones see.
  public var name: String?
  public var isPresent = true
  public var isPowered = false
  public var isAdvertising = false
  /// Its current advertising profile, as for `--advertise`; nil if it is not advertising.
  public var profile: String?
  public var isPairable = false
  /// The HCI error with which the controller refused to request connection parameters.
  public var parametersRefusal: UInt8?
  /// What it waits for; empty while a link has a wait of its own.
  public var waiting = WaitReport()

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("adapter", &adapter)
    try json.optional("address", &address)
    try json.optional("name", &name)
    try json.required("present", &isPresent)
    try json.required("powered", &isPowered)
    try json.required("advertising", &isAdvertising)
    try json.optional("profile", &profile)
    try json.required("pairable", &isPairable)
    try json.optional("parameters_refused", &parametersRefusal)
    try waiting.members(&json)
  }
}

/// A connection to a phone.
public struct LinkReport: JSONObjectCodable, Hashable, Sendable {
  public var adapter: String?
  /// The phone's identity address, if it is known.
  public var phone: Address?
  /// The phone's own name, if it is known.
  public var name: String?
  /// When it came up.
  public var since = WallTime(seconds: 0)
  public var isEncrypted = false
  public var isBonded = false
  public var mtu: Int?
  /// The subscribed services.
  public var services: [PhoneService] = []
  /// Whether the phone allows its notifications to be read; nil while it has no ANCS.
  public var authorization: Authorization?
  /// In per cent.
  public var battery: Int?
  /// How many notifications are active.
  public var notifications = 0
  /// How many of them are not fetched yet.
  public var backlog = 0
  /// The ATT requests sent since the link came up.
  public var requests = 0
  /// The phone's signal strength at the board, in dBm.
  public var rssi: Int?
  /// The connection parameters in force, if the controller has reported them.
  public var parameters: ConnectionParameters?
  /// What it waits for.
  public var waiting = WaitReport()

  /// Whether the phone is one of this board's, not a stranger.
  public var isServed: Bool { isBonded || !services.isEmpty }

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("adapter", &adapter)
    try json.optional("phone", &phone)
    try json.optional("name", &name)
    try json.required("since", &since)
    try json.required("encrypted", &isEncrypted)
    try json.required("bonded", &isBonded)
    try json.optional("mtu", &mtu)
    try json.list("services", &services)
    var isAuthorized = authorization == .pending ? nil : authorization.map { $0 == .granted }
    try json.optional("authorized", &isAuthorized)
    try json.optional("authorization", &authorization)
    try json.optional("battery", &battery)
    try json.required("notifications", &notifications)
    try json.required("waiting", &backlog)
    try json.required("requests", &requests)
    try json.optional("rssi", &rssi)
    var interval = parameters?.minimumMilliseconds
    var latency = parameters?.latency
    var timeout = parameters?.timeoutMilliseconds
    try json.optional("interval", &interval)
    try json.optional("latency", &latency)
    try json.optional("timeout", &timeout)
    if M.isReading, let latency,
      let interval = interval.flatMap({ UInt16(exactly: ($0 / 1.25).rounded()) }),
      let timeout = timeout.flatMap({ UInt16(exactly: $0 / 10) })
    {
      parameters = ConnectionParameters(interval: interval, latency: latency, timeout: timeout)
    }
    try waiting.members(&json)
  }
}

/// A phone that is bonded: an element of `phones.list`.
public struct PhoneReport: JSONObjectCodable, Hashable, Sendable {
  /// The identity address.
  public var phone = Address(0)
  /// The adapter that it is bonded to.
  public var adapter: String?
  public var name: String?
  public var isConnected = false
  public var key: BondKey?

  public init() {}

  /// The strength of the bond's key.
  public struct BondKey: JSONObjectCodable, Hashable, Sendable {
    /// Whether it is from LE Secure Connections (P-256), not from legacy pairing.
    public var isSecureConnections = false
    /// Whether pairing was authenticated, so that nobody could be in the middle.
    public var isAuthenticated = false
    /// Bytes, 7 to 16.
    public var size = 0

    public init() {}

    public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
      var type = isSecureConnections ? "P-256" : "legacy"
      try json.required("type", &type)
      isSecureConnections = type == "P-256"
      try json.required("authenticated", &isAuthenticated)
      try json.required("size", &size)
    }
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("phone", &phone)
    try json.optional("adapter", &adapter)
    try json.optional("name", &name)
    try json.required("connected", &isConnected)
    try json.optional("key", &key)
  }
}

/// An active notification and its phone: the result of `notifications.get`, and an element of
/// `notifications.list`.
public struct ActiveNotification: JSONObjectCodable, Hashable, Sendable {
  public var adapter: String?
  /// The identity address of the phone.
  public var phone: Address?
  public var report = NotificationReport()

  public init() {}

  public init(_ report: NotificationReport, adapter: String? = nil, phone: Address? = nil) {
    self.report = report
    self.adapter = adapter
    self.phone = phone
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("adapter", &adapter)
    try json.optional("phone", &phone)
    try report.members(&json)
  }
}

/// An app: the result of `apps.get`, and an element of `apps.list`.
public struct AppReport: JSONObjectCodable, Hashable, Sendable {
  public var appID = ""
  /// As the phone shows it; the identifier if the phone has no name for it.
  public var name = ""
  /// How many of its notifications are active; nil in `apps.get`.
  public var count: Int?

  public init() {}

  public init(appID: String, name: String, count: Int? = nil) {
    self.appID = appID
    self.name = name
    self.count = count
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("app_id", &appID)
    try json.required("name", &name)
    try json.optional("count", &count)
  }
}

/// The result of `pairing.open`: what to look for on the phone.
public struct PairingReport: JSONObjectCodable, Hashable, Sendable {
  /// The name that phones see.
  public var name = ""
  /// How long pairing stays open; nil: until it is closed.
  public var seconds: Int?
  /// The number of this opening, for `pairing.close`.
  public var opening: Int?
  /// The question of a phone that is already pairing; nil if there is none.
  public var question: PairingQuestion?
  /// That phone.
  public var phone: Address?

  public init() {}

  public init(name: String, seconds: Int?, question: PairingQuestion? = nil) {
    self.name = name
    self.seconds = seconds
    self.question = question
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("name", &name)
    try json.optional("seconds", &seconds)
    try json.optional("opening", &opening)
    try json.optional("question", &question)
    try json.optional("phone", &phone)
  }
}

// MARK: - status --why

/// What one adapter, one link or the daemon itself waits for, as `status --why` prints it.
public struct WaitLine: JSONObjectCodable, Hashable, Sendable {
  public var adapter: String?
  public var phone: Address?
  /// By name.
  public var wait = ""
  /// As a sentence.
  public var why = ""

  public init() {}

  public init(adapter: String? = nil, phone: Address? = nil, wait: String, why: String) {
    self.adapter = adapter
    self.phone = phone
    self.wait = wait
    self.why = why
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("adapter", &adapter)
    try json.optional("phone", &phone)
    try json.required("wait", &wait)
    try json.required("why", &why)
  }
}

extension StatusReport {
  /// What the daemon, the adapters and the links wait for.
  public var waits: [WaitLine] {
    func line(_ waiting: WaitReport, adapter: String?, phone: Address? = nil) -> WaitLine? {
      guard let wait = waiting.wait, let why = waiting.why else { return nil }
      return WaitLine(adapter: adapter, phone: phone, wait: wait, why: why)
    }
    return [line(waiting, adapter: nil)].compactMap { $0 }
      + adapters.compactMap { line($0.waiting, adapter: $0.adapter) }
      + links.compactMap { line($0.waiting, adapter: $0.adapter, phone: $0.phone) }
  }
}

// MARK: - Text

extension StatusReport {
  /// The status as text: a paragraph for the daemon, each adapter and each phone.
  public func text(_ style: TextStyle, now: WallTime) -> String {
    var head = StyledText("ancsd \(version)", .strong)
    head.add("up \(Self.age(from: started, to: now))")
    var lines = head.lines(style)
    for adapter in adapters { lines += adapter.lines(style) }
    if let why = waiting.why { lines += StyledText(why, waiting.paint).lines(style) }
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

/// A line that begins with its subject.
private func subject(_ word: String, _ name: String) -> StyledText {
  var line = StyledText()
  line.addWhole(word + String(repeating: " ", count: max(0, 7 - word.count)), .faint)
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
      line.add("not present", .attention)
    } else if !isPowered {
      line.add("off", .attention)
    } else {
      line.add(isAdvertising ? "advertising" : "on", .good)
      if let profile { line.add("(\(profile))", .faint) }
      if isPairable { line.add("pairable", .attention) }
    }
    if let why = waiting.why { line.add("– \(why)", waiting.paint) }
    var lines = line.lines(style, indent: style.subjectIndent)
    if let text = parametersRefusalText {
      lines += StyledText(text, .faint).lines(style, indent: style.subjectIndent, hanging: false)
    }
    return lines
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
    var first = subject("phone", phone?.description ?? name.map { "“\($0)”" } ?? "")
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
      second.add("\(notifications.counted("notification")) active")
      if backlog > 0 { second.add("(\(backlog) to fetch)", .faint) }
    }
    switch authorization {
    case .refused?: second.add("· reading not allowed", .attention)
    case .pending?: second.add("· reading not allowed yet", .attention)
    case .granted?, nil: break
    }
    if let battery { second.add("· battery \(battery) %") }
    var lines = first.lines(style, indent: style.subjectIndent)
    lines += second.lines(style, indent: style.subjectIndent, hanging: false)
    if let why = waiting.why {
      lines += StyledText(why, waiting.paint).lines(
        style, indent: style.subjectIndent, hanging: false)
    }
    return lines
  }
}

extension AppReport {
  /// The apps as a table: count, name, identifier.
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
    return line.lines(style, indent: style.subjectIndent)
  }
}

extension WaitReport {
  /// Waits that need the user to do something stand out.
  var paint: Paint { Wait.fineNames.contains(wait ?? "") ? .faint : .attention }
}

extension WaitLine {
  /// Whether it needs no action.
  public var isFine: Bool { Wait.fineNames.contains(wait) }

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
