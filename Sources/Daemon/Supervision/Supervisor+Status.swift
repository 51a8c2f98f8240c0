// SPDX-License-Identifier: GPL-3.0-or-later
import Companion
import ANCS
import ATT
import EventLoop
import GATT
import Wire

extension Supervisor {
  /// Adapters, links and phones as they are now.
  var status: StatusReport {
    var report = StatusReport(version: version, started: started)
    report.adapters = radio?.reports ?? []
    report.links = sessions.map(\.report)
    report.phones = phoneReports
    return report
  }

  /// The phones that are bonded.
  var phoneReports: [PhoneReport] { radio?.phoneReports ?? [] }

  /// The clock of everything here.
  var scheduler: any Scheduler { Loop.shared }
}

extension Session {
  /// The link as `status` shows it.
  var report: LinkReport {
    var report = LinkReport(since: since)
    report.adapter = link.adapter
    report.phone = (link.phone ?? phone.identity)?.address
    report.name = phone.displayName
    report.isEncrypted = link.security.encrypted
    report.isBonded = link.isBonded
    report.mtu = bearer.mtu
    report.services = services
    report.isAuthorized = isAuthorized
    report.battery = battery.level.map { Int($0.percent) }
    report.notifications = notifications?.active.count ?? 0
    report.requests = bearer.requestsSent
    report.why = why
    return report
  }

  /// Where the session stands and what it waits for, as a sentence for the one who wonders.
  var why: String {
    switch stage {
    case .connecting: "connected; waiting for the phone's answer about the MTU"
    case .securing: "connected; waiting for the link to be encrypted"
    case .refused: "connected, not encrypted: the phone is served nothing"
    case .discovering: "connected, encrypted; looking for the phone's services"
    case .subscribing: "connected, encrypted; subscribing"
    case .ended: "disconnected"
    case .serving where notifications == nil:
      "connected, encrypted; the phone does not publish ANCS: on the phone, Settings › Bluetooth › "
        + "\(surroundings.name) › Share System Notifications"
    case .serving where isAuthorized == false:
      "subscribed, but the phone does not let its notifications be read: on the phone, Settings › "
        + "Bluetooth › \(surroundings.name) › Share System Notifications"
    case .serving: "subscribed; waiting for what the phone says"
    }
  }
}
