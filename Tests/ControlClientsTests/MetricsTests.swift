// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import JSON
import Testing
import Wire

@testable import Control
@testable import ControlClients

@Suite("Metrics")
struct MetricsTests {
  @Test("A status that was read, in numbers as OpenMetrics has them: each with its help, its type and its unit")
  func text() throws {
    var status = StatusReport()
    (status.version, status.started) = ("0.3.0 \"x\"\\\n", WallTime(seconds: 1_795_236_000))
    (status.seq, status.memory) = (12, 8_388_608)
    var adapter = AdapterReport()
    (adapter.adapter, adapter.isPowered) = ("hci0", true)
    (adapter.waiting.wait, adapter.waiting.why) = ("any-phone", "waiting for a phone")
    var link = LinkReport()
    (link.adapter, link.phone, link.isBonded) = ("hci0", Address("C0:11:22:33:44:55"), true)
    (link.since, link.services) = (WallTime(seconds: 1_795_236_100), [.ancs, .battery])
    (link.authorization, link.battery, link.rssi) = (.granted, 80, -58)
    // And a stranger, of whom nothing is told but that there is a link.
    (status.adapters, status.links) = ([adapter], [link, LinkReport()])
    var totals = Totals()
    totals.links = 3
    for (change, category) in [
      (NotificationChange.added, Category.social), (.added, .incomingCall), (.removed, .social),
      (.added, .social), (.modified, .social), (.added, Category(rawValue: 200)),
    ] {
      totals.count(NotificationReport(NotificationEvent(change, 1, category: category)))
    }
    status.totals = totals
    var bridge = BridgeReport()
    (bridge.broker, bridge.client, bridge.state) = ("mqtt://ha.lan:1883", "ancsd-kitchen", .connected)
    status.bridges = [bridge]
    status = try StatusReport(reading: JSONValue(parsing: status.json))
    let lines = status.metrics.split(separator: "\n")
    let samples = lines.filter { !$0.hasPrefix("# ") || $0 == "# EOF" }
    #expect(samples.joined(separator: "\n") == Self.samples)
    for name in Set(samples.dropLast().map { $0.prefix { $0 != " " && $0 != "{" } }) {
      let unit = name.split(separator: "_").last ?? ""
      let isGauge = unit != "total"
      let hasUnit = ["seconds", "bytes", "dbm", "ratio"].contains(unit)
      #expect(lines.count { $0.hasPrefix("# HELP \(name) ") } == 1, "\(name)")
      #expect(lines.count { $0 == "# TYPE \(name) gauge" } == (isGauge ? 1 : 0), "\(name)")
      #expect(lines.count { $0 == "# UNIT \(name) \(unit)" } == (hasUnit ? 1 : 0), "\(name)")
    }
  }

  private static let samples = #"""
    ancsd_version{version="0.3.0 \"x\"\\\n"} 1
    ancsd_start_time_seconds 1795236000
    ancsd_resident_memory_bytes 8388608
    ancsd_adapter_present{adapter="hci0"} 1
    ancsd_adapter_powered{adapter="hci0"} 1
    ancsd_adapter_advertising{adapter="hci0"} 0
    ancsd_adapter_pairable{adapter="hci0"} 0
    ancsd_waiting{adapter="hci0",wait="any-phone"} 1
    ancsd_phones_bonded 0
    ancsd_links_connected 2
    ancsd_link_start_time_seconds{adapter="hci0",phone="C0:11:22:33:44:55"} 1795236100
    ancsd_link_services{adapter="hci0",phone="C0:11:22:33:44:55"} 2
    ancsd_link_authorized{adapter="hci0",phone="C0:11:22:33:44:55"} 1
    ancsd_link_notifications{adapter="hci0",phone="C0:11:22:33:44:55"} 0
    ancsd_link_backlog{adapter="hci0",phone="C0:11:22:33:44:55"} 0
    ancsd_link_rssi_dbm{adapter="hci0",phone="C0:11:22:33:44:55"} -58
    ancsd_battery_ratio{adapter="hci0",phone="C0:11:22:33:44:55"} 0.8
    ancsd_events_total 12
    ancsd_links_total 3
    ancsd_sessions_total 0
    ancsd_reconnections_total 0
    ancsd_unproven_links_total 0
    ancsd_requests_total 0
    ancsd_timeouts_total 0
    ancsd_notifications_total{category="incoming-call",change="added"} 1
    ancsd_notifications_total{category="incoming-call",change="modified"} 0
    ancsd_notifications_total{category="incoming-call",change="removed"} 0
    ancsd_notifications_total{category="social",change="added"} 2
    ancsd_notifications_total{category="social",change="modified"} 1
    ancsd_notifications_total{category="social",change="removed"} 1
    ancsd_notifications_total{category="200",change="added"} 1
    ancsd_notifications_total{category="200",change="modified"} 0
    ancsd_notifications_total{category="200",change="removed"} 0
    ancsd_bridge_connected{broker="mqtt://ha.lan:1883",client="ancsd-kitchen"} 1
    ancsd_bridge_queue{broker="mqtt://ha.lan:1883",client="ancsd-kitchen"} 0
    ancsd_bridge_refused{broker="mqtt://ha.lan:1883",client="ancsd-kitchen"} 0
    ancsd_bridge_sent_total{broker="mqtt://ha.lan:1883",client="ancsd-kitchen"} 0
    ancsd_bridge_skipped_total{broker="mqtt://ha.lan:1883",client="ancsd-kitchen"} 0
    ancsd_bridge_reconnections_total{broker="mqtt://ha.lan:1883",client="ancsd-kitchen"} 0
    # EOF
    """#
}
