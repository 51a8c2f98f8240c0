// SPDX-License-Identifier: GPL-3.0-or-later
public import Arguments
public import Control
public import EventLoop
import GATT
import LineEditor
import System
import Wire

/// A run of `ancsd gatt`: one command, or a prompt for many.
@LoopActor
public final class GATTTool {
  let options: GATTOptions
  let radio: any GATTRadio
  let printer: GATTPrinter
  private let console: Console
  private let output = LineWriter(Standard.output)
  private var editor: LineEditor?
  private var shell: GATTShell?
  private var session: GATTSession?
  private let end = Mailbox<End>()

  /// How a run ends.
  private enum End: Sendable {
    case finished(Result<ExitStatus, Failure>)
    case signal(Signal)
    case timeUp
    case readerGone
  }

  /// How long a scan takes that nobody gave a time.
  static let scanTime = Duration.seconds(10)
  /// How long the device has to take the end of its subscriptions.
  private static let farewellTime = Duration.seconds(2)

  public init(_ options: GATTOptions, _ console: Console, _ radio: any GATTRadio) {
    self.options = options
    self.console = console
    self.radio = radio
    // The prompt is for people: it needs a terminal on both sides.
    let editor = options.command == nil ? LineEditor() : nil
    self.editor = editor
    printer = GATTPrinter(
      format: options.format ?? console.usualFormat, valueForm: options.valueForm,
      write: { [output] text in
        if let editor { editor.print(text) } else { output.write(text) }
      },
      writeBytes: { [end] bytes in
        do throws(SystemError) {
          try FileDescriptor.writeAll(bytes, to: Standard.output)
        } catch {
          end.post(.readerGone)
        }
      })
  }

  /// Does it.
  public func run() async -> ExitStatus {
    output.onError = { [end] errno in if errno == .brokenPipe { end.post(.readerGone) } }
    // Where signals cannot be caught they end the process.
    let signals: [Signal] = [.interrupt, .terminate, .windowChange, .continued]
    try? Loop.shared.onSignal(signals) { [unowned self] in take($0) }
    if let timeout = options.timeout, options.command != .scan {
      _ = Loop.shared.schedule(after: timeout) { [end] in end.post(.timeUp) }
    }
    if options.command != nil { radio.ask = Self.askOnTerminal }
    radio.expectsPerson = editor != nil || options.security == .high
    radio.tell = { [unowned self] text in
      if let editor { editor.print(text) } else { Self.writeToStandardError(text + "\n") }
    }
    Loop.start { self.end.post(.finished(await self.attempt())) }
    let status = status(of: await end.next() ?? .timeUp)
    await leave()
    return status
  }

  private func take(_ signal: Signal) {
    switch signal {
    case .windowChange, .continued: editor?.redraw()
    case .interrupt where shell != nil && editor != nil: shell?.interrupt()
    default: end.post(.signal(signal))
    }
  }

  private func status(of end: End) -> ExitStatus {
    switch end {
    case .finished(.success(let status)): return status
    case .finished(.failure(let failure)):
      report(failure)
      return failure.status
    case .signal(let signal): return ExitStatus(signal: signal.rawValue)
    case .readerGone: return .done
    case .timeUp:
      if case .subscribe? = options.command, options.count == nil,
        session?.subscriptions.isEmpty == false
      {
        return .done
      }
      report(Failure(.tryAgain, "gatt", "the time of --timeout is over"))
      return .tryAgain
    }
  }

  /// Says what went wrong, beside the prompt where there is one.
  func report(_ failure: Failure) {
    if let editor { editor.print(failure.line) } else { console.report(failure) }
  }

  private func attempt() async -> Result<ExitStatus, Failure> {
    do throws(Failure) {
      switch options.command {
      case nil:
        let shell = GATTShell(self, editor)
        self.shell = shell
        return .success(try await shell.run())
      case .scan?: try await scan()
      case .unpair?: try await unpair(options.target)
      case let command?:
        guard let target = options.target else {
          throw Failure(.usage, "gatt", "which device?")
        }
        let session = try await connect(target)
        try await session.begin(options.security)
        try await perform(command, session)
      }
      return .success(.done)
    } catch {
      return .failure(error)
    }
  }

  /// Leaves device and adapter as they were found.
  private func leave() async {
    if let session = shell?.session ?? session, session.link.isOpen {
      if !session.subscriptions.isEmpty {
        let timer = Loop.shared.schedule(after: Self.farewellTime) { session.link.close("leaving") }
        // A device that does not take it has lost the link a moment later anyway.
        _ = try? await session.unsubscribe()
        Loop.shared.cancel(timer)
      }
      session.link.close("leaving")
    }
    radio.stopScan()
    await radio.giveBack()
    editor?.hide()
    output.flush(within: .milliseconds(500))
  }

  // MARK: What both ways of working do

  /// A link to a device, and what is done on it.
  func connect(_ target: GATTTarget) async throws(Failure) -> GATTSession {
    let link: GATTLink
    switch target {
    case .socket(let path): link = try GATTLink.connect(unix: path, mtu: options.mtu)
    case .device(let device): link = try await radio.connect(to: device, mtu: options.mtu)
    }
    let session = GATTSession(
      link, printer, prefersIndications: options.prefersIndications,
      isPrompt: options.command == nil,
      report: { [unowned self] in report($0) })
    self.session = session
    return session
  }

  /// How wide a text may be.
  var width: Int { console.style.width ?? 80 }

  /// Says a text to a person: beside the prompt where there is one.
  func say(_ text: String) {
    if let editor { editor.print(text) } else { output.write(text) }
  }

  /// Forgets the keys of a pairing with a device.
  func unpair(_ target: GATTTarget?) async throws(Failure) {
    guard case .device(let device) = target else {
      throw Failure(.usage, "unpair", "which device?", remedy: "a socket is not paired with")
    }
    try await radio.forget(device)
    printer.unpaired(device)
  }

  /// Looks for devices, for a time or until there are enough.
  ///
  /// - Parameter tell: is told each device too.
  func scan(into tell: @escaping (FoundDevice) -> Void = { _ in }) async throws(Failure) {
    var found = FoundDevices()
    let timer = Loop.shared.schedule(after: options.timeout ?? Self.scanTime) { [radio] in
      radio.stopScan()
    }
    defer { Loop.shared.cancel(timer) }
    try await radio.scan { [printer, radio, options] device in
      guard found.devices.count < options.count ?? .max else { return }
      let news = found.add(device)
      tell(device)
      if news.isNews { printer.device(device) }
      if news.isNew, found.devices.count == options.count { radio.stopScan() }
    }
    if let count = options.count, found.devices.count < count {
      throw Failure(.tryAgain, "scan", "\(found.devices.count) of \(count) devices were found")
    }
  }

  /// A command on a link.
  private func perform(_ command: GATTCommand, _ session: GATTSession) async throws(Failure) {
    guard case .subscribe(let references) = command else {
      return try await session.perform(command)
    }
    let news = Mailbox<Result<Void, Failure>>()
    var left = options.count
    session.onValue = { [unowned session] in
      left = left.map { $0 - 1 }
      guard left == 0 else { return }
      session.hasEnough = true
      news.post(.success(()))
    }
    session.link.onEnd = { news.post(.failure(Failure("subscribe", $0))) }
    try await session.subscribe(references)
    try await news.next()?.get()
  }

  private static func writeToStandardError(_ text: String) {
    try? FileDescriptor.writeAll(text.utf8, to: Standard.error)
  }

  /// Asks on standard error and takes the next line of the terminal.
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

extension GATTSession {
  /// A command that is over when it returns, or a subscription that goes on.
  func perform(_ command: GATTCommand) async throws(Failure) {
    switch command {
    case .primary(let type): try await primary(type)
    case .tree: try await tree()
    case .read(let references): try await read(references)
    case .write(let reference, let value, let answered):
      try await write(reference, value, answered: answered)
    case .subscribe(let references): try await subscribe(references)
    case .unsubscribe(let references): try await unsubscribe(references)
    case .mtu: showMTU()
    case .security(let level): try await secure(level)
    case .unpair, .scan, .connect, .disconnect, .help, .quit: break
    }
  }
}
