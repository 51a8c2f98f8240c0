// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import JSON
import Testing
import Wire

@testable import Control
@testable import ControlClients

@Suite("Metrics")
struct MetricsTests {
  @Test("Notifications are counted by category and change, categories in their order")
  func totals() throws {
    var totals = Totals()
    for (change, category) in [
      (NotificationChange.added, Category.social), (.added, .incomingCall), (.removed, .social),
      (.added, .social), (.modified, .social), (.added, Category(rawValue: 200)),
    ] {
      totals.count(NotificationReport(NotificationEvent(change, 1, category: category)))
    }
    let counted = totals.notifications.map {
      "\($0.category) \($0.added) \($0.modified) \($0.removed)"
    }
    #expect(counted == ["incoming-call 1 0 0", "social 2 1 1", "200 1 0 0"])
    #expect(try Totals(reading: JSONValue(parsing: totals.json)) == totals)
  }

  @Test("A status in numbers: OpenMetrics that Prometheus's own format agrees with")
  func text() {
    var status = StatusReport()
    status.version = "0.3.0 \"x\"\\\n"
    status.started = WallTime(seconds: 1_795_236_000)
    status.seq = 12
    status.memory = 8_388_608
    var adapter = AdapterReport()
    adapter.adapter = "hci0"
    adapter.isPowered = true
    adapter.waiting.wait = "any-phone"
    adapter.waiting.why = "waiting for a phone"
    status.adapters = [adapter]
    var link = LinkReport()
    link.adapter = "hci0"
    link.phone = Address("C0:11:22:33:44:55")
    link.isBonded = true
    link.since = WallTime(seconds: 1_795_236_100)
    link.services = [.ancs, .battery]
    link.authorization = .granted
    link.battery = 80
    link.rssi = -58
    // A stranger, of whom nothing is told but that there is a link.
    status.links = [link, LinkReport()]
    var totals = Totals()
    totals.links = 3
    totals.count(NotificationReport(NotificationEvent(.added, 1, category: .email)))
    status.totals = totals
    #expect(status.metrics == Self.page)
  }

  private static let page = #"""
    # HELP ancsd_version The version of the daemon.
    # TYPE ancsd_version gauge
    ancsd_version{version="0.3.0 \"x\"\\\n"} 1
    # HELP ancsd_start_time_seconds When the daemon started, in Unix time.
    # TYPE ancsd_start_time_seconds gauge
    # UNIT ancsd_start_time_seconds seconds
    ancsd_start_time_seconds 1795236000
    # HELP ancsd_resident_memory_bytes The daemon's resident memory.
    # TYPE ancsd_resident_memory_bytes gauge
    # UNIT ancsd_resident_memory_bytes bytes
    ancsd_resident_memory_bytes 8388608
    # HELP ancsd_adapter_present Whether the adapter is present.
    # TYPE ancsd_adapter_present gauge
    ancsd_adapter_present{adapter="hci0"} 1
    # HELP ancsd_adapter_powered Whether the adapter is powered on.
    # TYPE ancsd_adapter_powered gauge
    ancsd_adapter_powered{adapter="hci0"} 1
    # HELP ancsd_adapter_advertising Whether the adapter is advertising.
    # TYPE ancsd_adapter_advertising gauge
    ancsd_adapter_advertising{adapter="hci0"} 0
    # HELP ancsd_adapter_pairable Whether phones may pair.
    # TYPE ancsd_adapter_pairable gauge
    ancsd_adapter_pairable{adapter="hci0"} 0
    # HELP ancsd_waiting What the daemon, an adapter or a link waits for, by name.
    # TYPE ancsd_waiting gauge
    ancsd_waiting{adapter="hci0",wait="any-phone"} 1
    # HELP ancsd_phones_bonded How many phones are bonded.
    # TYPE ancsd_phones_bonded gauge
    ancsd_phones_bonded 0
    # HELP ancsd_links_connected How many links are up.
    # TYPE ancsd_links_connected gauge
    ancsd_links_connected 2
    # HELP ancsd_link_start_time_seconds When the link came up, in Unix time.
    # TYPE ancsd_link_start_time_seconds gauge
    # UNIT ancsd_link_start_time_seconds seconds
    ancsd_link_start_time_seconds{adapter="hci0",phone="C0:11:22:33:44:55"} 1795236100
    # HELP ancsd_link_services The number of subscribed services.
    # TYPE ancsd_link_services gauge
    ancsd_link_services{adapter="hci0",phone="C0:11:22:33:44:55"} 2
    # HELP ancsd_link_authorized Whether the phone allows access to its notifications.
    # TYPE ancsd_link_authorized gauge
    ancsd_link_authorized{adapter="hci0",phone="C0:11:22:33:44:55"} 1
    # HELP ancsd_link_notifications How many notifications are active.
    # TYPE ancsd_link_notifications gauge
    ancsd_link_notifications{adapter="hci0",phone="C0:11:22:33:44:55"} 0
    # HELP ancsd_link_backlog How many of them are not fetched yet.
    # TYPE ancsd_link_backlog gauge
    ancsd_link_backlog{adapter="hci0",phone="C0:11:22:33:44:55"} 0
    # HELP ancsd_link_rssi_dbm The phone's signal strength at the board.
    # TYPE ancsd_link_rssi_dbm gauge
    # UNIT ancsd_link_rssi_dbm dbm
    ancsd_link_rssi_dbm{adapter="hci0",phone="C0:11:22:33:44:55"} -58
    # HELP ancsd_battery_ratio The phone's battery, from 0 to 1.
    # TYPE ancsd_battery_ratio gauge
    # UNIT ancsd_battery_ratio ratio
    ancsd_battery_ratio{adapter="hci0",phone="C0:11:22:33:44:55"} 0.8
    # HELP ancsd_events_total Events: the number of the last one.
    ancsd_events_total 12
    # HELP ancsd_links_total Links that came up, including strangers'.
    ancsd_links_total 3
    # HELP ancsd_sessions_total Links on which the daemon subscribed to the phone's services.
    ancsd_sessions_total 0
    # HELP ancsd_reconnections_total Links of phones that had connected before.
    ancsd_reconnections_total 0
    # HELP ancsd_unproven_links_total Links in a bonded phone's name that were refused or ended without encryption with its key.
    ancsd_unproven_links_total 0
    # HELP ancsd_requests_total ATT requests.
    ancsd_requests_total 0
    # HELP ancsd_timeouts_total Links that ended because a request was not answered within 30 s.
    ancsd_timeouts_total 0
    # HELP ancsd_notifications_total Notifications, by category and change.
    ancsd_notifications_total{category="email",change="added"} 1
    ancsd_notifications_total{category="email",change="modified"} 0
    ancsd_notifications_total{category="email",change="removed"} 0
    # EOF

    """#
}
