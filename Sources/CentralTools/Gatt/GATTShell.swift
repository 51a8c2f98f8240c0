// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Control
import EventLoop
import GAP
import GATT
import LineEditor
import Wire

/// The prompt. It performs commands one after another, and prints the values of subscriptions in
/// between.
///
/// On a terminal the user edits a line, and Ctrl-C ends the current command. Without a terminal,
/// lines are read as they arrive, so scripts can use it too.
@LoopActor final class GATTShell {
  private let tool: GATTTool
  private let editor: LineEditor?
  private let reader: LineReader?
  private var target: GATTTarget?
  private var devices = FoundDevices()
  private let inbox = Mailbox<Input>()
  private var status = ExitStatus.done
  private var current: Running?
  /// Lines that arrived while a command was running.
  private var waiting: [String] = []
  private var hasInputEnded = false

  private enum Input: Sendable {
    case line(String)
    case inputEnded
    case finished(Running, Failure?)
    case interrupted
  }

  private var session: GATTSession? { tool.session }

  /// The command that is running.
  @LoopActor private final class Running {
    /// Whether it makes the link, which then ends with it.
    let connects: Bool
    /// Resumed with the next line, the answer to a question.
    var question: CheckedContinuation<String?, Never>?

    init(_ command: GATTCommand) {
      connects = if case .connect = command { true } else { false }
    }
  }

  init(_ tool: GATTTool, _ editor: LineEditor?) {
    self.tool = tool
    self.editor = editor
    reader = editor == nil ? LineReader() : nil
    target = tool.options.target
  }

  /// Handles Ctrl-C: ends the current command, or else the typed line.
  func interrupt() { if current == nil { editor?.cancelLine() } else { inbox.post(.interrupted) } }

  /// Performs commands until there are no more.
  func run() async throws(Failure) -> ExitStatus {
    editor?.onLine = { [inbox] in inbox.post(.line($0)) }
    editor?.onEnd = { [inbox] in inbox.post(.inputEnded) }
    editor?.complete = { [weak self] in
      GATTCompletion(
        map: self?.session?.map, subscribed: self?.session?.subscriptions.map(\.handle) ?? [],
        devices: self?.devices.devices.map { $0.address.description } ?? []
      ).complete($0)
    }
    reader?.onLine = { [inbox] in inbox.post(.line(String(decoding: $0, as: UTF8.self))) }
    reader?.onEnd = { [inbox] _ in inbox.post(.inputEnded) }
    defer { reader?.close() }
    tool.radio.ask = { [weak self] in await self?.ask($0) }
    if target != nil { start(.connect(nil)) }
    while true {
      if current == nil, try !startNext() { return status }
      switch await inbox.next() {
      case .line(let line) where current?.question != nil: resumeQuestion(line)
      case .line(let line): waiting.append(line)
      case .finished(let command, let failure) where command === current:
        current = nil
        if let failure { try handle(failure) }
      case .finished: break
      case .interrupted: abandon()
      case .inputEnded, nil:
        hasInputEnded = true
        resumeQuestion(nil)
      }
    }
  }

  /// Starts the next command that was typed, or asks for one; false if there will be none.
  private func startNext() throws(Failure) -> Bool {
    while current == nil, !waiting.isEmpty {
      if try !perform(line: waiting.removeFirst()) { return false }
    }
    guard current == nil else { return true }
    if hasInputEnded { return false }
    editor?.prompt = prompt
    editor?.show()
    return true
  }

  private func resumeQuestion(_ answer: String?) {
    let question = current?.question
    current?.question = nil
    question?.resume(returning: answer)
  }

  private var prompt: String {
    switch session?.link.target {
    case .device(let device)?: "[\(device)]> "
    case .socket(let path)?: "[\(path)]> "
    case nil: "[not connected]> "
    }
  }

  // MARK: Commands

  /// Performs the command on a line, or starts it; false after the last one.
  private func perform(line: String) throws(Failure) -> Bool {
    let words = CommandLineWords.split(line)
    guard !words.isEmpty, words[0].first != "#" else { return true }
    do throws(Failure) {
      switch try GATTCommand(words, prompt: true) {
      case .quit: return false
      case .help(let name): try help(name)
      case .disconnect: disconnect()
      case let command: start(command)
      }
    } catch {
      try handle(error)
    }
    return true
  }

  private func start(_ command: GATTCommand) {
    let running = Running(command)
    current = running
    Loop.start { [self] in
      var failure: Failure?
      do throws(Failure) {
        try await perform(command, running)
      } catch {
        failure = error
      }
      inbox.post(.finished(running, failure))
    }
  }

  private func perform(_ command: GATTCommand, _ running: Running) async throws(Failure) {
    switch command {
    case .connect(let target): try await connect(target, running)
    case .unpair: try await tool.unpair(session?.link.target ?? target)
    case .scan: try await tool.scan { [weak self] in _ = self?.devices.add($0) }
    default:
      guard let session else {
        throw Failure(
          .usage, "gatt", "not connected", remedy: "“connect ADDRESS[/random]” connects")
      }
      try await session.perform(command)
    }
  }

  private func connect(_ wanted: GATTTarget?, _ running: Running) async throws(Failure) {
    guard let target = wanted ?? target else {
      throw Failure(usage: "connect needs a device", remedy: "“scan” finds those that advertise")
    }
    self.target = target
    disconnect()
    let session = try await tool.connect(target)
    guard current === running else { return session.link.close("interrupted") }
    tool.session = session
    do throws(Failure) {
      try await session.begin(tool.options.security)
    } catch {
      if current === running { disconnect() }
      throw error
    }
    // Meanwhile Ctrl-C may have ended it.
    guard current === running, session.link.isOpen else { return }
    session.link.onEnd = { [weak self, weak session] failure in
      guard let self, self.session === session else { return }
      tool.session = nil
      tool.printer.disconnected("\(failure)")
      editor?.prompt = prompt
      editor?.redraw()
    }
    tool.printer.connected(target, mtu: session.link.bearer.mtu)
  }

  private func disconnect() {
    session?.link.close("disconnect")
    tool.session = nil
  }

  /// Ends the current command. A sent request can be cancelled only by ending the link.
  private func abandon() {
    guard let running = current else { return }
    resumeQuestion(nil)
    current = nil
    tool.radio.stopScan()
    tool.radio.stopConnecting()
    if running.connects {
      disconnect()
    } else if let session, session.link.bearer.isWaiting {
      disconnect()
      tool.printer.disconnected("interrupted")
    }
  }

  /// Reports a failure. It is thrown if that ends the shell.
  private func handle(_ failure: Failure) throws(Failure) {
    status = editor == nil ? failure.status : .done
    // Without a device a script can do nothing more.
    if editor == nil, session == nil, failure.status != .usage { throw failure }
    tool.report(failure)
  }

  private func help(_ name: String?) throws(Failure) {
    let forms = GATTCommand.forms
    guard let name else {
      let rows = columns(forms.map { ($0.usage, $0.summary) })
      return tool.printer.write(rows.joined(separator: "\n"))
    }
    guard let form = forms.first(where: { $0.name == name }) else {
      throw Failure(usage: "unknown command “\(name)”", remedy: "“help” lists them")
    }
    tool.printer.write(String(form.help(behind: "", "", width: tool.width).dropLast()))
  }

  /// Asks the user a question of the radio, while pairing.
  private func ask(_ question: String) async -> String? {
    guard current != nil, let editor else { return nil }
    editor.prompt = question + " "
    editor.show()
    return await withCheckedContinuation { current?.question = $0 }
  }
}

/// Completion at the prompt: commands, the attributes of this device, and the devices that were
/// found.
struct GATTCompletion {
  /// The attributes, if they were discovered already.
  var map: AttributeMap?
  var subscribed: [Handle] = []
  /// The devices that were found, as they are written.
  var devices: [String] = []

  /// - Parameter text: the line up to the cursor.
  func complete(_ text: String) -> Completion {
    let (words, typed) = CommandLineWords.beforeCursor(text)
    let candidates =
      words.first.map { operands(of: $0, words.count) } ?? GATTCommand.forms.map(\.name)
    let fitting = candidates.filter { $0.lowercased().hasPrefix(typed.lowercased()) }
    // Differences in case are corrected only if nothing matches exactly.
    let exact = fitting.filter { $0.hasPrefix(typed) }
    let found = exact.isEmpty ? fitting : exact
    return Completion(
      typed: typed.count, words: found, titles: titles.filter { found.contains($0.key) })
  }

  /// The names of the attributes, shown next to their handles and types.
  private var titles: [String: String] {
    var titles: [String: String] = [:]
    for attribute in map?.attributes ?? [] {
      guard let name = AssignedNumbers.name(of: attribute.type) else { continue }
      titles[hexadecimal(attribute.handle)] = name
      titles[attribute.type.description] = name
    }
    return titles
  }

  private func operands(of command: String, _ place: Int) -> [String] {
    switch command {
    case "read", "subscribe": attributes
    case "write", "write-command": place == 1 ? attributes : []
    case "unsubscribe": subscribed.map { hexadecimal($0) }
    case "security": GATTSecurity.allCases.map(\.rawValue)
    case "connect": place == 1 ? devices : []
    case "help": place == 1 ? GATTCommand.forms.map(\.name) : []
    default: []
    }
  }

  /// The handles of values and descriptors, and their types, each once, by number and by name; all names that are known
  /// as long as there is no tree.
  private var attributes: [String] {
    guard let map else { return AssignedNumbers.attributeNames }
    let declarations: Set<UUID> = [.primaryService, .secondaryService, .include, .characteristic]
    let values = map.attributes.filter { !declarations.contains($0.type) }
    var types: [String] = []
    for value in values where !types.contains(value.type.description) {
      types.append(value.type.description)
    }
    let names = values.compactMap {
      AssignedNumbers.name(of: $0.type).map(AssignedNumbers.typedName)
    }
    return values.map { hexadecimal($0.handle) } + types + Set(names).sorted()
  }
}
