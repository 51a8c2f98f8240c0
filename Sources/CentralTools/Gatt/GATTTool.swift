// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Arguments
import Control
import EventLoop
import LineEditor
import System
import Wire

/// A run of `ancsd gatt`: one command, or those that are typed at a prompt.
///
/// On a terminal the user edits a line, and Ctrl-C ends the current command. Without a terminal,
/// lines are read as they arrive, so scripts can use it too. The values of subscriptions are printed in between.
@LoopActor final class GATTTool {
  private let options: GATTOptions
  private let radio: KernelRadio
  private let printer: GATTPrinter
  private let console: Console
  private let output = LineWriter(Standard.output)
  /// The prompt is for people: it needs a terminal on both sides.
  private let editor: LineEditor?
  private let end = Mailbox<Result<ExitStatus, Failure>>()
  /// The session on the link, from before its beginning to its end.
  private var session: GATTSession?
  /// The device of the last link.
  private var target: GATTTarget?
  /// Those of all scans.
  private var devices = FoundDevices()

  /// The lines that were typed and not performed yet.
  private let lines = Mailbox<String>()
  /// The next line, if it is the answer to a question.
  private var answer: Mailbox<String>?
  /// The command that is running. Ctrl-C closes its outcome, which nobody waits for then.
  private var current: (command: GATTCommand, outcome: Outcome)?
  /// That of the last command of a script.
  private var status = ExitStatus.done

  private typealias Outcome = Mailbox<Failure?>

  /// How long a scan takes by default.
  private static let scanTime = Duration.seconds(10)
  /// How long the device has to confirm the end of its subscriptions.
  private static let closingTime = Duration.seconds(2)

  /// The file of the prompt's history, in the user's (or root's) own directory; nil if there is
  /// none.
  private static var history: String? {
    let home = Host.variable("HOME").map { "\($0)/.local/state" }
    guard let state = Host.variable("XDG_STATE_HOME") ?? home, state.first == "/" else {
      return nil
    }
    do throws(SystemError) { try Files.makeDirectory("\(state)/ancsd", mode: 0o700) } catch {
      return nil
    }
    return "\(state)/ancsd/gatt_history"
  }

  init(_ options: GATTOptions, _ console: Console) {
    self.options = options
    self.console = console
    radio = KernelRadio { () async throws(Failure) in try await CentralAdapter.open(options.adapter) }
    target = options.target
    let editor = options.command == nil ? LineEditor(history: Self.history) : nil
    self.editor = editor
    printer = GATTPrinter(
      format: console.format, valueForm: options.valueForm,
      write: { [output] text in
        if let editor { editor.print(text) } else { output.write(text) }
      },
      writeBytes: { [end] bytes in
        do throws(SystemError) {
          try FileDescriptor.writeAll(bytes, to: Standard.output)
        } catch { end.post(.success(.done)) }
      })
  }

  /// Performs the command, or runs the prompt.
  func run() async -> ExitStatus {
    output.onError = { [end] errno in if errno == .brokenPipe { end.post(.success(.done)) } }
    // If signals can't be caught, they end the process.
    let signals: [Signal] = [.interrupt, .terminate, .windowChange, .continued]
    try? Loop.shared.onSignal(signals) { [weak self] in self?.handle($0) }
    if let timeout = options.timeout, options.command != .scan {
      _ = Loop.shared.schedule(after: timeout) { [weak self] in self?.handleTimeout() }
    }
    if options.command != nil { radio.ask = Self.askOnTerminal }
    radio.hasUser = editor != nil || options.security == .high
    radio.inform = { [editor] text in
      if let editor { editor.print(text) } else { Self.writeToStandardError(text + "\n") }
    }
    Loop.start {
      do throws(Failure) {
        self.end.post(.success(try await self.perform()))
      } catch { self.end.post(.failure(error)) }
    }
    let status: ExitStatus
    do throws(Failure) {
      status = try await end.next()?.get() ?? .done
    } catch {
      report(error)
      status = error.status
    }
    await leave()
    return status
  }

  private func handle(_ signal: Signal) {
    switch signal {
    case .windowChange, .continued: editor?.redraw()
    case .interrupt where editor != nil: interrupt()
    default: end.post(.success(ExitStatus(signal: signal.rawValue)))
    }
  }

  private func handleTimeout() {
    let isSubscribed = session?.subscriptions.isEmpty == false
    if case .subscribe? = options.command, options.count == nil, isSubscribed {
      end.post(.success(.done))
    } else {
      end.post(.failure(Failure(.tryAgain, "gatt", "timed out (--timeout)")))
    }
  }

  /// Reports a failure, above the prompt if there is one.
  private func report(_ failure: Failure) {
    if let editor { editor.print(failure.line) } else { console.report(failure) }
  }

  private func perform() async throws(Failure) -> ExitStatus {
    switch options.command {
    case nil: return try await performLines()
    case .scan?: try await scan()
    case .unpair?: try await unpair(options.target)
    case let command?:
      guard let target else { throw Failure(usage: "gatt needs a device (--connect)") }
      let session = try await link(to: target)
      self.session = session
      try await session.begin(options.security)
      try await performAlone(command, session)
    }
    return .done
  }

  /// Restores the state of device and adapter.
  private func leave() async {
    if let session, session.link.isOpen {
      if !session.subscriptions.isEmpty {
        let timer = Loop.shared.schedule(after: Self.closingTime) { session.link.close("leaving") }
        // If the device does not confirm it, the link ends a moment later anyway.
        _ = try? await session.unsubscribe()
        Loop.shared.cancel(timer)
      }
      session.link.close("leaving")
    }
    radio.stopScan()
    await radio.restoreAdapter()
    editor?.hide()
    output.flush(within: .milliseconds(500))
    if output.droppedLines > 0, !output.isClosed {
      Console.warn("\(output.droppedLines) lines", "lost, because nobody read standard output")
    }
  }

  // MARK: Shared by single commands and the prompt

  /// Connects to a device, for a session on the link.
  private func link(to target: GATTTarget) async throws(Failure) -> GATTSession {
    let link: GATTLink
    switch target {
    case .socket(let path): link = try GATTLink.connect(unix: path, mtu: options.mtu)
    case .device(let device): link = try await radio.connect(to: device, mtu: options.mtu)
    }
    return GATTSession(
      link, printer, prefersIndications: options.prefersIndications,
      isPrompt: options.command == nil, report: { [weak self] in self?.report($0) })
  }

  /// Forgets the keys of a pairing with a device.
  private func unpair(_ target: GATTTarget?) async throws(Failure) {
    guard case .device(let device) = target else {
      throw Failure(usage: "unpair needs a device", remedy: "a socket has no pairing")
    }
    try await radio.forget(device)
    printer.unpaired(device)
  }

  /// Scans for a time, or until there are enough devices.
  private func scan() async throws(Failure) {
    var found = FoundDevices()
    let timer = Loop.shared.schedule(after: options.timeout ?? Self.scanTime) { [radio] in
      radio.stopScan()
    }
    defer { Loop.shared.cancel(timer) }
    try await radio.scan { [weak self, printer, radio, options] device in
      guard found.devices.count < options.count ?? .max else { return }
      let (isNews, isNew) = found.add(device)
      _ = self?.devices.add(device)
      if isNews { printer.device(device) }
      if isNew, found.devices.count == options.count { radio.stopScan() }
    }
    if let count = options.count, found.devices.count < count {
      throw Failure(.tryAgain, "scan", "\(found.devices.count) of \(count) devices were found")
    }
  }

  /// Performs the only command on a link; a subscription continues until there are enough values.
  private func performAlone(_ command: GATTCommand, _ session: GATTSession) async throws(Failure) {
    guard case .subscribe(let references) = command else {
      return try await session.perform(command)
    }
    let outcome = Mailbox<Result<Void, Failure>>()
    var left = options.count
    session.onValue = { [weak session] in
      left = left.map { $0 - 1 }
      guard left == 0 else { return }
      session?.hasEnough = true
      outcome.post(.success(()))
    }
    session.link.onEnd = { outcome.post(.failure(Failure("subscribe", $0))) }
    try await session.subscribe(references)
    try await outcome.next()?.get()
  }

  private static func writeToStandardError(_ text: String) {
    try? FileDescriptor.writeAll(text.utf8, to: Standard.error)
  }

  /// Asks on standard error and reads the next line of the terminal.
  private static func askOnTerminal(_ question: String) async -> String? {
    guard Terminal.isTerminal(Standard.input) else { return nil }
    writeToStandardError(question + " ")
    let answer = Mailbox<String?>()
    let reader = LineReader(lineLimit: 256)
    reader.onLine = { answer.post(String(decoding: $0, as: UTF8.self)) }
    reader.onEnd = { _ in answer.post(nil) }
    defer { reader.close() }
    return await answer.next() ?? nil
  }

  // MARK: The prompt

  /// Handles Ctrl-C: ends the current command, or else the typed line. A sent request can be cancelled only by ending
  /// the link, and so can a pairing.
  private func interrupt() {
    guard let (command, outcome) = current else {
      editor?.cancelLine()
      return
    }
    current = nil
    outcome.close()
    answer?.close()
    radio.stopScan()
    radio.stopConnecting()
    if case .connect = command {
      // The link that it makes ends with it.
      disconnect()
    } else if let session, command.mayPair || session.link.bearer.isWaiting {
      disconnect()
      printer.disconnected("interrupted")
    }
  }

  /// Performs what is typed until there is no more.
  private func performLines() async throws(Failure) -> ExitStatus {
    let reader = editor == nil ? LineReader() : nil
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
    radio.ask = { [weak self] in await self?.ask($0) }
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

  /// Performs a command and reports its failure; false after the last one.
  ///
  /// - Throws: a failure that ends the run.
  private func perform(_ read: () throws(Failure) -> GATTCommand) async throws(Failure) -> Bool {
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
      report(error)
    }
    return true
  }

  /// Performs a command until it has ended, or Ctrl-C abandons it.
  private func complete(_ command: GATTCommand) async throws(Failure) {
    let outcome = Outcome()
    current = (command, outcome)
    defer { withdrawQuestion() }
    Loop.start { [self] in
      do throws(Failure) {
        try await perform(command, outcome)
        outcome.post(nil)
      } catch { outcome.post(error) }
    }
    guard let failure = await outcome.next() else { return }
    current = nil
    if let failure { throw failure }
  }

  private func perform(_ command: GATTCommand, _ outcome: Outcome) async throws(Failure) {
    switch command {
    case .connect(let target): try await connect(target, outcome)
    case .unpair: try await unpair(session?.link.target ?? target)
    case .scan: try await scan()
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
    let session = try await link(to: target)
    guard current?.outcome === outcome else { return session.link.close("interrupted") }
    self.session = session
    do throws(Failure) {
      try await session.begin(options.security)
    } catch {
      if current?.outcome === outcome { disconnect() }
      throw error
    }
    // Meanwhile Ctrl-C may have ended it.
    guard current?.outcome === outcome, session.link.isOpen else { return }
    session.link.onEnd = { [weak self, weak session] failure in
      guard let self, self.session === session else { return }
      self.session = nil
      printer.disconnected("\(failure)")
      editor?.prompt = prompt
      editor?.redraw()
    }
    printer.connected(target, mtu: session.link.bearer.mtu)
  }

  private func disconnect() {
    session?.link.close("disconnect")
    session = nil
  }

  private func help(_ name: String?) throws(Failure) {
    let forms = GATTCommand.forms
    guard let name else {
      let rows = columns(forms.map { ($0.usage, $0.summary) })
      return printer.write(rows.joined(separator: "\n"))
    }
    guard let form = forms.first(where: { $0.name == name }) else {
      throw Failure(usage: "unknown command “\(name)”", remedy: "“help” lists them")
    }
    printer.write(String(form.help(behind: "", "", width: console.style.width ?? 80).dropLast()))
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

  /// The command that asked is over: what is typed from now on is no answer.
  private func withdrawQuestion() {
    guard let answer else { return }
    answer.close()
    self.answer = nil
    editor?.hide()
    Self.writeToStandardError("\n")
  }
}
