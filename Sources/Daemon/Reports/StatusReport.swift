// SPDX-License-Identifier: GPL-3.0-or-later
public import System
public import JSON
public import Wire

// The results of the control socket's methods, but for notifications and media: what the daemon
// writes and its clients read.

/// The result of `status`.
public struct StatusReport: Hashable, Sendable {
  public var version: String
  /// When the daemon began.
  public var started: WallTime
  public var adapters: [AdapterReport] = []
  public var links: [LinkReport] = []
  /// The phones that are bonded, connected or not.
  public var phones: [PhoneReport] = []
  /// What the daemon itself waits for, by name and in words; nil where an adapter or a link says it.
  public var wait: String?
  public var why: String?

  public init(version: String, started: WallTime) {
    self.version = version
    self.started = started
  }

  public var json: JSONValue {
    var object: JSONObject = [
      "version": .string(version), "started": .string(started.rfc3339),
      "adapters": .array(adapters.map(\.json)), "links": .array(links.map(\.json)),
      "phones": .array(phones.map(\.json)),
    ]
    object.add("wait", wait)
    object.add("why", why)
    return .object(object)
  }

  /// Reads what `json` writes.
  public init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    version = try fields.string("version")
    started = try fields.required("started", "a time") {
      $0.string.flatMap { WallTime(rfc3339: $0) }
    }
    adapters = try fields.reports("adapters", AdapterReport.init(json:))
    links = try fields.reports("links", LinkReport.init(json:))
    phones = try fields.reports("phones", PhoneReport.init(json:))
    wait = try fields.optionalString("wait")
    why = try fields.optionalString("why")
  }
}

/// An adapter that is served, or waited for.
public struct AdapterReport: Hashable, Sendable {
  /// As in `hci0`, or the address where only that is known.
  public var adapter: String
  public var address: Address?
  /// The name that phones see.
  public var name: String?
  public var isPresent = true
  public var isPowered = false
  public var isAdvertising = false
  public var isPairable = false
  /// What it is waiting for, by name and in words; nil while a link says it.
  public var wait: String?
  public var why: String?

  public init(_ adapter: String) { self.adapter = adapter }

  public var json: JSONValue {
    var object: JSONObject = ["adapter": .string(adapter)]
    object.add("address", address?.description)
    object.add("name", name)
    object.add("present", isPresent)
    object.add("powered", isPowered)
    object.add("advertising", isAdvertising)
    object.add("pairable", isPairable)
    object.add("wait", wait)
    object.add("why", why)
    return .object(object)
  }

  /// Reads what `json` writes.
  public init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    self.init(try fields.string("adapter"))
    address = try fields.optionalText("address", "an address")
    name = try fields.optionalString("name")
    isPresent = try fields.bool("present")
    isPowered = try fields.bool("powered")
    isAdvertising = try fields.bool("advertising")
    isPairable = try fields.bool("pairable")
    wait = try fields.optionalString("wait")
    why = try fields.optionalString("why")
  }
}

/// A connection to a phone.
public struct LinkReport: Hashable, Sendable {
  public var adapter: String?
  /// The phone's identity address, where it is known.
  public var phone: Address?
  /// The phone's own name, where it is known.
  public var name: String?
  /// When it came up.
  public var since: WallTime
  public var isEncrypted = false
  public var isBonded = false
  public var mtu: Int?
  /// What is subscribed to.
  public var services: [PhoneService] = []
  /// Whether the phone lets its notifications be read; nil as long as it has not been tried.
  public var isAuthorized: Bool?
  /// 0 to 100.
  public var battery: Int?
  /// How many notifications are active, and how many of them are still to be fetched.
  public var notifications = 0
  public var waiting = 0
  /// ATT requests sent since the link came up.
  public var requests = 0
  /// The strength of the phone's signal here, in dBm.
  public var rssi: Int?
  /// The connection parameters, as far as the controller has told them: the interval in milliseconds,
  /// how many events the board may sleep through, and after how many milliseconds the link is lost.
  public var interval: Double?
  public var latency: Int?
  public var timeout: Int?
  /// Where it stands and what it is waiting for, by name and in words.
  public var wait: String?
  public var why: String?

  public init(since: WallTime) { self.since = since }

  public var json: JSONValue {
    var object = JSONObject()
    object.add("adapter", adapter)
    object.add("phone", phone?.description)
    object.add("name", name)
    object.add("since", since.rfc3339)
    object.add("encrypted", isEncrypted)
    object.add("bonded", isBonded)
    object.add("mtu", mtu)
    object.add("services", .strings(services.map(\.rawValue)))
    object.add("authorized", isAuthorized)
    object.add("battery", battery)
    object.add("notifications", notifications)
    object.add("waiting", waiting)
    object.add("requests", requests)
    object.add("rssi", rssi)
    object.add("interval", interval.map { .double($0) })
    object.add("latency", latency)
    object.add("timeout", timeout)
    object.add("wait", wait)
    object.add("why", why)
    return .object(object)
  }

  /// Reads what `json` writes.
  public init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    self.init(
      since: try fields.required("since", "a time") { $0.string.flatMap { WallTime(rfc3339: $0) } })
    adapter = try fields.optionalString("adapter")
    phone = try fields.optionalText("phone", "an address")
    name = try fields.optionalString("name")
    isEncrypted = try fields.bool("encrypted")
    isBonded = try fields.bool("bonded")
    mtu = try fields.optionalInteger("mtu")
    services = try fields.list("services", "services") {
      $0.string.flatMap(PhoneService.init(rawValue:))
    }
    isAuthorized = try fields.optionalBool("authorized")
    battery = try fields.optionalInteger("battery")
    notifications = try fields.integer("notifications")
    waiting = try fields.integer("waiting")
    requests = try fields.integer("requests")
    rssi = try fields.optionalInteger("rssi")
    interval = try fields.optionalNumber("interval")
    latency = try fields.optionalInteger("latency")
    timeout = try fields.optionalInteger("timeout")
    wait = try fields.optionalString("wait")
    why = try fields.optionalString("why")
  }
}

extension LinkReport {
  /// Says how the link is doing on the air.
  mutating func add(_ condition: LinkCondition) {
    rssi = condition.rssi
    interval = condition.parameters?.interval
    latency = condition.parameters?.latency
    timeout = condition.parameters?.timeout
  }
}

/// A phone that is bonded: an element of `phones.list`.
public struct PhoneReport: Hashable, Sendable {
  /// The identity address.
  public var phone: Address
  /// The adapter it is bonded to.
  public var adapter: String?
  public var name: String?
  public var isConnected = false
  public var key: Key?

  public init(_ phone: Address) { self.phone = phone }

  /// How good the bond's key is.
  public struct Key: Hashable, Sendable {
    /// Whether it comes from LE Secure Connections (P-256), not from legacy pairing.
    public var isSecureConnections: Bool
    /// Whether the two sides made sure of each other, so that nobody sat in between.
    public var isAuthenticated: Bool
    /// Bytes, 7 to 16.
    public var size: Int

    public init(isSecureConnections: Bool, isAuthenticated: Bool, size: Int) {
      self.isSecureConnections = isSecureConnections
      self.isAuthenticated = isAuthenticated
      self.size = size
    }
  }

  public var json: JSONValue {
    var object: JSONObject = ["phone": .string(phone.description)]
    object.add("adapter", adapter)
    object.add("name", name)
    object.add("connected", isConnected)
    if let key {
      object.add(
        "key",
        [
          "type": key.isSecureConnections ? "P-256" : "legacy",
          "authenticated": .bool(key.isAuthenticated), "size": .number(key.size),
        ])
    }
    return .object(object)
  }

  /// Reads what `json` writes.
  public init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    self.init(try fields.required("phone", "an address") { $0.string.flatMap(Address.init) })
    adapter = try fields.optionalString("adapter")
    name = try fields.optionalString("name")
    isConnected = try fields.bool("connected")
    if let key = fields.object["key"] {
      let fields = try Fields(key)
      self.key = Key(
        isSecureConnections: try fields.string("type") == "P-256",
        isAuthenticated: try fields.bool("authenticated"), size: try fields.integer("size"))
    }
  }
}

/// An app: the result of `apps.get`, and an element of `apps.list`.
public struct AppReport: Hashable, Sendable {
  public var appID: String
  /// As the phone shows it; the identifier where the phone knows no name.
  public var name: String
  /// How many notifications it brought since the daemon began; nil in `apps.get`.
  public var count: Int?

  public init(appID: String, name: String, count: Int? = nil) {
    self.appID = appID
    self.name = name
    self.count = count
  }

  public var json: JSONValue {
    var object: JSONObject = ["app_id": .string(appID), "name": .string(name)]
    object.add("count", count)
    return .object(object)
  }

  /// Reads what `json` writes.
  public init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    self.init(
      appID: try fields.string("app_id"), name: try fields.string("name"),
      count: try fields.optionalInteger("count"))
  }
}

/// The result of `pairing.open`: what is to be looked for on the phone.
public struct PairingReport: Hashable, Sendable {
  /// The name that phones see.
  public var name: String
  /// How long the window stays open; nil: until it is closed.
  public var seconds: Int?

  public init(name: String, seconds: Int? = nil) {
    self.name = name
    self.seconds = seconds
  }

  public var json: JSONValue {
    var object: JSONObject = ["name": .string(name)]
    object.add("seconds", seconds)
    return .object(object)
  }

  /// Reads what `json` writes.
  public init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    self.init(
      name: try fields.string("name"), seconds: try fields.optionalInteger("seconds"))
  }
}
