// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import VirtualPhone

/// What `phone` is told on its command line.
struct PhoneOptions: Sendable {
  /// Where it listens: a path, or `@name` for a socket without a file.
  var path = ""
  /// The adapter that it is to be on.
  var adapter: String?
  var configuration = VirtualPhone.Configuration()
  /// Plays the scripted day.
  var playsDay = false
  /// Leaves after the first connection has ended, or when the day is over.
  var once = false
}

/// `ancsd phone`: the virtual phone behind a socket.
public enum PhoneTool {
  /// The command as the program lists it.
  public static let command = Command(
    "phone", "a virtual phone: an iPhone's side of ANCS and AMS, told what to do on standard input",
    usage: ["ancsd phone --listen unix:PATH [OPTIONS]"], grammar: grammar,
    defaults: PhoneOptions(),
    notes: [
      "It listens on a SOCK_SEQPACKET socket, one ATT PDU a packet, and serves one connection after "
        + "another; “ancsd --att unix:PATH” connects to it.",
      "Commands are objects on lines of standard input, as in "
        + "{\"command\":\"add\",\"title\":\"Mum\",\"message\":\"Saturday?\"}; each is answered with "
        + "{\"ok\":true} or {\"ok\":false,\"error\":…} on standard output, where the events are too.",
      "The commands: \(PhoneInstruction.names.joined(separator: ", ")).",
    ], run: run)

  private static let grammar = Grammar<PhoneOptions>([
    .value(
      "--listen", value: "unix:PATH", expects: "unix:PATH",
      help: "where the daemon connects to; @NAME is a socket without a file",
      read: { String(unixAddress: $0) }, set: { $0.path = $1 }),
    .adapterNumber(help: "", set: { $0.adapter = $1 }),
    .value(
      "--name", value: "NAME", expects: "a name of 1 to 248 bytes",
      help: "what the phone is called (default: iPhone)",
      read: { (1...248).contains($0.utf8.count) ? $0 : nil },
      set: { $0.configuration.name = $1 }),
    .value(
      "--mtu", value: "N", expects: "a number from 23 to 517",
      help: "the greatest MTU that the phone takes (default: 185)",
      read: { Int($0).flatMap { (23...517).contains($0) ? $0 : nil } },
      set: { $0.configuration.receiveMTU = $1 }),
    .flag(
      "--unencrypted", help: "links count as unencrypted until the command encrypt says else",
      set: { $0.configuration.isEncrypted = false }),
    .flag("--day", help: "play the scripted day of --virtual-phone", set: { $0.playsDay = true }),
    .flag(
      "--once", help: "leave after the first connection, with --day when that is over",
      set: { $0.once = true }),
  ])

  @Sendable private static func run(_ options: PhoneOptions) throws(Failure) -> ExitStatus {
    if let adapter = options.adapter {
      throw Failure(
        .usage, "--\(adapter)", "this version of ancsd does not have it yet",
        remedy: "--listen unix:PATH needs no radio")
    }
    guard !options.path.isEmpty else {
      throw Failure(.usage, "ancsd phone", "--listen unix:PATH is missing")
    }
    return Console().onLoop { () async throws(Failure) in try await PhoneServer(options).run() }
  }
}
