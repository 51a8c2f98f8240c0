// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import System
import Wire

/// What every client of the daemon can be told.
struct ClientOptions: Sendable {
  /// nil: text on a terminal, else JSON.
  var format: OutputFormat?
  /// The control socket; nil: the default ones.
  var socket: String?
  /// Which phone is meant, where more than one is there.
  var phone: PhoneSelector?
}

extension Grammar {
  /// The options that every client has.
  static func clientOptions(
    _ path: any WritableKeyPath<Options, ClientOptions> & Sendable, phone: Bool = true
  ) -> [CommandOption<Options>] {
    var options: [CommandOption<Options>] = [
      .format(set: { $0[keyPath: path].format = $1 }),
      .socket(set: { $0[keyPath: path].socket = $1 }),
    ]
    if phone {
      options.append(
        .text(
          "--phone", value: "PHONE", expects: "a phone",
          help: "the phone that is meant, by address or name, where there is more than one",
          set: { $0[keyPath: path].phone = PhoneSelector($1) }))
    }
    return options
  }
}

/// A command that talks to the daemon: its arguments, and what it does with them and a connection.
struct ClientCommand<Options: Sendable>: Sendable {
  typealias Body = @Sendable (Options, ControlClient) async throws(Failure) -> ExitStatus

  let grammar: Grammar<Options>
  let defaults: Options
  let body: Body
  /// The command as the program lists it.
  let command: Command

  init(
    _ name: String, _ summary: String, grammar: Grammar<Options>, defaults: Options,
    client path: any KeyPath<Options, ClientOptions> & Sendable, notes: [String] = [],
    body: @escaping Body
  ) {
    self.grammar = grammar
    self.defaults = defaults
    self.body = body
    command = Command(name, summary, grammar: grammar, defaults: defaults, notes: notes) {
      options throws(Failure) in
      var console = Console()
      if let format = options[keyPath: path].format { console.usualFormat = format }
      let printing = console
      return console.onLoop { () async throws(Failure) in
        try await Connection.talk(options[keyPath: path], printing) { client throws(Failure) in
          try await body(options, client)
        }
      }
    }
  }
}

/// Tells when nobody reads standard output any more, as behind `| head`: otherwise that would show
/// only with the next event.
@LoopActor private final class OutputWatch {
  private let descriptor: FileDescriptor
  private var watch: Watch?

  /// nil where standard output is nothing that can be watched, such as a file.
  init?(_ readerGone: @escaping () -> Void) {
    guard let descriptor = try? FileDescriptor.duplicate(of: Standard.output) else { return nil }
    self.descriptor = descriptor
    watch = try? Loop.shared.watch(self.descriptor, for: []) { _ in readerGone() }
    if watch == nil { return nil }
  }

  func cancel() { watch?.cancel() }
}

/// The way to the daemon.
private enum Connection {
  /// Connects, and does `body`.
  @LoopActor static func talk(
    _ options: ClientOptions, _ console: Console,
    _ body: (ControlClient) async throws(Failure) -> ExitStatus
  ) async throws(Failure) -> ExitStatus {
    let socket = try connect(options.socket.map { [$0] } ?? DefaultPaths.sockets)
    defer { socket.close() }
    let client = ControlClient(
      console, send: { socket.send($0) },
      schedule: { duration, action in _ = Loop.shared.schedule(after: duration, action) })
    let inbox = client.inbox
    socket.onLine = { inbox.post(.line($0)) }
    socket.onOverlong = { inbox.post(.closed("it sent a line without end")) }
    socket.onClose = { inbox.post(.closed(sentence($0))) }
    let output = OutputWatch { inbox.post(.readerGone) }
    defer { output?.cancel() }
    // Where signals cannot be caught they end the process, which does no harm here.
    try? Loop.shared.onSignal([.interrupt, .terminate]) { inbox.post(.signal($0)) }
    return try await body(client)
  }

  private static func sentence(_ end: LineSocket.End) -> String {
    switch end {
    case .ended: "the daemon has left"
    case .failed(let errno): "\(errno.text)"
    case .queueFull: "the daemon does not read"
    }
  }

  /// A connection to the first of the places where somebody answers.
  @LoopActor private static func connect(_ paths: [String]) throws(Failure) -> LineSocket {
    var failure: Failure?
    for path in paths {
      do throws(SystemError) {
        return try LineSocket.connect(unix: path, lineLimit: 1 << 24)
      } catch {
        let reason = Failure(connecting: path, error.errno)
        // A daemon that does not let us in says more than one that is not there.
        if failure == nil || reason.status == .noPermission { failure = reason }
      }
    }
    throw failure ?? Failure(.unavailable, "reaching the daemon", "no place to look for it")
  }
}

extension Failure {
  /// Why the daemon's socket can't be reached.
  init(connecting path: String, _ errno: Errno) {
    let what = "reaching the daemon at \(path)"
    switch errno {
    case .noSuchFile, .connectionRefused:
      self.init(
        .unavailable, what, "no daemon runs there",
        remedy: "start it with “ancsd --hci0”, or name its socket with --socket")
    case .permissionDenied, .notPermitted:
      self.init(.noPermission, what, errno.text, remedy: "be root, or join the group ancsd")
    case .wouldBlock:
      self.init(.tryAgain, what, "it is too busy to answer")
    default:
      self.init(.unavailable, what, errno.text)
    }
  }
}
