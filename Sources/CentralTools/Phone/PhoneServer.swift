// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import JSON
import LineEditor
import System
import VirtualPhone
import Wire

/// The virtual phone with its transport, its script on standard input and its events on standard
/// output.
@LoopActor final class PhoneServer {
  private let options: PhoneOptions
  private let phone: VirtualPhone
  private let bearer: any PhoneBearer
  /// The prompt on a terminal; otherwise the reader has the lines.
  private let editor = LineEditor()
  private let reader: LineReader?
  private let output = LineWriter()
  private let lines = Mailbox<[UInt8]>()
  /// The event that the script waits for, and what its occurrence is posted to.
  private var awaited: (event: String, occurrence: Mailbox<Bool>)?
  private let ending = Mailbox<Result<ExitStatus, Failure>>()

  private init(_ options: PhoneOptions, _ phone: VirtualPhone, _ bearer: any PhoneBearer) {
    self.options = options
    self.phone = phone
    self.bearer = bearer
    reader = editor == nil ? LineReader() : nil
  }

  /// Serves until it is told to exit.
  static func run(_ options: PhoneOptions) async throws(Failure) -> ExitStatus {
    var configuration = options.configuration
    configuration.setClock(to: .now, zone: WallTime.now.zoneOffset)
    let phone = VirtualPhone(configuration, scheduler: Loop.shared)
    let bearer = try await options.bearer(of: phone)
    return try await PhoneServer(options, phone, bearer).run()
  }

  private func run() async throws(Failure) -> ExitStatus {
    output.lossNotice = { lost in Self.line(["event": "lost", "count": .number(lost.count)]) }
    phone.onEvent = { [weak self] in self?.publish($0) }
    bearer.onEvent = { [weak self] in self?.publish($0) }
    bearer.onFailure = { [ending] in ending.post(.failure($0)) }
    // If signals can't be caught, they end the process, and only the socket's file is left.
    let signals: [Signal] = [.interrupt, .terminate, .windowChange, .continued]
    try? Loop.shared.onSignal(signals) { [weak self, ending] signal in
      switch signal {
      case .windowChange, .continued: self?.editor?.redraw()
      default: ending.post(.success(ExitStatus(signal: signal.rawValue)))
      }
    }
    readLines()
    Loop.start { while let line = await self.lines.next() { await self.perform(line: line) } }
    if options.playsDay { phone.play(once: options.once) }
    let outcome: Result<ExitStatus, Failure>
    do throws(Failure) {
      try await bearer.open()
      outcome = await ending.next() ?? .success(.done)
    } catch { outcome = .failure(error) }
    phone.onEvent = { _ in }
    bearer.onEvent = { _ in }
    bearer.onFailure = { _ in }
    editor?.hide()
    await bearer.close()
    reader?.close()
    output.flush(within: .seconds(1))
    return try outcome.get()
  }

  private func readLines() {
    reader?.onLine = { [lines] in lines.post($0) }
    reader?.onOverlong = { [weak self] in self?.reply(nil, error: "the line is too long") }
    guard let editor else { return }
    editor.onLine = { [weak self] line in
      self?.lines.post(Array(line.utf8))
      self?.editor?.show()
    }
    editor.onEnd = { [ending] in ending.post(.success(.done)) }
    editor.complete = PhoneForm.complete
    editor.print("type commands, such as add title=Mum; help lists them")
    editor.show()
  }

  // MARK: The script

  private func perform(line: [UInt8]) async {
    guard let first = line.first(where: { $0 > 0x20 }) else { return }
    var id: JSONValue?
    do {
      let text = String(decoding: line, as: UTF8.self)
      let words = text.split(separator: " ")
      if words == ["help"] { return write(PhoneForm.help) }
      let json = try first == UInt8(ascii: "{") ? JSONValue(parsing: line) : PhoneInstruction.object(words: text)
      id = json["id"]
      reply(id, try await perform(try PhoneInstruction(json: json)))
    } catch { reply(id, error: "\(error)") }
  }

  /// Returns what the reply has besides `ok`.
  private func perform(_ instruction: PhoneInstruction) async throws -> JSONObject {
    switch instruction {
    case .link(let command): try bearer.perform(command)
    case .command(let command):
      let uids = try bearer.perform(command)
      if !uids.isEmpty { return ["uids": .array(uids.map { .number($0.rawValue) })] }
    case .request(let request): Loop.start { await self.phone.ask(request) }
    case .day(let once): phone.play(once: once)
    case .stopDay: phone.stopPlaying()
    case .wait(let duration, nil): await Loop.shared.sleep(for: duration ?? .zero)
    case .wait(let duration, let event?): try await wait(for: event, atMost: duration)
    case .quit: ending.post(.success(.done))
    }
    return [:]
  }

  private func wait(for event: String, atMost duration: Duration?) async throws(PhoneRefusal) {
    let occurrence = Mailbox<Bool>()
    awaited = (event, occurrence)
    let timer = duration.map { Loop.shared.schedule(after: $0) { occurrence.post(false) } }
    let hasOccurred = await occurrence.next()
    awaited = nil
    if let timer { Loop.shared.cancel(timer) }
    if hasOccurred == false { throw PhoneRefusal("no such event occurred") }
  }

  // MARK: Output

  private func publish(_ event: PhoneEvent) {
    publish(event.json)
    switch event {
    case .disconnected where options.once && !options.playsDay: ending.post(.success(.done))
    case .dayEnded where options.once: ending.post(.success(.done))
    default: break
    }
  }

  private func publish(_ event: JSONObject) {
    write(String(decoding: Self.line(event), as: UTF8.self))
    if let awaited, event["event"] == .string(awaited.event) { awaited.occurrence.post(true) }
  }

  private func reply(_ id: JSONValue?, _ more: JSONObject = [:], error: String? = nil) {
    let outcome: JSONObject = ["ok": .bool(error == nil), "id": id]
    write(JSONValue.object(outcome + more + ["error": error.map { .string($0) }]).text)
  }

  private static func line(_ event: JSONObject) -> [UInt8] {
    var rest = event
    rest["event"] = nil
    let object: JSONObject = ["event": event["event"], "time": .string(WallTime.now.rfc3339)] + rest
    return JSONValue.object(object).json
  }

  /// Above the line being typed, if there is a prompt.
  private func write(_ text: String) {
    if let editor { editor.print(text) } else { output.write(text) }
  }
}
