// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import Arguments
import Control
import System
import Wire

extension Clients {
  /// `ancsd status`: adapters, phones, links.
  static let status = ClientCommand(
    "status", "shows adapters, phones and links, and what they wait for",
    options: [
      .flag(
        "--why", help: "keep running, and print what each waits for whenever that changes",
        set: { $0.followsWhy = true }),
      .flag(
        "--metrics", help: "print metrics in OpenMetrics text format, for Prometheus", set: { $0.printsMetrics = true }),
    ], phone: nil, examples: ["", "--why", "--metrics > /var/lib/prometheus/node-exporter/ancsd.prom"]
  ) { options, client throws(Failure) in
    if options.followsWhy { return try await followWhy(client) }
    let status = try await client.call(ControlMethods.status, "status")
    if options.printsMetrics {
      try client.console.print(status.metrics.utf8)
      return .done
    }
    try client.console.show(status) { status.text($0, now: .now) }
    return .done
  }

  /// `ancsd status --why`: what everything waits for now, and whenever that changes.
  static func followWhy(_ client: ControlClient) async throws(Failure) -> ExitStatus {
    try await client.call(ControlMethods.subscribe, Subscription(events: [.why]), "following the waits")
    let status = try await client.call(ControlMethods.status, "status")
    for line in status.waits { try client.console.show(line) { line.text($0) } }
    while true {
      guard case .line(let line) = try await client.next(),
        let event = NumberedEvent(line: line)?.event, case .why(let wait, let why) = event.content
      else { continue }
      let news = WaitLine(adapter: event.adapter, phone: event.phone, wait: wait, why: why)
      try client.console.show(news) { news.text($0) }
    }
  }

  /// `ancsd phones`: the bonded ones.
  static let phones = ClientCommand(
    "phones", "lists the bonded phones", phone: nil, notes: ["JSON is one object per line."],
    examples: ["", "--json | jq -r .phone", "--socket /run/ancsd/control.sock"]
  ) { _, client throws(Failure) in
    let phones = try await client.call(ControlMethods.listPhones, "phones").elements
    for phone in phones {
      try client.console.show(phone) { phone.lines($0).joined(separator: "\n") }
    }
    if phones.isEmpty { try client.console.guide("no phone is bonded") }
    return .done
  }

  /// `ancsd forget`: removes a bond.
  static let forget = ClientCommand(
    "forget", "forgets a phone: its keys and its cached data", phone: nil, operands: "PHONE", kinds: [.phone],
    notes: ["PHONE is an address or a name, as “ancsd phones” lists them."],
    examples: [
      "'Anna’s iPhone'",
      "5A:CB:11:22:33:44",
      "5A:CB:11:22:33:44 --json",
    ],
    read: { options, operands throws(Failure) in
      guard let phone = operands.first, !phone.isEmpty else {
        throw Failure(
          usage: "forget needs a phone (PHONE)",
          remedy: "name it by address or name: “ancsd phones” lists them")
      }
      try operands.check(atMost: 1)
      options.phone = PhoneSelector(phone)
    }
  ) { options, client throws(Failure) in
    try await client.call(
      ControlMethods.forgetPhone, PhoneParameters(phone: options.phone), "forget \(options.phone?.description ?? "")")
    try client.console.guide(
      "Forgotten here. Now forget this board on the phone: Settings › Bluetooth › "
        + "(i) next to it › Forget This Device.")
    return .done
  }

  /// `ancsd media`: shows what is playing, or controls the player.
  static let media = ClientCommand(
    "media", "shows what is playing; with a command, controls the player", options: [.template], operands: "[COMMAND]",
    kinds: [.word(RemoteCommand.names + RemoteCommand.aliases.map(\.name))],
    notes: [
      "Commands: \(RemoteCommand.names.joined(separator: ", ")). Also "
        + RemoteCommand.aliases.map { "\($0.name) (\($0.command.name ?? ""))" }.joined(separator: ", ") + "."
    ], examples: ["", "toggle", "--template '{track.artist} – {track.title}'"],
    read: { options, operands throws(Failure) in
      guard let typed = operands.first else { return }
      try operands.check(atMost: 1)
      options.command = RemoteCommand(typed: typed)
      guard options.command == nil else { return }
      let near = nearest(to: typed.lowercased(), among: RemoteCommand.names + RemoteCommand.aliases.map(\.name))
      throw Failure(
        usage: "“\(typed)” is not a command for media",
        remedy: near.map { "did you mean “ancsd media \($0)”?" })
    }
  ) { options, client throws(Failure) in
    let phone = options.phone
    if let command = options.command {
      try await client.call(
        ControlMethods.sendMediaCommand, MediaParameters(command, phone: phone), "media \(command.name ?? "")")
      await client.remarkIfUnoffered(command, phone)
    } else {
      let state = try await client.call(ControlMethods.getMedia, PhoneParameters(phone: phone), "media")
      try client.console.show(state) { state.text($0) }
    }
    return .done
  }
}

extension ControlClient {
  /// Remarks that the phone accepted a command that it does not offer now. Its list is a hint, so the command is sent
  /// anyway.
  fileprivate func remarkIfUnoffered(_ command: RemoteCommand, _ phone: PhoneSelector?) async {
    let name = command.name ?? "\(command)"
    let parameters = PhoneParameters(phone: phone)
    // If the player has gone meanwhile, its list does not matter.
    guard let state = try? await call(ControlMethods.getMedia, parameters, "media \(name)"),
      let offered = state.commands, !offered.contains(command)
    else { return }
    let others = offered.compactMap(\.name).joined(separator: ", ")
    report(
      Failure(
        .refused, "media \(name)", "the phone accepted it, but does not offer it now, so it may have had no effect",
        remedy: others.isEmpty ? "nothing is playing" : "it offers \(others)"))
  }

  // MARK: The only place that resolves a client's phone and checks that it is connected

  /// Throws if an empty result would only mean that there is no phone: none is connected, or not the selected one, or
  /// the daemon has not subscribed to its notifications yet.
  func requireNotifications(of selector: PhoneSelector?, _ what: String) async throws(Failure) {
    let status = try await call(ControlMethods.status, what)
    let links = status.links.filter { selector?.matches($0.phone, name: $0.name) ?? true }
    guard !links.isEmpty else { throw Failure(noPhone: selector, status, what) }
    guard !links.contains(where: { $0.services.contains(.ancs) }) else { return }
    throw Failure(
      .tryAgain, what, "not subscribed to the phone yet", remedy: links.lazy.compactMap(\.waiting.why).first)
  }

  /// The address of the selected phone among those connected or bonded; nil if its address is not known.
  func address(of selector: PhoneSelector, _ what: String) async throws(Failure) -> Address? {
    if let address = Address(selector.description) { return address }
    let status = try await call(ControlMethods.status, what)
    let known = status.knownPhones.first { selector.matches($0.address, name: $0.name) }
    guard let known else { throw Failure(noPhone: selector, status, what) }
    return known.address
  }
}

extension StatusReport {
  /// The connected phones and the bonded ones, as far as they are known.
  var knownPhones: [(address: Address?, name: String?)] {
    links.map { ($0.phone, $0.name) } + phones.map { ($0.phone, $0.name) }
  }
}

extension Failure {
  /// The selected phone, or any phone, is not connected.
  fileprivate init(noPhone selector: PhoneSelector?, _ status: StatusReport, _ what: String) {
    guard let selector else {
      self.init(
        .unavailable, what, "no phone is connected",
        remedy: (status.waits.first.map { "\($0.why); " } ?? "")
          + "“ancsd doctor” looks for the cause")
      return
    }
    if status.phones.contains(where: { selector.matches($0.phone, name: $0.name) }) {
      self.init(
        .unavailable, what, "the phone “\(selector)” is not connected",
        remedy: "“ancsd status” shows what the daemon waits for, and “ancsd doctor” looks for the cause")
    } else {
      let known = status.knownPhones.compactMap { $0.name ?? $0.address?.description }
      let near = nearest(to: selector.description, among: known)
      self.init(
        .unavailable, what, "no phone “\(selector)”",
        remedy: near.map { "did you mean “\($0)”?" } ?? "“ancsd phones” lists them")
    }
  }
}
