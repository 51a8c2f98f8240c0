// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Wire

/// Metrics for Prometheus, in a text that is both OpenMetrics 1.0 and Prometheus 0.0.4, the only format that
/// node_exporter's textfile collector reads.
///
/// The formats differ only in counters: OpenMetrics names the family without `_total`, Prometheus with it. So counters
/// have no type here, which both treat as unknown; rate() and the like need none.
struct Metrics {
  private(set) var text = ""

  /// One value, and the labels that distinguish it within its family.
  typealias Sample = (labels: [(name: String, value: String)], value: Double)

  /// The units that a name may end with.
  private static let units = ["seconds", "bytes", "dbm", "ratio"]

  /// Adds a family: values that only grow while the daemon runs if its name ends with `_total`, otherwise values that
  /// may go up and down.
  mutating func add(_ name: String, _ help: String, _ samples: [Sample]) {
    guard !samples.isEmpty else { return }
    text += "# HELP \(name) \(help)\n"
    if !name.hasSuffix("_total") { text += "# TYPE \(name) gauge\n" }
    if let unit = Self.units.first(where: { name.hasSuffix("_\($0)") }) {
      text += "# UNIT \(name) \(unit)\n"
    }
    // Duplicate labels would make Prometheus refuse the whole text.
    var written: Set<String> = []
    for sample in samples {
      let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
      let series = name + (labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}")
      if written.insert(series).inserted { text += "\(series) \(Self.number(sample.value))\n" }
    }
  }

  /// A family of one value without labels.
  mutating func add(_ name: String, _ help: String, _ value: some BinaryInteger) {
    add(name, help, [([], Double(value))])
  }

  private static func escaped(_ value: String) -> String {
    let escapes: [Unicode.Scalar: String] = ["\\": "\\\\", "\"": "\\\"", "\n": "\\n"]
    return value.unicodeScalars.map { escapes[$0] ?? String($0) }.joined()
  }

  /// Whole numbers without a fraction or an exponent.
  private static func number(_ value: Double) -> String {
    if let whole = Int64(exactly: value) { return "\(whole)" }
    return "\(value)"
  }
}

extension StatusReport {
  /// The state in numbers (docs/fleet.md, “Metrics”).
  var metrics: String {
    var metrics = Metrics()
    metrics.add("ancsd_version", "The version of the daemon.", [([("version", version)], 1)])
    metrics.add(
      "ancsd_start_time_seconds", "When the daemon started, in Unix time.", started.seconds)
    if let memory {
      metrics.add("ancsd_resident_memory_bytes", "The daemon's resident memory.", memory)
    }
    addAdapters(to: &metrics)
    addLinks(to: &metrics)
    if let totals { add(totals, to: &metrics) }
    addBridges(to: &metrics)
    return metrics.text + "# EOF\n"
  }

  private func addAdapters(to metrics: inout Metrics) {
    func add(_ name: String, _ help: String, _ value: (AdapterReport) -> Bool) {
      metrics.add("ancsd_adapter_\(name)", help, adapters.map { ([("adapter", $0.adapter)], value($0) ? 1 : 0) })
    }
    add("present", "Whether the adapter is present.", \.isPresent)
    add("powered", "Whether the adapter is powered on.", \.isPowered)
    add("advertising", "Whether the adapter is advertising.", \.isAdvertising)
    add("pairable", "Whether phones may pair.", \.isPairable)
    metrics.add(
      "ancsd_waiting", "What the daemon, an adapter or a link waits for, by name.",
      waits.map { (Self.labels($0.adapter, $0.phone) + [("wait", $0.wait)], 1) })
  }

  private func addLinks(to metrics: inout Metrics) {
    metrics.add("ancsd_phones_bonded", "How many phones are bonded.", phones.count)
    metrics.add("ancsd_links_connected", "How many links are up.", links.count)
    func add(_ name: String, _ help: String, _ value: (LinkReport) -> Double?) {
      // Strangers get no series, because their number would grow without limit.
      metrics.add(
        "ancsd_\(name)", help,
        links.filter(\.isServed).compactMap { link in value(link).map { (Self.labels(link.adapter, link.phone), $0) } })
    }
    add("link_start_time_seconds", "When the link came up, in Unix time.") {
      Double($0.since.seconds)
    }
    add("link_services", "The number of subscribed services.") { Double($0.services.count) }
    add("link_authorized", "Whether the phone allows access to its notifications.") { link in
      link.authorization?.allowsAccess.map { $0 ? 1 : 0 }
    }
    add("link_notifications", "How many notifications are active.") { Double($0.notifications) }
    add("link_backlog", "How many of them are not fetched yet.") { Double($0.backlog) }
    add("link_rssi_dbm", "The phone's signal strength at the board.") { $0.rssi.map { Double($0) } }
    add("link_interval_seconds", "The connection interval.") { $0.interval.map { $0 / 1_000 } }
    add("battery_ratio", "The phone's battery, from 0 to 1.") {
      $0.battery.map { Double($0) / 100 }
    }
  }

  private func add(_ totals: Totals, to metrics: inout Metrics) {
    metrics.add("ancsd_events_total", "Events: the number of the last one.", seq ?? 0)
    metrics.add("ancsd_links_total", "Links that came up, including strangers'.", totals.links)
    metrics.add(
      "ancsd_sessions_total", "Links on which the daemon subscribed to the phone's services.", totals.sessions)
    metrics.add("ancsd_reconnections_total", "Links of phones that had connected before.", totals.reconnections)
    metrics.add(
      "ancsd_unproven_links_total",
      "Links in a bonded phone's name that were refused or ended without encryption with its key.",
      totals.unproven)
    metrics.add("ancsd_requests_total", "ATT requests.", totals.requests)
    metrics.add(
      "ancsd_timeouts_total", "Links that ended because a request was not answered within 30 s.", totals.timeouts)
    metrics.add(
      "ancsd_notifications_total", "Notifications, by category and change.",
      totals.notifications.flatMap { counted in
        [("added", counted.added), ("modified", counted.modified), ("removed", counted.removed)]
          .map { ([("category", "\(counted.category)"), ("change", $0)], Double($1)) }
      })
  }

  private func addBridges(to metrics: inout Metrics) {
    func add(_ name: String, _ help: String, _ value: (BridgeReport) -> Double) {
      metrics.add(
        "ancsd_bridge_\(name)", help, bridges.map { ([("broker", $0.broker), ("client", $0.client)], value($0)) })
    }
    add("connected", "Whether the bridge is connected to its broker.") {
      $0.state == .connected ? 1 : 0
    }
    add("queue", "Messages that the broker has not acknowledged.") { Double($0.waiting) }
    add("refused", "Topics that the broker refuses; up to 16.") { Double($0.refused.count) }
    add("sent_total", "Messages that the broker has acknowledged.") { Double($0.sent) }
    add(
      "skipped_total",
      "Events that were not published: too old, no longer kept, refused or too long."
    ) { Double($0.skipped) }
    add("reconnections_total", "Connections to the broker after the first.") {
      Double($0.reconnections)
    }
  }

  private static func labels(
    _ adapter: String?, _ phone: Address?
  ) -> [(name: String, value: String)] {
    [("adapter", adapter), ("phone", phone?.description)].compactMap { name, value in
      value.map { (name, $0) }
    }
  }
}
