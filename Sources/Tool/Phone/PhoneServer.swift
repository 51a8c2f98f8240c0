// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
public import Arguments
import Control
import EventLoop
import JSON
import System
import VirtualPhone
import Wire

/// The options of `phone`.
struct PhoneOptions: Sendable {
  /// Where it listens: a path, or `@name` for a socket without a file.
  var path = ""
  /// The adapter to use.
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
    usage: ["ancsd phone --listen unix:PATH [OPTIONS]"], grammar: grammar, defaults: PhoneOptions(),
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
    .choice(
      "--profile",
      help: "which phone it plays: iphone, as captured, or ideal, which has all that the "
        + "specifications offer (default: iphone)", set: { $0.configuration.profile = $1 }),
    .value(
      "--name", value: "NAME", expects: "a name of 1 to 248 bytes",
      help: "what the phone is called (default: iPhone)",
      read: { (1...248).contains($0.utf8.count) ? $0 : nil }, set: { $0.configuration.name = $1 }),
    .value(
      "--mtu", value: "N", expects: "a number from 23 to 527",
      help: "the greatest MTU that the phone takes (default: 185)",
      read: { Int($0).flatMap { (23...527).contains($0) ? $0 : nil } },
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

/// The virtual phone with its socket, its script on standard input and its events on standard
/// output.
@LoopActor final class PhoneServer {
  private let options: PhoneOptions
  private let phone: VirtualPhone
  private let listener: UnixListener
  private let input = LineReader()
  private let output = LineWriter()
  private var connection: PacketSocket?
  /// The lines that are not handled yet, since the script waits.
  private var waiting: [[UInt8]] = []
  private var wait: Wait?
  private let ending = Mailbox<ExitStatus>()

  /// A wait of the script, for an event or a time.
  private struct Wait {
    var event: String?
    var timer: TimerID?
    var id: JSONValue?
  }

  init(_ options: PhoneOptions) throws(Failure) {
    self.options = options
    var configuration = options.configuration
    configuration.setClock(to: .now, zone: WallTime.now.zoneOffset)
    phone = VirtualPhone(configuration, scheduler: Loop.shared)
    do throws(SystemError) {
      listener = try UnixListener(at: options.path, .packets)
    } catch {
      throw Failure(
        ExitStatus(error.errno, otherwise: .cannotCreate), "listening on \(options.path)",
        error.errno.text)
    }
  }

  /// Serves until it is told to leave.
  func run() async -> ExitStatus {
    phone.onEvent = { [unowned self] in publish($0) }
    listener.onConnection = { [unowned self] descriptor, _ in accept(descriptor) }
    input.onLine = { [unowned self] in perform(line: $0) }
    input.onOverlong = { [unowned self] in reply(nil, error: "a line without end") }
    // If signals can't be caught, they end the process, and only the socket's file is left.
    try? Loop.shared.onSignal([.interrupt, .terminate]) { [ending] in
      ending.post(ExitStatus(signal: $0.rawValue))
    }
    if options.playsDay { phone.play(once: options.once) }
    write(event: ["event": "listening", "path": .string("unix:\(options.path)")])
    let status = await ending.next() ?? .done
    phone.onEvent = { _ in }
    connection?.close()
    listener.close()
    input.close()
    output.flush(within: .seconds(1))
    return status
  }

  // MARK: The link

  private func accept(_ descriptor: consuming FileDescriptor) {
    // A second peer, and any peer while the phone is out of reach, is disconnected at once.
    guard phone.isReachable, !phone.isConnected else { return }
    let socket = PacketSocket(owning: descriptor)
    connection = socket
    socket.onClose = { [unowned self] errno in
      disconnected(errno?.text ?? "the other end closed the connection")
    }
    phone.connect(
      send: { [weak socket] in socket?.send($0) },
      hangUp: { [unowned self, weak socket] reason in
        socket?.close()
        disconnected(reason)
      })
    socket.onPacket = { [unowned self] in phone.receive($0) }
  }

  private func disconnected(_ reason: String) {
    connection = nil
    phone.disconnected(reason)
  }

  // MARK: The script

  private func perform(line: [UInt8]) {
    guard wait == nil else { return waiting.append(line) }
    guard line.contains(where: { $0 > 0x20 }) else { return }
    var id: JSONValue?
    do {
      let json = try JSONValue(parsing: line)
      id = json["id"]
      try perform(try PhoneInstruction(json: json), id)
    } catch {
      reply(id, error: "\(error)")
    }
  }

  private func perform(_ instruction: PhoneInstruction, _ id: JSONValue?) throws(PhoneRefusal) {
    switch instruction {
    case .command(let command):
      guard case .added(let uids) = try phone.perform(command) else { return reply(id) }
      reply(id, ["uids": .array(uids.map { .number($0.rawValue) })])
    case .question(let question):
      reply(id)
      Loop.start { await self.phone.ask(question) }
    case .day(let once):
      phone.play(once: once)
      reply(id)
    case .stopDay:
      phone.stopPlaying()
      reply(id)
    case .wait(let duration, let event):
      wait = Wait(event: event, id: id)
      if duration != nil || event == nil {
        wait?.timer = Loop.shared.schedule(after: duration ?? .zero) { [unowned self] in
          endWait(event == nil ? nil : "no such event came")
        }
      }
    case .quit:
      reply(id)
      ending.post(.done)
    }
  }

  /// Replies to the command `wait`, and performs the lines that arrived meanwhile.
  private func endWait(_ error: String?) {
    guard let wait else { return }
    self.wait = nil
    if let timer = wait.timer { Loop.shared.cancel(timer) }
    reply(wait.id, error: error)
    let lines = waiting
    waiting = []
    for line in lines { perform(line: line) }
  }

  // MARK: Output

  private func publish(_ event: PhoneEvent) {
    let json = event.json
    write(event: json)
    if let name = wait?.event, json["event"] == .string(name) {
      // Later, since the phone is still busy with what caused the event.
      Loop.shared.later { [weak self] in self?.endWait(nil) }
    }
    switch event {
    case .disconnected where options.once && !options.playsDay: ending.post(.done)
    case .dayEnded where options.once: ending.post(.done)
    default: break
    }
  }

  private func reply(_ id: JSONValue?, _ more: JSONObject = [:], error: String? = nil) {
    let outcome: JSONObject = ["ok": .bool(error == nil), "id": id]
    write(outcome + more + ["error": error.map { .string($0) }])
  }

  private func write(event: JSONObject) {
    var rest = event
    rest["event"] = nil
    write(["event": event["event"], "time": .string(WallTime.now.rfc3339)] + rest)
  }

  private func write(_ object: JSONObject) { output.write(JSONValue.object(object).json) }
}
