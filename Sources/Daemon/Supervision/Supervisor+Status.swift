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
    report.stand(wait, name: name)
    return report
  }

  /// The same, and how the links are doing on the air, which the controller is asked for.
  func statusOnAir() async -> StatusReport {
    let here = sessions
    var conditions: [LinkCondition] = []
    for session in here { conditions.append(await session.link.condition()) }
    // They may have gone meanwhile, and others come.
    var report = status
    report.links = sessions.map { session in
      var link = session.report
      if let place = here.firstIndex(where: { $0 === session }) { link.add(conditions[place]) }
      return link
    }
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
    report.waiting = notifications?.backlog ?? 0
    report.requests = bearer.requestsSent
    report.stand(wait, name: surroundings.name)
    return report
  }
}
