// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Capture
import Control
import ControlClients
import EventLoop
import System
import Wire

extension Command {
  /// `ancsd trace`: the kernel's HCI monitor, decoded live.
  package static let trace = Command(
    "trace", "decodes the kernel's HCI monitor live, or writes it as btsnoop", grammar: .trace, defaults: .trace,
    notes: [
      "Shows what every adapter sends and receives until you interrupt it. Attribute names come "
        + "from the discovery that it sees; for a link that was up before, from the daemon, "
        + "if it serves the link. A line on standard error says which.",
      "Exit status: 130 (SIGINT), 143 (SIGTERM); 64 for a wrong command line, 69 without "
        + "Bluetooth in the kernel, 73 for a file that can't be written, 77 without permission.",
    ],
    examples: [
      "--ancs",
      "--write session.btsnoop --capture-limit 64",
      "--html session.html",
    ],
    run: { options throws(Failure) in
      let console = try Console(options.output)
      return console.onLoop { () async throws(Failure) in
        let trace = try Trace(options, console, Trace.Environment())
        try attempt(
          try Loop.shared.onSignal([.interrupt, .terminate]) {
            trace.stop(ExitStatus(signal: $0.rawValue))
          }
        ) { (error: SystemError) in Failure(.software, "watching for signals", "\(error)") }
        return try await trace.run()
      }
    })
}

extension Grammar<CaptureOptions> {
  static let trace = Grammar(
    CommandOption.filters + CommandOption.pages + [
      .file(
        "--write", short: "-w", help: "write everything to this file, in btsnoop's monitor format",
        set: { $0.write = $1 }),
      .captureLimit(help: "end the capture or page at this file size in MiB (default: 256)", set: { $0.limit = $1 }),
      .socket(set: { $0.socket = $1 }),
    ] + CommandOption.clocks + CommandOption.output)
}

extension CaptureOptions {
  static var trace: CaptureOptions { CaptureOptions(limit: CaptureFile.usualLimit) }
}

/// The source of a trace's packets.
protocol PacketMonitor: AnyObject {
  /// Called with each packet and its time. Setting it begins reading.
  var onPacket: ((WallTime, [UInt8]) -> Void)? { get set }
  /// Called once if the source ends.
  var onClose: ((Errno?) -> Void)? { get set }
  /// Reads the packets up to now.
  func drain()
  func close()
}

extension MonitorSocket: PacketMonitor {}

/// A running trace: packets from the kernel to standard output, and to a file.
@LoopActor final class Trace {
  /// The parts of the system that a trace needs; by default the kernel's, and a daemon's.
  @LoopActor struct Environment {
    var openMonitor: () throws(BluetoothError) -> any PacketMonitor = {
      () throws(BluetoothError) in try MonitorSocket()
    }
    /// The links that are up.
    var links: () -> [HCIConnection] = { (try? HCIConnection.all()) ?? [] }
    /// What daemons at these control sockets know about their links.
    var knownLinks: @LoopActor ([String]) async -> [KnownLink] = DaemonProbe.links
    var output = LineWriter(Standard.output)
    /// Takes the subject and the text of a warning.
    var warn: (String, String) -> Void = Console.warn
  }

  private let environment: Environment
  private let monitor: any PacketMonitor
  private let socket: String?
  private var printer: CapturePrinter
  private var file: CaptureFile?
  private let ending = Mailbox<Result<ExitStatus, Failure>>()

  init(_ options: CaptureOptions, _ console: Console, _ environment: Environment) throws(Failure) {
    self.environment = environment
    socket = options.socket
    printer = try CapturePrinter(options, of: "the kernel’s monitor", console)
    monitor = try attempt(try environment.openMonitor()) { (error: BluetoothError) in
      Failure("opening the kernel's HCI monitor", error)
    }
    guard let path = options.write else { return }
    file = try attempt(
      try CaptureFile(path, limit: options.limit, isForced: options.isForced)
    ) { Self.failure($0, path) }
  }

  /// Traces until `stop`, until nobody reads standard output, or until the file cannot be written.
  func run() async throws(Failure) -> ExitStatus {
    let output = environment.output
    output.onError = { [ending] errno in
      ending.post(
        errno == .brokenPipe
          ? .success(.done) : .failure(Failure(.cannotCreate, "writing to standard output", errno.text)))
    }
    monitor.onClose = { [ending] errno in
      let why = errno?.text ?? "the kernel closed it"
      ending.post(.failure(Failure(.unavailable, "reading the kernel's HCI monitor", why)))
    }
    // Meanwhile packets wait in the socket.
    await addLinks()
    monitor.onPacket = { [weak self] in self?.receive($1, at: $0) }
    let end = await ending.next() ?? .success(.done)
    if case .success = end { monitor.drain() }
    monitor.onPacket = nil
    monitor.close()
    output.flush(within: .milliseconds(500))
    try printer.page?.finish()
    if output.droppedLines > 0 {
      environment.warn("\(output.droppedLines) lines", "lost, because nobody read standard output")
    }
    return try end.get()
  }

  /// Ends the trace.
  func stop(_ status: ExitStatus) { ending.post(.success(status)) }

  /// Adds the links that are up: their addresses from the kernel, their attributes from a daemon that
  /// serves them.
  private func addLinks() async {
    let links = environment.links()
    guard !links.isEmpty else { return }
    let all = await environment.knownLinks(DefaultPaths.sockets(socket))
    for link in links {
      let name = "hci\(link.adapter)"
      let known = all.first { $0.adapter == name && $0.phone == link.peer }
      printer.decoder.addLink(
        to: link.peer, handle: link.handle, adapter: link.adapter, remote: known?.services ?? [],
        local: known?.board ?? [])
      let names =
        known == nil
        ? "its attributes have no names until a discovery is seen"
        : "its attributes have the names that the daemon knows"
      environment.warn("\(name) handle \(link.handle), \(link.peer)", "it was up before; \(names)")
    }
  }

  private func receive(_ packet: [UInt8], at time: WallTime) {
    guard let record = CaptureRecord(monitorPacket: packet, time: time) else { return }
    do throws(SystemError) {
      try file?.write(record)
    } catch {
      file = nil
      ending.post(.failure(Self.failure(error, "the capture")))
    }
    do throws(Failure) {
      let (lines, warning) = try printer.print(record)
      for line in lines { environment.output.write(line) }
      guard let warning else { return }
      environment.warn("the monitor", warning)
      printer.page?.warn(warning)
    } catch { ending.post(.failure(error)) }
  }

  private static func failure(_ error: SystemError, _ path: String) -> Failure {
    var failure = Failure(writing: path, error)
    if error.errno == .fileTooLarge { failure.why = CaptureFile.sentence(error) }
    return failure
  }
}
