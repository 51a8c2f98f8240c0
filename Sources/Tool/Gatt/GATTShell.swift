// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Arguments
import Control
import EventLoop
import LineEditor
import System
import Wire

/// The prompt: commands one after the other, values of subscriptions in between.
///
/// On a terminal a line is edited, and Ctrl-C ends what is under way; elsewhere lines are read as they
/// come, so that a script can type too.
@LoopActor
final class GATTShell {
  private unowned let tool: GATTTool
  private let editor: LineEditor?
  private let reader: LineReader?
  private(set) var session: GATTSession?
  private var target: GATTTarget?
  private var devices = FoundDevices()
  private var task: Running?
  private let inbox = Mailbox<News>()
  private var status = ExitStatus.done

  private enum News: Sendable {
    case line(String)
    /// Nothing more is typed.
    case end
    case finished(Int, Failure?)
    case interrupted
  }

  /// A command under way.
  private struct Running {
    var number: Int
    /// Takes the next line as the answer to a question.
    var question: CheckedContinuation<String?, Never>?
  }
  private var lastNumber = 0
  /// Lines that came while a command was under way.
  private var waiting: [String] = []
  private var hasEnded = false

  init(_ tool: GATTTool, _ editor: LineEditor?) {
    self.tool = tool
    self.editor = editor
    reader = editor == nil ? LineReader() : nil
    target = tool.options.target
  }

  /// Ctrl-C: ends what is under way, else the line that is typed.
  func interrupt() {
    if task == nil { editor?.cancelLine() } else { inbox.post(.interrupted) }
  }

  /// Takes commands until there are no more.
  func run() async throws(Failure) -> ExitStatus {
    editor?.onLine = { [inbox] in inbox.post(.line($0)) }
    editor?.onEnd = { [inbox] in inbox.post(.end) }
    editor?.complete = { [unowned self] in
      GATTCompletion(session: session, devices: devices.devices).complete($0)
    }
    reader?.onLine = { [inbox] in inbox.post(.line(String(decoding: $0, as: UTF8.self))) }
    reader?.onEnd = { [inbox] _ in inbox.post(.end) }
    defer { reader?.close() }
    tool.radio.ask = { [unowned self] in await ask($0) }
    if target != nil { start(.connect(nil)) }
    while true {
      if task == nil, try !goOn() { return status }
      switch await inbox.next() {
      case .line(let line): take(typed: line)
      case .finished(let number, let failure) where number == task?.number:
        task = nil
        if let failure { try failed(failure) }
      case .finished: break
      case .interrupted: abandon()
      case .end, nil:
        hasEnded = true
        answer(nil)
      }
    }
  }

  /// Takes the next line that is there already, or asks for one; false where there will be none.
  private func goOn() throws(Failure) -> Bool {
    while task == nil, !waiting.isEmpty {
      if try isLast(waiting.removeFirst()) { return false }
    }
    guard task == nil else { return true }
    if hasEnded { return false }
    editor?.prompt = prompt
    editor?.show()
    return true
  }

  /// A line: the answer to a question, or a command, which waits for those before it.
  private func take(typed line: String) {
    if task?.question != nil { answer(line) } else { waiting.append(line) }
  }

  private func answer(_ line: String?) {
    let question = task?.question
    task?.question = nil
    question?.resume(returning: line)
  }

  private var prompt: String {
    switch session?.link.target {
    case .device(let device)?: "[\(device)]> "
    case .socket(let path)?: "[\(path)]> "
    case nil: "[not connected]> "
    }
  }

  // MARK: Commands

  /// Does what a line says, or begins to; answers whether it was the last.
  private func isLast(_ line: String) throws(Failure) -> Bool {
    let words = CommandLineWords.split(line)
    guard !words.isEmpty, words[0].first != "#" else { return false }
    do throws(Failure) {
      switch try GATTCommand(words, prompt: true) {
      case .quit: return true
      case .help(let name): try help(name)
      case .disconnect: disconnect()
      case let command: start(command)
      }
    } catch {
      try failed(error)
    }
    return false
  }

  private func start(_ command: GATTCommand) {
    lastNumber += 1
    let number = lastNumber
    task = Running(number: number)
    Loop.start { [self] in
      var failure: Failure?
      do throws(Failure) { try await perform(command, number) } catch { failure = error }
      inbox.post(.finished(number, failure))
    }
  }

  private func perform(_ command: GATTCommand, _ number: Int) async throws(Failure) {
    switch command {
    case .connect(let target): try await connect(target, number)
    case .unpair: try await tool.unpair(session?.link.target ?? target)
    case .scan: try await tool.scan(into: { [unowned self] in _ = devices.add($0) })
    default:
      guard let session else {
        throw Failure(
          .usage, "gatt", "not connected", remedy: "“connect ADDRESS[/random]” connects")
      }
      try await session.perform(command)
    }
  }

  private func connect(_ wanted: GATTTarget?, _ number: Int) async throws(Failure) {
    guard let target = wanted ?? target else {
      throw Failure(.usage, "connect", "which device?", remedy: "“scan” finds those that advertise")
    }
    self.target = target
    disconnect()
    let session = try await tool.connect(target)
    guard task?.number == number else { return session.link.close("interrupted") }
    try await session.begin(tool.options.security)
    guard session.link.isOpen else { return }
    self.session = session
    session.link.onEnd = { [weak self, weak session] failure in
      guard let self, self.session === session else { return }
      self.session = nil
      tool.printer.disconnected("\(failure)")
      editor?.prompt = prompt
      editor?.redraw()
    }
    tool.printer.connected(target, mtu: session.link.bearer.mtu)
  }

  private func disconnect() {
    session?.link.close("disconnect")
    session = nil
  }

  /// Ends what is under way. A request that is out cannot be taken back: only the end of the link ends it.
  private func abandon() {
    guard task != nil else { return }
    answer(nil)
    self.task = nil
    tool.radio.stopScan()
    tool.radio.stopConnecting()
    if let session, session.link.bearer.isWaiting {
      disconnect()
      tool.printer.disconnected("interrupted")
    }
  }

  /// A command that failed: said, and the next one is taken.
  private func failed(_ failure: Failure) throws(Failure) {
    status = editor == nil ? failure.status : .done
    // Without its device a script has nothing left to do.
    if editor == nil, session == nil, failure.status != .usage { throw failure }
    tool.report(failure)
  }

  private func help(_ name: String?) throws(Failure) {
    let forms = GATTCommand.forms
    guard let name else {
      let width = (forms.map(\.usage.count).max() ?? 0) + 2
      return tool.say(
        forms.map { form in
          form.usage + String(repeating: " ", count: width - form.usage.count) + form.summary
        }.joined(separator: "\n"))
    }
    guard let form = forms.first(where: { $0.name == name }) else {
      throw Failure(.usage, name, "unknown command", remedy: "“help” lists them")
    }
    tool.say(String(form.help(behind: "", "", width: tool.width).dropLast()))
  }

  /// A question of the radio's, while pairing.
  private func ask(_ question: String) async -> String? {
    guard task != nil, let editor else { return nil }
    editor.prompt = question + " "
    editor.show()
    return await withCheckedContinuation { task?.question = $0 }
  }
}
