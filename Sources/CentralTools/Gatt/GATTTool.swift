// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import LineEditor
import System
import Wire

/// A run of `ancsd gatt`: one command, or a prompt for many.
@LoopActor final class GATTTool {
  let options: GATTOptions
  let radio: KernelRadio
  let printer: GATTPrinter
  private let console: Console
  private let output = LineWriter(Standard.output)
  private var editor: LineEditor?
  private var shell: GATTShell?
  /// The session on the link, from before its beginning to its end.
  var session: GATTSession?
  private let end = Mailbox<Result<ExitStatus, Failure>>()

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
    radio = KernelRadio(options.adapter)
    // The prompt is for people: it needs a terminal on both sides.
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
        } catch {
          end.post(.success(.done))
        }
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
      } catch {
        self.end.post(.failure(error))
      }
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
    case .interrupt where shell != nil && editor != nil: shell?.interrupt()
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
  func report(_ failure: Failure) {
    if let editor { editor.print(failure.line) } else { console.report(failure) }
  }

  private func perform() async throws(Failure) -> ExitStatus {
    switch options.command {
    case nil:
      let shell = GATTShell(self, editor)
      self.shell = shell
      return try await shell.run()
    case .scan?: try await scan()
    case .unpair?: try await unpair(options.target)
    case let command?:
      guard let target = options.target else {
        throw Failure(usage: "gatt needs a device (--connect)")
      }
      let session = try await connect(target)
      self.session = session
      try await session.begin(options.security)
      try await perform(command, session)
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
    shell = nil
    editor?.hide()
    output.flush(within: .milliseconds(500))
    if output.droppedLines > 0, !output.isClosed {
      Console.warn("\(output.droppedLines) lines", "lost, because nobody read standard output")
    }
  }

  // MARK: Shared by single commands and the prompt

  /// Connects to a device, for a session on the link.
  func connect(_ target: GATTTarget) async throws(Failure) -> GATTSession {
    let link: GATTLink
    switch target {
    case .socket(let path): link = try GATTLink.connect(unix: path, mtu: options.mtu)
    case .device(let device): link = try await radio.connect(to: device, mtu: options.mtu)
    }
    return GATTSession(
      link, printer, prefersIndications: options.prefersIndications,
      isPrompt: options.command == nil, report: { [weak self] in self?.report($0) })
  }

  /// The width of texts, in columns.
  var width: Int { console.style.width ?? 80 }

  /// Forgets the keys of a pairing with a device.
  func unpair(_ target: GATTTarget?) async throws(Failure) {
    guard case .device(let device) = target else {
      throw Failure(usage: "unpair needs a device", remedy: "a socket has no pairing")
    }
    try await radio.forget(device)
    printer.unpaired(device)
  }

  /// Scans for a time, or until there are enough devices.
  ///
  /// - Parameter onDevice: called with each report.
  func scan(onDevice: @escaping (FoundDevice) -> Void = { _ in }) async throws(Failure) {
    var found = FoundDevices()
    let timer = Loop.shared.schedule(after: options.timeout ?? Self.scanTime) { [radio] in
      radio.stopScan()
    }
    defer { Loop.shared.cancel(timer) }
    try await radio.scan { [printer, radio, options] device in
      guard found.devices.count < options.count ?? .max else { return }
      let (isNews, isNew) = found.add(device)
      onDevice(device)
      if isNews { printer.device(device) }
      if isNew, found.devices.count == options.count { radio.stopScan() }
    }
    if let count = options.count, found.devices.count < count {
      throw Failure(.tryAgain, "scan", "\(found.devices.count) of \(count) devices were found")
    }
  }

  /// Performs a command on a link; a subscription continues until there are enough values.
  private func perform(_ command: GATTCommand, _ session: GATTSession) async throws(Failure) {
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
}
