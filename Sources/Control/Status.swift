// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
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
  /// The destinations of `ancsd forward`: as it has reported them, or else those in the settings.
  public var forwards: [ForwardReport] = []
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
    if M.isReading || !forwards.isEmpty { try json.list("forwards", &forwards) }
    try json.optional("history", &history)
    try waiting.members(&json)
    try json.optional("totals", &totals)
    try json.optional("memory", &memory)
  }
}

/// The history that the daemon keeps (`[log]`).
public struct HistoryReport: JSONObjectCodable, Hashable, Sendable {
  /// The path of its file; empty in settings that name none: next to the bonds.
  public var file = ""
  /// Older events are removed, in seconds.
  public var age: Int64 = 30 * 86_400
  /// The maximum size of the file, in MiB.
  public var size = 16
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
    self.wait = wait?.name.rawValue
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
  /// The only PHY of its links, `1m`; nil if the controllers choose.
  public var phy: String?
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
    try json.optional("phy", &phy)
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
  /// For how many seconds the phone gets no requests for connection parameters, because it has dropped links after
  /// some; nil: it gets them.
  public var parametersPause: Int?
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
  /// The connection interval in milliseconds, if the controller has reported the parameters in force.
  public var interval: Double?
  /// How many connection events the board may skip.
  public var latency: UInt16?
  /// The supervision timeout in milliseconds.
  public var timeout: Int?
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
    var isAuthorized = authorization?.allowsAccess
    var proof = authorization?.proof
    try json.optional("authorized", &isAuthorized)
    try json.optional("authorization", &authorization)
    try json.optional("waits_for", &proof)
    authorization?.proof = proof
    try json.optional("battery", &battery)
    try json.required("notifications", &notifications)
    try json.required("waiting", &backlog)
    try json.required("requests", &requests)
    try json.optional("rssi", &rssi)
    try json.optional("parameters_pause", &parametersPause)
    try json.optional("interval", &interval)
    try json.optional("latency", &latency)
    try json.optional("timeout", &timeout)
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

/// Counts since the daemon started: part of the result of `status`.
public struct Totals: JSONObjectCodable, Hashable, Sendable {
  /// Links that came up, including strangers'.
  public var links = 0
  /// Links on which the phone's services were subscribed to.
  public var sessions = 0
  /// Links of phones that had connected before.
  public var reconnections = 0
  /// Links in a bonded phone's name that were refused or ended without encryption with its key.
  public var unproven = 0
  /// ATT requests.
  public var requests = 0
  /// Links that ended because a request was not answered within 30 s.
  public var timeouts = 0
  /// In the order of the categories' numbers.
  public var notifications: [OfCategory] = []

  public init() {}

  /// The notifications of one category.
  public struct OfCategory: JSONObjectCodable, Hashable, Sendable {
    public var category = Category.other
    public var added = 0
    public var modified = 0
    public var removed = 0

    public init() {}

    public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
      try json.required("category", &category)
      try json.required("added", &added)
      try json.required("modified", &modified)
      try json.required("removed", &removed)
    }
  }

  /// Counts a notification that was published.
  public mutating func count(_ report: NotificationReport) {
    let number = report.event.category.rawValue
    let place = notifications.firstIndex { $0.category.rawValue >= number } ?? notifications.endIndex
    if place == notifications.endIndex || notifications[place].category.rawValue != number {
      var new = OfCategory()
      new.category = report.event.category
      notifications.insert(new, at: place)
    }
    switch report.event.change {
    case .added: notifications[place].added += 1
    case .modified: notifications[place].modified += 1
    case .removed: notifications[place].removed += 1
    default: break
    }
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("links", &links)
    try json.required("sessions", &sessions)
    try json.required("reconnections", &reconnections)
    try json.required("unproven", &unproven)
    try json.required("requests", &requests)
    try json.required("timeouts", &timeouts)
    try json.list("notifications", &notifications)
  }
}
