// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import System
import Wire

extension Clients {
  private static let emptyNote =
    "The status is 1 if nothing matches, as with grep, and 69 if nothing is listed because no phone is connected."

  /// `ancsd list`: what is active now.
  static let list = ClientCommand(
    "list", "lists the active notifications",
    options: CommandOption.filtersOfActive + CommandOption.latest(of: "notifications") + [
      .template
    ],
    notes: ["JSON is one object per line.", emptyNote],
    examples: [
      "--app Messages --since today",
      "-n 5 --newest-first --template '{app}: {title}'",
      "--json --flag important | jq -r .title",
    ]
  ) { options, client throws(Failure) in
    let (filter, phone) = (options.filter, options.phone)
    let isWhole = options.count == nil && !options.newestFirst && filter.isOfDaemon
    if client.console.format == .json, isWhole {
      var found: [ArraySlice<UInt8>] = []
      try await client.listAsWritten(
        ControlMethods.listNotifications, filter.query(phone), "list"
      ) { found.append($0) }
      if found.isEmpty { try await client.requireNotifications(of: phone, "list") }
      for json in found { try client.console.print(json + [UInt8(ascii: "\n")]) }
      return client.listed(found.count, filter)
    }
    let all = try await client.notifications(matching: filter, on: phone, "list")
    let zone = client.console.style.zone
    let found = isWhole ? all : options.latest(of: all.inOrder(zone: zone))
    for notification in found {
      try client.console.show(notification) { notification.report.listing($0, now: .now) }
    }
    return client.listed(found.count, filter)
  }

  /// `ancsd count`: how many are active now.
  static let count = ClientCommand(
    "count", "counts the active notifications", options: CommandOption.filtersOfActive, notes: [emptyNote],
    examples: ["--category missed-call", "--app Mail --since yesterday", "--phone 'Anna’s iPhone'"]
  ) { options, client throws(Failure) in
    let count = try await client.notifications(matching: options.filter, on: options.phone, "count")
      .count
    try client.console.print(line: String(count))
    return count == 0 ? .refused : .done
  }

  /// `ancsd show`: all about notifications.
  static let show = ClientCommand(
    "show", "shows a notification with its full message", operands: "UID...", kinds: [.notification],
    examples: ["12", "12 14 --json", "'#12' --timeout 5"],
    read: { options, operands throws(Failure) in
      let (uids, rest) = try operands.uids(for: "show")
      try rest.check(atMost: 0)
      options.uids = uids
    }
  ) { options, client throws(Failure) in
    try await client.each(options.uids) { uid throws(Failure) in
      let wanted = NotificationParameters(uid, phone: options.phone)
      let notification = try await client.call(ControlMethods.getNotification, wanted, "show \(uid)")
      try client.console.show(notification) { notification.report.details($0, now: .now) }
    }
  }

  /// `ancsd apps`: the apps with active notifications.
  static let apps = ClientCommand(
    "apps", "lists the apps with active notifications: count, name, identifier",
    notes: ["--app takes these identifiers. JSON is one object per line."],
    examples: [
      "",
      "--json | jq -r .app_id",
      "--phone 'Anna’s iPhone'",
    ]
  ) { options, client throws(Failure) in
    let phone = options.phone
    let apps = try await client.list(ControlMethods.listApps, PhoneParameters(phone: phone), "apps")
    if apps.isEmpty { try await client.requireNotifications(of: phone, "apps") }
    switch client.console.format {
    case .json: for app in apps { try client.console.show(app) { _ in "" } }
    case .text:
      try client.console.print(
        line: apps.isEmpty ? "no app has an active notification" : AppReport.table(apps, client.console.style))
    }
    return .done
  }
}

extension [ActiveNotification] {
  /// The same by their dates; those without one first.
  fileprivate func inOrder(zone: Int) -> [ActiveNotification] {
    let dated = enumerated().map { place, notification in
      let date = notification.report.time(boardZone: zone) ?? WallTime(seconds: .min)
      return (date, place, notification)
    }
    return dated.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
  }
}

// MARK: - Numbers of notifications

extension [String] {
  /// The UIDs at the beginning of the operands, as printed (`#12`) or without the sign, and the remaining operands. At
  /// least one UID is required.
  func uids(for command: String) throws(Failure) -> (uids: [NotificationUID], rest: [String]) {
    let uids = prefix { NotificationUID(typed: $0) != nil }.compactMap(NotificationUID.init(typed:))
    if uids.isEmpty, let first {
      throw Failure(usage: "“\(first)” is not the number of a notification (UID)")
    }
    guard !uids.isEmpty else {
      throw Failure(
        usage: "\(command) needs the number of a notification (UID)",
        remedy: "# begins a comment in most shells: write 12 or '#12'; see ancsd \(command) --help")
    }
    return (uids, Array(dropFirst(uids.count)))
  }
}

extension ControlClient {
  /// The exit status after listing `count`; on a terminal it prints that there are none.
  fileprivate func listed(_ count: Int, _ filter: NotificationFilter) -> ExitStatus {
    guard count == 0 else { return .done }
    remark(filter.isEmpty ? "no notification is active now" : "no active notification matches")
    return .refused
  }

  /// Does something with each notification. With several, it reports failures and still tries the rest, as long as the
  /// daemon is running.
  ///
  /// - Returns: the status of the first failure.
  func each<Target>(
    _ targets: [Target], _ body: (Target) async throws(Failure) -> Void
  ) async throws(Failure) -> ExitStatus {
    var status = ExitStatus.done
    for target in targets {
      do throws(Failure) {
        try await body(target)
      } catch {
        guard targets.count > 1, isConnected, !error.isInterruption else { throw error }
        report(error)
        if status == .done { status = error.status }
      }
    }
    return status
  }
}
