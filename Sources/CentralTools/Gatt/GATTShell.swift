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
  private var status = ExitStatus.done
  /// The lines that were typed and not performed yet.
  private let lines = Mailbox<String>()
  /// The next line, if it is the answer to a question.
  private var answer: Mailbox<String>?
  /// The command that is running. Ctrl-C closes its outcome, which nobody waits for then.
  private var current: (command: GATTCommand, outcome: Outcome)?

  private typealias Outcome = Mailbox<Failure?>

  private var session: GATTSession? { tool.session }

  init(_ tool: GATTTool, _ editor: LineEditor?) {
    self.tool = tool
    self.editor = editor
    reader = editor == nil ? LineReader() : nil
    target = tool.options.target
  }

  /// Handles Ctrl-C: ends the current command, or else the typed line. A sent request can be cancelled only by ending
  /// the link.
  func interrupt() {
    guard let (command, outcome) = current else {
      editor?.cancelLine()
      return
    }
    current = nil
    outcome.close()
    answer?.close()
    tool.radio.stopScan()
    tool.radio.stopConnecting()
    if case .connect = command {
      // The link that it makes ends with it.
      disconnect()
    } else if let session, session.link.bearer.isWaiting {
      disconnect()
      tool.printer.disconnected("interrupted")
    }
  }

  /// Performs commands until there are no more.
  func run() async throws(Failure) -> ExitStatus {
    editor?.onLine = { [weak self] in self?.received($0) }
    editor?.onEnd = { [weak self] in self?.inputEnded() }
    editor?.complete = { [weak self] in
      GATTCompletion(
        map: self?.session?.map, subscribed: self?.session?.subscriptions.map(\.handle) ?? [],
        devices: self?.devices.devices.map { $0.address.description } ?? []
      ).complete($0)
    }
    reader?.onLine = { [weak self] in self?.received(String(decoding: $0, as: UTF8.self)) }
    reader?.onEnd = { [weak self] _ in self?.inputEnded() }
    defer { reader?.close() }
    tool.radio.ask = { [weak self] in await self?.ask($0) }
    var goesOn = true
    if target != nil { goesOn = try await perform { .connect(nil) } }
    while goesOn, let line = await nextLine() {
      let words = CommandLineWords.split(line)
      guard !words.isEmpty, words[0].first != "#" else { continue }
      goesOn = try await perform { () throws(Failure) in try GATTCommand(words, prompt: true) }
    }
    return status
  }

  private func received(_ line: String) { (answer ?? lines).post(line) }

  private func inputEnded() {
    lines.close()
    answer?.close()
  }

  private func nextLine() async -> String? {
    editor?.prompt = prompt
    editor?.show()
    return await lines.next()
  }

  private var prompt: String {
    switch session?.link.target {
    case .device(let device)?: "[\(device)]> "
    case .socket(let path)?: "[\(path)]> "
    case nil: "[not connected]> "
    }
  }

  // MARK: Commands

  /// Performs a command and reports its failure; false after the last one.
  ///
  /// - Throws: a failure that ends the shell.
  private func perform(
    _ read: () throws(Failure) -> GATTCommand
  ) async throws(Failure) -> Bool {
    do throws(Failure) {
      switch try read() {
      case .quit: return false
      case .help(let name): try help(name)
      case .disconnect: disconnect()
      case let command: try await complete(command)
      }
    } catch {
      status = editor == nil ? error.status : .done
      // Without a device a script can do nothing more.
      if editor == nil, session == nil, error.status != .usage { throw error }
      tool.report(error)
    }
    return true
  }

  /// Performs a command until it has ended, or Ctrl-C abandons it.
  private func complete(_ command: GATTCommand) async throws(Failure) {
    let outcome = Outcome()
    current = (command, outcome)
    Loop.start { [self] in
      do throws(Failure) {
        try await perform(command, outcome)
        outcome.post(nil)
      } catch {
        outcome.post(error)
      }
    }
    guard let failure = await outcome.next() else { return }
    current = nil
    if let failure { throw failure }
  }

  private func perform(_ command: GATTCommand, _ outcome: Outcome) async throws(Failure) {
    switch command {
    case .connect(let target): try await connect(target, outcome)
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

  private func connect(_ wanted: GATTTarget?, _ outcome: Outcome) async throws(Failure) {
    guard let target = wanted ?? target else {
      throw Failure(usage: "connect needs a device", remedy: "“scan” finds those that advertise")
    }
    self.target = target
    disconnect()
    let session = try await tool.connect(target)
    guard current?.outcome === outcome else { return session.link.close("interrupted") }
    tool.session = session
    do throws(Failure) {
      try await session.begin(tool.options.security)
    } catch {
      if current?.outcome === outcome { disconnect() }
      throw error
    }
    // Meanwhile Ctrl-C may have ended it.
    guard current?.outcome === outcome, session.link.isOpen else { return }
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
    let answer = Mailbox<String>()
    self.answer?.close()
    self.answer = answer
    editor.prompt = question + " "
    editor.show()
    defer { if self.answer === answer { self.answer = nil } }
    return await answer.next()
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
