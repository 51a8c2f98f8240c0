// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import EventLoop
import JSON
import System
import VirtualPhone
import Wire

/// The virtual phone with its socket, its script on standard input and its words on standard output.
@LoopActor
final class PhoneServer {
  private let options: PhoneOptions
  private let phone: VirtualPhone
  private let listener: UnixListener
  private let input = LineReader()
  private let output = LineWriter()
  private var connection: PacketSocket?
  /// The lines that are not read yet, since the script waits.
  private var waiting: [[UInt8]] = []
  private var wait: Wait?
  private var leave: CheckedContinuation<ExitStatus, Never>?

  /// What the script waits for.
  private struct Wait {
    var event: String?
    var timer: TimerID?
    var id: JSONValue?
  }

  /// A phone that listens.
  init(_ options: PhoneOptions) throws(Failure) {
    self.options = options
    var configuration = options.configuration
    configuration.setClock(to: .now, zone: WallTime.now.zoneOffset)
    phone = VirtualPhone(configuration, scheduler: Loop.shared)
    do throws(SystemError) {
      listener = try UnixListener(at: options.path, .packets)
    } catch {
      throw Failure(
        ExitStatus(error.errno, otherwise: .cannotCreate),
        "listening on \(options.path)", error.errno.text)
    }
  }

  /// Serves until it is told to leave.
  func run() async -> ExitStatus {
    phone.onEvent = { [unowned self] in take($0) }
    listener.onConnection = { [unowned self] descriptor, _ in accept(descriptor) }
    input.onLine = { [unowned self] in take(line: $0) }
    input.onOverlong = { [unowned self] in answer(nil, error: "a line without end") }
    // Where signals cannot be caught they end the process, and only the socket's file is left.
    try? Loop.shared.onSignal([.interrupt, .terminate]) { [unowned self] signal in
      end(ExitStatus(signal: signal.rawValue))
    }
    if options.playsDay { phone.play(once: options.once) }
    write(event: ["event": "listening", "path": .string("unix:\(options.path)")])
    let status = await withCheckedContinuation { leave = $0 }
    phone.onEvent = { _ in }
    connection?.close()
    listener.close()
    input.close()
    output.flush(within: .seconds(1))
    return status
  }

  private func end(_ status: ExitStatus) {
    leave?.resume(returning: status)
    leave = nil
  }

  // MARK: The link

  private func accept(_ descriptor: consuming FileDescriptor) {
    // Whoever comes while somebody is here, or the phone is not, is let go of at once.
    guard phone.isReachable, !phone.isConnected else { return }
    let socket = PacketSocket(owning: descriptor)
    connection = socket
    socket.onClose = { [unowned self] errno in
      disconnected(errno.map(\.text) ?? "the other end closed the connection")
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

  private func take(line: [UInt8]) {
    guard wait == nil else { return waiting.append(line) }
    guard line.contains(where: { $0 > 0x20 }) else { return }
    var id: JSONValue?
    do {
      let json = try JSONValue(parsing: line)
      id = json["id"]
      try perform(try PhoneInstruction(json: json), id)
    } catch {
      answer(id, error: "\(error)")
    }
  }

  private func perform(_ instruction: PhoneInstruction, _ id: JSONValue?) throws(PhoneRefusal) {
    switch instruction {
    case .command(let command):
      var object = JSONObject()
      if case .added(let uids) = try phone.perform(command) {
        object.add("uids", .array(uids.map { .number($0.rawValue) }))
      }
      answer(id, object)
    case .question(let question):
      answer(id)
      Loop.start { await self.phone.ask(question) }
    case .day(let once):
      phone.play(once: once)
      answer(id)
    case .stopDay:
      phone.stopPlaying()
      answer(id)
    case .wait(let duration, let event):
      wait = Wait(event: event, id: id)
      if duration != nil || event == nil {
        wait?.timer = Loop.shared.schedule(after: duration ?? .zero) { [unowned self] in
          goOn(event == nil ? nil : "no such event came")
        }
      }
    case .quit:
      answer(id)
      end(.done)
    }
  }

  /// The wait is over: it is answered, and the lines that came meanwhile are read.
  private func goOn(_ error: String?) {
    guard let wait else { return }
    self.wait = nil
    if let timer = wait.timer { Loop.shared.cancel(timer) }
    if let error { answer(wait.id, error: error) } else { answer(wait.id) }
    let lines = waiting
    waiting = []
    for line in lines { take(line: line) }
  }

  // MARK: What is printed

  private func take(_ event: PhoneEvent) {
    let json = event.json
    write(event: json)
    if let name = wait?.event, json["event"] == .string(name) {
      // The lines that waited may do what the event's cause is in the middle of.
      Loop.shared.later { [weak self] in self?.goOn(nil) }
    }
    switch event {
    case .disconnected where options.once && !options.playsDay: end(.done)
    case .dayEnded where options.once: end(.done)
    default: break
    }
  }

  private func answer(_ id: JSONValue?, _ more: JSONObject = [:]) {
    write(["ok": true] + Self.member(id) + more)
  }

  private func answer(_ id: JSONValue?, error: String) {
    write(["ok": false] + Self.member(id) + ["error": .string(error)])
  }

  private static func member(_ id: JSONValue?) -> JSONObject { id.map { ["id": $0] } ?? [:] }

  private func write(event: JSONObject) {
    var stamped = JSONObject()
    stamped.add("event", event["event"])
    stamped.add("time", .string(WallTime.now.rfc3339))
    for (name, value) in event.members.dropFirst() { stamped.add(name, value) }
    write(stamped)
  }

  private func write(_ object: JSONObject) { output.write(JSONValue.object(object).json) }
}
