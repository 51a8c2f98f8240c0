// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import System
import Wire

/// What `status`, `phones` and `forget` are told.
struct StatusOptions: Sendable {
  var client = ClientOptions()
  var phone = PhoneSelector("")
  /// Whether to go on, and print what everything waits for whenever that changes.
  var followsWhy = false
}

extension Clients {
  /// `ancsd status`: adapters, phones, links.
  static let status = ClientCommand(
    "status", "adapters, phones and links, and what they are waiting for",
    grammar: Grammar(
      [
        .flag(
          "--why", help: "what each waits for, and again whenever that changes, until it is ended",
          set: { $0.followsWhy = true })
      ] + Grammar.clientOptions(\StatusOptions.client, phone: false)),
    defaults: StatusOptions(), client: \.client
  ) { options, client throws(Failure) in
    if options.followsWhy { return try await followWhy(client) }
    let status = try await client.call(ControlMethods.status, "status")
    try client.console.show(status) { status.text($0, now: .now) }
    return .done
  }

  /// `ancsd phones`: the bonded ones.
  static let phones = ClientCommand(
    "phones", "the phones that are bonded",
    grammar: Grammar(Grammar.clientOptions(\StatusOptions.client, phone: false)),
    defaults: StatusOptions(), client: \.client, notes: ["JSON is one object a line."]
  ) { _, client throws(Failure) in
    for phone in try await client.call(ControlMethods.listPhones, "listing phones") {
      try client.console.show(phone) { phone.lines($0).joined(separator: "\n") }
    }
    return .done
  }

  /// `ancsd forget`: removes a bond.
  static let forget = ClientCommand(
    "forget", "forgets a phone: its keys, and what is cached of it",
    grammar: Grammar(
      Grammar.clientOptions(\StatusOptions.client, phone: false), operands: "PHONE"
    ) { options, operands throws(Failure) in
      guard let phone = operands.first, !phone.isEmpty else {
        throw Failure(.usage, "PHONE", "an address or a name is missing: “ancsd phones” lists them")
      }
      guard operands.count == 1 else {
        throw Failure(.usage, operands[1], "nothing is expected there")
      }
      options.phone = PhoneSelector(phone)
    }, defaults: StatusOptions(), client: \.client,
    notes: ["PHONE is an address or a name, as “ancsd phones” lists them."]
  ) { options, client throws(Failure) in
    try await client.call(
      ControlMethods.forgetPhone, ForgetParameters(phone: options.phone),
      "forget \(options.phone)")
    if client.console.usualFormat == .text {
      try client.console.print(
        line: "Forgotten here. On the phone too: Settings › Bluetooth › (i) beside this device › "
          + "Forget This Device.")
    }
    return .done
  }
}
