// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import Mgmt
import VirtualPhone

/// The options of `phone`.
struct PhoneOptions: Sendable {
  /// Where it listens: a path, or `@name` for a socket without a file.
  var path: String?
  /// The adapter that it uses on the air.
  var adapter: AdapterChoice?
  /// The accessory that it looks for; nil: its own, or the only one.
  var accessory: AccessoryChoice?
  var io = PhoneIO.auto
  /// Where it keeps its bonds.
  var stateDirectory = PhoneStore.usualDirectory
  /// Forgets its bonds first.
  var forgets = false
  var configuration = VirtualPhone.Configuration()
  /// Plays the scripted day.
  var playsDay = false
  /// Exits after the first connection has ended, or when the day is over.
  var once = false

  /// The bearer that the options name.
  @LoopActor func bearer(of phone: VirtualPhone) async throws(Failure) -> any PhoneBearer {
    switch (path, adapter) {
    case (let path?, nil):
      if let foreign { throw Failure(usage: "\(foreign) needs --hciN: a socket has no pairing") }
      return try PhoneSocket(path, phone)
    case (nil, let adapter?):
      guard configuration.isEncrypted else {
        throw Failure(usage: "--unencrypted needs --listen: on the air a link pairs")
      }
      return try await PhoneRadio(self, on: adapter, phone)
    case (nil, nil):
      throw Failure(usage: "phone needs --listen unix:PATH or --hciN")
    case (_?, let adapter?):
      throw Failure(usage: "phone takes --listen or --\(adapter), not both")
    }
  }

  /// An option that works only on the air.
  private var foreign: String? {
    let usual = PhoneOptions()
    if accessory != nil { return "--accessory" }
    if io != usual.io { return "--io" }
    if stateDirectory != usual.stateDirectory { return "--state-dir" }
    return forgets ? "--forget" : nil
  }
}

/// The phone's IO capability and its user's behaviour during pairing.
enum PhoneIO: String, CaseIterable, Sendable {
  /// Display and keyboard, like an iPhone; confirms everything at once.
  case auto
  /// Display and keyboard; every question waits for the command `respond`.
  case ask
  /// Neither display nor keyboard.
  case none

  /// The capability as mgmt knows it.
  var capability: IOCapability { self == .none ? .noInputNoOutput : .keyboardDisplay }
}

extension Command {
  /// `ancsd phone`: the virtual phone, behind a socket or on the air.
  package static let phone = Command(
    "phone", "plays a virtual iPhone's side of ANCS and AMS, controlled on standard input",
    usage: ["ancsd phone --listen unix:PATH [OPTIONS]", "ancsd phone --hciN [OPTIONS]"],
    grammar: .phone, defaults: PhoneOptions(),
    notes: [
      "With --listen it listens on a SOCK_SEQPACKET socket, one ATT PDU per packet, and serves one "
        + "connection after another; “ancsd --att unix:PATH” connects to it.",
      "With --hciN it is on the air: it looks for an accessory as an iPhone does, connects from a "
        + "private address, pairs, and reconnects by itself. The accessory is on another adapter: "
        + "“ancsd --hci0” next to “ancsd phone --hci1”, or a second board.",
      "Commands are objects on lines of standard input, as in "
        + "{\"command\":\"add\",\"title\":\"Mum\",\"message\":\"Saturday?\"}; each is answered with "
        + "{\"ok\":true} or {\"ok\":false,\"error\":…} on standard output, where the events are too.",
      "They can also be typed in words: add title=Mum message='Saturday?'. “help” lists them with their "
        + "members: \(PhoneForm.all.map(\.name).sorted().joined(separator: ", ")).",
    ],
    examples: [
      "--listen unix:phone.sock",
      "--hci1",
      "--hci1 --accessory 'Kitchen board'",
    ]
  ) { options throws(Failure) in
    Console().onLoop { () async throws(Failure) in try await PhoneServer.run(options) }
  }
}

extension Grammar<PhoneOptions> {
  fileprivate static let phone = Grammar([
    .value(
      "--listen", value: "unix:PATH", kind: .file, expects: "unix:PATH",
      help: "where the daemon connects; @NAME is a socket without a file",
      read: { String(unixAddress: $0) }, set: { $0.path = $1 }),
    .adapterNumber(help: "the adapter to use on the air", set: { $0.adapter = AdapterChoice($1) }),
    .value(
      "--accessory", value: "ADDRESS|NAME", expects: "an address or a name",
      help: "the accessory to look for, if there are several", read: { AccessoryChoice($0) },
      set: { $0.accessory = $1 }),
    .choice(
      "--io",
      help: "on the air: auto confirms pairings by itself (default), ask waits for the command "
        + "respond, none has neither display nor keyboard", set: { $0.io = $1 }),
    .stateDirectory(default: PhoneStore.usualDirectory, set: { $0.stateDirectory = $1 }),
    .flag("--forget", help: "forget all bonds first", set: { $0.forgets = true }),
    .choice(
      "--profile",
      help: "which phone it plays: iphone, as captured, or ideal, with everything that the "
        + "specifications offer (default: iphone)", set: { $0.configuration.profile = $1 }),
    .value(
      "--rule", value: "NAME=VALUE", expects: "a rule and its value",
      help: "a rule of real phones that it keeps: "
        + PhoneRules.names.joined(separator: ", "),
      read: { text in
        var rules = PhoneRules()
        return rules.set(text) ? text : nil
      }, set: { _ = $0.configuration.rules.set($1) }
    ).repeated,
    .value(
      "--name", value: "NAME", expects: "a name of 1 to 248 bytes", help: "the phone's name (default: iPhone)",
      read: { (1...248).contains($0.utf8.count) ? $0 : nil }, set: { $0.configuration.name = $1 }),
    .number(
      "--mtu", within: 23...527, help: "the phone's maximum MTU (default: 185)",
      set: { $0.configuration.receiveMTU = $1 }),
    .flag(
      "--unencrypted", help: "links count as unencrypted until the command encrypt",
      set: { $0.configuration.isEncrypted = false }),
    .flag("--day", help: "play the scripted day of --virtual-phone", set: { $0.playsDay = true }),
    .flag("--once", help: "exit after the first connection; with --day, when the day is over", set: { $0.once = true }),
  ])
}
