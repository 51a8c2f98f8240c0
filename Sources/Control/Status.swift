// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
public import GAP
public import JSON
public import Wire

// What the control socket's methods answer: written by the daemon, read by its clients.

/// The result of `status`.
public struct StatusReport: JSONObjectCodable, Hashable, Sendable {
  public var version = ""
  /// When the daemon began.
  public var started = WallTime(seconds: 0)
  public var adapters: [AdapterReport] = []
  public var links: [LinkReport] = []
  /// The phones that are bonded, connected or not.
  public var phones: [PhoneReport] = []
  /// What the daemon itself waits for; nothing where an adapter or a link says it.
  public var waiting = WaitReport()

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("version", &version)
    try json.required("started", &started)
    try json.list("adapters", &adapters)
    try json.list("links", &links)
    try json.list("phones", &phones)
    try waiting.members(&json)
  }
}

/// What something waits for: by name, and as a sentence. Both are nil where it waits for nothing.
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

/// An adapter that is served, or waited for.
public struct AdapterReport: JSONObjectCodable, Hashable, Sendable {
  /// As in `hci0`, or the address where only that is known.
  public var adapter = ""
  public var address: Address?
  /// The name that phones see.
  public var name: String?
  public var isPresent = true
  public var isPowered = false
  public var isAdvertising = false
  public var isPairable = false
  /// What it waits for; nothing while a link says it.
  public var waiting = WaitReport()

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("adapter", &adapter)
    try json.optional("address", &address)
    try json.optional("name", &name)
    try json.required("present", &isPresent)
    try json.required("powered", &isPowered)
    try json.required("advertising", &isAdvertising)
    try json.required("pairable", &isPairable)
    try waiting.members(&json)
  }
}

/// A connection to a phone.
public struct LinkReport: JSONObjectCodable, Hashable, Sendable {
  public var adapter: String?
  /// The phone's identity address, where it is known.
  public var phone: Address?
  /// The phone's own name, where it is known.
  public var name: String?
  /// When it came up.
  public var since = WallTime(seconds: 0)
  public var isEncrypted = false
  public var isBonded = false
  public var mtu: Int?
  /// The services that are subscribed to.
  public var services: [PhoneService] = []
  /// Whether the phone lets its notifications be read; nil as long as that is not known.
  public var isAuthorized: Bool?
  /// In per cent.
  public var battery: Int?
  /// How many notifications are active.
  public var notifications = 0
  /// How many of them are still to be fetched.
  public var backlog = 0
  /// The ATT requests sent since the link came up.
  public var requests = 0
  /// The strength of the phone's signal here, in dBm.
  public var rssi: Int?
  /// The connection parameters in force, as far as the controller has told them.
  public var parameters: ConnectionParameters?
  /// What it waits for.
  public var waiting = WaitReport()

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
    try json.optional("authorized", &isAuthorized)
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

  /// How well the bond's key protects.
  public struct BondKey: JSONObjectCodable, Hashable, Sendable {
    /// Whether it comes from LE Secure Connections (P-256), not from legacy pairing.
    public var isSecureConnections = false
    /// Whether the two sides authenticated each other, so that nobody could be in the middle.
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

/// An active notification and whose it is: the result of `notifications.get`, and an element of
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
  /// As the phone shows it; the identifier where the phone knows no name.
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
  /// How long the window stays open; nil: until it is closed.
  public var seconds: Int?

  public init() {}

  public init(name: String, seconds: Int?) {
    self.name = name
    self.seconds = seconds
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("name", &name)
    try json.optional("seconds", &seconds)
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
