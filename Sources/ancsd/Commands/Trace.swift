// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Capture
import Daemon
import EventLoop
import System
import Tool
import Wire

/// `ancsd trace`: the kernel's HCI monitor, until it is told to end.
func traceMonitor(_ options: TraceOptions) throws(Failure) -> ExitStatus {
  let console = Console()
  Loop.start {
    var status: ExitStatus
    do throws(Failure) {
      status = try await Trace(options, console).run()
    } catch {
      console.report(error)
      status = error.status
    }
    Loop.shared.stop(status.rawValue)
  }
  return ExitStatus(rawValue: Loop.shared.run()) ?? .software
}

/// A running trace: packets from the kernel to standard output, and to a file where one is wanted.
@LoopActor
private final class Trace {
  private let monitor: MonitorSocket
  private let output = LineWriter(Standard.output)
  private var printer: CapturePrinter
  private var file: TraceFile?
  private let socket: String?
  private let ending = Mailbox<Result<ExitStatus, Failure>>()

  init(_ options: TraceOptions, _ console: Console) throws(Failure) {
    socket = options.socket
    printer = CapturePrinter(options.filter, options.format, options.clock, console)
    do throws(BluetoothError) {
      monitor = try MonitorSocket()
    } catch {
      throw Failure(Self.status(of: error), "opening the kernel's HCI monitor", "\(error)")
    }
    if let path = options.write { file = try TraceFile(path) }
  }

  /// Traces until a signal comes, the reader leaves, or the file takes no more.
  func run() async throws(Failure) -> ExitStatus {
    do throws(SystemError) {
      try Loop.shared.onSignal([.interrupt, .terminate]) { [ending] signal in
        ending.post(.success(signal == .interrupt ? .interrupted : .terminated))
      }
    } catch {
      throw Failure(.software, "watching for signals", "\(error)")
    }
    output.onError = { [ending] errno in
      ending.post(
        errno == .brokenPipe
          ? .success(.done)
          : .failure(Failure(.cannotCreate, "writing to standard output", errno.text)))
    }
    monitor.onClose = { [ending] errno in
      let why = errno?.text ?? "the kernel closed it"
      ending.post(.failure(Failure(.unavailable, "reading the kernel's HCI monitor", why)))
    }
    // What comes meanwhile waits in the socket.
    await learn()
    monitor.onPacket = { [unowned self] in receive($1, at: $0) }
    let end = await ending.next() ?? .success(.done)
    if case .success = end { monitor.drain() }
    monitor.onPacket = nil
    monitor.close()
    output.flush(within: .milliseconds(500))
    if output.droppedLines > 0 {
      warn("\(output.droppedLines) lines", "left out, since standard output was not read")
    }
    return try end.get()
  }

  /// Links that are up already: the kernel says whose they are, and a daemon that serves them what
  /// it found there.
  private func learn() async {
    guard let links = try? HCIConnection.all(), !links.isEmpty else { return }
    let all = await DaemonProbe.links(socket.map { [$0] } ?? UsualPlaces.sockets)
    for link in links {
      let name = "hci\(link.adapter)"
      let known = all.first { $0.adapter == name && $0.phone == link.peer }
      printer.know(link.peer, handle: link.handle, adapter: link.adapter, known)
      let names =
        known == nil
        ? "its attributes have no names until a discovery goes by"
        : "its attributes have the names that the daemon knows"
      warn("\(name) handle \(link.handle), \(link.peer)", "it was up before; \(names)")
    }
  }

  private func receive(_ packet: [UInt8], at time: WallTime) {
    guard let record = CaptureRecord(monitorPacket: packet, time: CaptureTime(time)) else { return }
    do throws(Failure) {
      try file?.write(record)
    } catch {
      file = nil
      ending.post(.failure(error))
    }
    for line in printer.lines(record) { output.write(line) }
    for warning in printer.takeWarnings() { warn("the monitor", warning) }
  }

  private static func status(of error: BluetoothError) -> ExitStatus {
    switch error.kind {
    case .notPermitted: .noPermission
    case .unsupported, .noAdapter, .link: .unavailable
    case .other: .software
    }
  }
}

/// The file that a trace is written to.
private final class TraceFile {
  private let file: FileDescriptor
  private let path: String

  /// Begins the file; one that is there is replaced. Only its owner may read it: a trace holds the keys
  /// that the kernel hands to the controller.
  init(_ path: String) throws(Failure) {
    self.path = path
    file = try Self.writing(path) { () throws(SystemError) in
      try Files.create(path, mode: 0o600)
    }
    try write(BtsnoopWriter.header)
  }

  func write(_ record: CaptureRecord) throws(Failure) { try write(BtsnoopWriter.record(record)) }

  private func write(_ bytes: [UInt8]) throws(Failure) {
    let number = file.raw
    try Self.writing(path) { () throws(SystemError) in
      try FileDescriptor.writeAll(bytes, to: number)
    }
  }

  private static func writing<Value: ~Copyable>(
    _ path: String, _ body: () throws(SystemError) -> Value
  ) throws(Failure) -> Value {
    do throws(SystemError) {
      return try body()
    } catch {
      throw Failure(
        error.errno == .permissionDenied ? .noPermission : .cannotCreate, "writing \(path)",
        error.errno.text)
    }
  }
}
