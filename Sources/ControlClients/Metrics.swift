// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import GAP
import Wire

/// Metrics for Prometheus, in a text that is both OpenMetrics 1.0 and Prometheus 0.0.4, the only format that
/// node_exporter's textfile collector reads.
///
/// The formats differ only in counters: OpenMetrics names the family without `_total`, Prometheus with it. So counters
/// have no type here, which both treat as unknown; rate() and the like need none.
struct Metrics {
  private(set) var text = ""

  /// One value, and the labels that distinguish it within its family.
  struct Sample {
    var labels: [(name: String, value: String)] = []
    var value: Double
  }

  /// A value that may go up and down.
  mutating func gauge(_ name: String, unit: String? = nil, _ help: String, _ samples: [Sample]) {
    family(name, type: "gauge", unit, help, samples)
  }

  mutating func gauge(_ name: String, unit: String? = nil, _ help: String, _ value: Double?) {
    if let value { gauge(name, unit: unit, help, [Sample(value: value)]) }
  }

  /// A value that only grows while the daemon runs.
  mutating func counter(_ name: String, _ help: String, _ samples: [Sample]) {
    family(name + "_total", type: nil, nil, help, samples)
  }

  mutating func counter(_ name: String, _ help: String, _ value: Int) {
    counter(name, help, [Sample(value: Double(value))])
  }

  private mutating func family(
    _ name: String, type: String?, _ unit: String?, _ help: String, _ samples: [Sample]
  ) {
    guard !samples.isEmpty else { return }
    text += "# HELP \(name) \(help)\n"
    if let type { text += "# TYPE \(name) \(type)\n" }
    if let unit { text += "# UNIT \(name) \(unit)\n" }
    // Duplicate labels would make Prometheus refuse the whole text.
    var written: Set<String> = []
    for sample in samples {
      let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
      let series = name + (labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}")
      if written.insert(series).inserted { text += "\(series) \(Self.number(sample.value))\n" }
    }
  }

  /// Nothing follows.
  mutating func end() { text += "# EOF\n" }

  private static func escaped(_ value: String) -> String {
    var bytes: [UInt8] = []
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "\\"), UInt8(ascii: "\""): bytes += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): bytes += "\\n".utf8
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
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
    metrics.gauge(
      "ancsd_version", "The version of the daemon.",
      [Metrics.Sample(labels: [("version", version)], value: 1)])
    metrics.gauge(
      "ancsd_start_time_seconds", unit: "seconds", "When the daemon started, in Unix time.",
      Double(started.seconds))
    metrics.gauge(
      "ancsd_resident_memory_bytes", unit: "bytes", "The daemon's resident memory.",
      memory.map { Double($0) })
    addAdapters(to: &metrics)
    addLinks(to: &metrics)
    addTotals(to: &metrics)
    addBridges(to: &metrics)
    metrics.end()
    return metrics.text
  }

  private func addAdapters(to metrics: inout Metrics) {
    func gauge(_ name: String, _ help: String, _ value: (AdapterReport) -> Bool) {
      metrics.gauge(
        "ancsd_adapter_\(name)", help,
        adapters.map {
          Metrics.Sample(labels: [("adapter", $0.adapter)], value: value($0) ? 1 : 0)
        })
    }
    gauge("present", "Whether the adapter is present.", \.isPresent)
    gauge("powered", "Whether the adapter is powered on.", \.isPowered)
    gauge("advertising", "Whether the adapter is advertising.", \.isAdvertising)
    gauge("pairable", "Whether phones may pair.", \.isPairable)
    metrics.gauge(
      "ancsd_waiting", "What the daemon, an adapter or a link waits for, by name.",
      waits.map { wait in
        Metrics.Sample(
          labels: Self.labels(wait.adapter, wait.phone) + [("wait", wait.wait)], value: 1)
      })
  }

  private func addLinks(to metrics: inout Metrics) {
    metrics.gauge("ancsd_phones_bonded", "How many phones are bonded.", Double(phones.count))
    metrics.gauge("ancsd_links_connected", "How many links are up.", Double(links.count))
    func gauge(
      _ name: String, unit: String? = nil, _ help: String, _ value: (LinkReport) -> Double?
    ) {
      // Strangers get no series, because their number would grow without limit.
      metrics.gauge(
        "ancsd_\(name)", unit: unit, help,
        links.filter(\.isServed).compactMap { link in
          value(link).map {
            Metrics.Sample(labels: Self.labels(link.adapter, link.phone), value: $0)
          }
        })
    }
    gauge("link_start_time_seconds", unit: "seconds", "When the link came up, in Unix time.") {
      Double($0.since.seconds)
    }
    gauge("link_services", "The number of subscribed services.") {
      Double($0.services.count)
    }
    gauge("link_authorized", "Whether the phone allows access to its notifications.") { link in
      link.authorization?.allowsAccess.map { $0 ? 1 : 0 }
    }
    gauge("link_notifications", "How many notifications are active.") { Double($0.notifications) }
    gauge("link_backlog", "How many of them are not fetched yet.") { Double($0.backlog) }
    gauge("link_rssi_dbm", unit: "dbm", "The phone's signal strength at the board.") {
      $0.rssi.map { Double($0) }
    }
    gauge("link_interval_seconds", unit: "seconds", "The connection interval.") {
      $0.parameters.map { Double($0.minimumMilliseconds) / 1_000 }
    }
    gauge("battery_ratio", unit: "ratio", "The phone's battery, from 0 to 1.") {
      $0.battery.map { Double($0) / 100 }
    }
  }

  private func addTotals(to metrics: inout Metrics) {
    guard let totals else { return }
    metrics.counter(
      "ancsd_events", "Events: the number of the last one.", [.init(value: Double(seq ?? 0))])
    metrics.counter("ancsd_links", "Links that came up, including strangers'.", totals.links)
    metrics.counter(
      "ancsd_sessions", "Links on which the daemon subscribed to the phone's services.",
      totals.sessions)
    metrics.counter(
      "ancsd_reconnections", "Links of phones that had connected before.", totals.reconnections)
    metrics.counter(
      "ancsd_unproven_links",
      "Links in a bonded phone's name that were refused or ended without encryption with its key.",
      totals.unproven)
    metrics.counter("ancsd_requests", "ATT requests.", totals.requests)
    metrics.counter(
      "ancsd_timeouts", "Links that ended because a request was not answered within 30 s.",
      totals.timeouts)
    metrics.counter(
      "ancsd_notifications", "Notifications, by category and change.",
      totals.notifications.flatMap { counted in
        [("added", counted.added), ("modified", counted.modified), ("removed", counted.removed)]
          .map { change, count in
            Metrics.Sample(
              labels: [("category", "\(counted.category)"), ("change", change)],
              value: Double(count))
          }
      })
  }

  private func addBridges(to metrics: inout Metrics) {
    func samples(_ value: (BridgeReport) -> Double) -> [Metrics.Sample] {
      bridges.map { bridge in
        Metrics.Sample(
          labels: [("broker", bridge.broker), ("client", bridge.client)], value: value(bridge))
      }
    }
    metrics.gauge(
      "ancsd_bridge_connected", "Whether the bridge is connected to its broker.",
      samples { $0.state == .connected ? 1 : 0 })
    metrics.gauge(
      "ancsd_bridge_queue", "Messages that the broker has not acknowledged.",
      samples { Double($0.waiting) })
    metrics.gauge(
      "ancsd_bridge_refused", "Topics that the broker refuses; up to 16.",
      samples { Double($0.refused.count) })
    metrics.counter(
      "ancsd_bridge_sent", "Messages that the broker has acknowledged.",
      samples { Double($0.sent) })
    metrics.counter(
      "ancsd_bridge_skipped",
      "Events that were not published: too old, no longer kept, refused or too long.",
      samples { Double($0.skipped) })
    metrics.counter(
      "ancsd_bridge_reconnections", "Connections to the broker after the first.",
      samples { Double($0.reconnections) })
  }

  private static func labels(
    _ adapter: String?, _ phone: Address?
  ) -> [(name: String, value: String)] {
    [("adapter", adapter), ("phone", phone?.description)].compactMap { name, value in
      value.map { (name, $0) }
    }
  }
}
