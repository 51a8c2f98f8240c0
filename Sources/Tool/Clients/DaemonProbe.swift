// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
public import Control
import EventLoop
import JSON
import System
public import Wire

/// Single requests to a daemon, at the first of the control sockets that accepts.
enum DaemonProbe {
  /// What a daemon remembers.
  struct Memory: Sendable {
    var timeline: TimelineReport?
    var known: [KnownLink] = []
    var events: [JSONValue] = []
  }

  /// Whether a daemon is running, and its state.
  @LoopActor static func status(_ paths: [String]) async -> BoardFacts.DaemonFacts {
    var facts = BoardFacts.DaemonFacts.none
    for path in paths {
      do throws(SystemError) {
        let socket = try LineSocket.connect(daemon: path)
        defer { socket.close() }
        let report = await ask(ControlMethods.status, ControlClient(Console(), over: socket))
        return report.map { .status($0) } ?? .mute(path: path)
      } catch { if error.errno == .permissionDenied { facts = .closed(path: path) } }
    }
    return facts
  }

  /// What the daemon knows of its links' attributes; nothing if none runs, or none accepts this
  /// user.
  @LoopActor static func links(_ paths: [String]) async -> [KnownLink] {
    await reached(at: paths) { await ask(ControlMethods.knownAttributes, $0)?.elements } ?? []
  }

  /// What a daemon remembers; members without a response stay empty.
  @LoopActor static func memory(_ paths: [String]) async -> Memory {
    await reached(at: paths) { await memory($0) } ?? Memory()
  }

  /// The same over a connection.
  static func memory(_ client: ControlClient) async -> Memory {
    var memory = Memory()
    memory.timeline = await ask(ControlMethods.timeline, client)
    memory.known = await ask(ControlMethods.knownAttributes, client)?.elements ?? []
    // The events since the start follow the response, and the response to the next request follows
    // them.
    _ = try? await client.call(
      ControlMethods.subscribe, Subscription(since: 0), "the events", within: patience)
    _ = await ask(ControlMethods.listPhones, client)
    memory.events = client.keptEvents.compactMap { line in
      RPC.event(in: line).flatMap { try? JSONValue(parsing: Array($0)) }
    }
    return memory
  }

  private static let patience = Duration.seconds(3)

  /// The daemon's response; nil if it refuses, or does not respond in time.
  private static func ask<Response>(
    _ method: ControlMethod<NoParameters, Response>, _ client: ControlClient
  ) async -> Response? { try? await client.call(method, method.name, within: patience) }

  /// Nil if no daemon accepts this user.
  @LoopActor private static func reached<Value>(
    at paths: [String], _ body: @LoopActor (ControlClient) async -> Value?
  ) async -> Value? {
    guard let socket = try? LineSocket.connect(toFirstOf: paths) else { return nil }
    defer { socket.close() }
    return await body(ControlClient(Console(), over: socket))
  }
}

extension Clients {
  /// Asks the daemon how its rules apply to a notification, and returns the result.
  ///
  /// - Parameter socket: the control socket; nil: the default ones.
  @Sendable public static func explainRules(
    _ socket: String?, _ parameters: NotificationParameters,
    _ print: @escaping @Sendable (RuleExplanation) throws(Failure) -> Void
  ) -> ExitStatus {
    asking(socket) { client throws(Failure) in
      try print(
        try await client.call(
          ControlMethods.explainRules, parameters, "rules explain \(parameters.uid)"))
    }
  }

  /// Asks the daemon what its phones are called.
  ///
  /// - Parameter socket: the control socket; nil: the default ones.
  @Sendable @LoopActor public static func phoneNames(_ socket: String?) async -> [Address: String] {
    guard case .status(let status) = await DaemonProbe.status(DefaultPaths.sockets(socket)) else {
      return [:]
    }
    let all =
      status.phones.map { ($0.phone, $0.name) }
      + status.links.compactMap { link in link.phone.map { ($0, link.name) } }
    return all.reduce(into: [:]) { names, phone in
      if let name = phone.1 { names[phone.0] = name }
    }
  }

  /// Asks the daemon which settings are in force, and returns them.
  ///
  /// - Parameter socket: the control socket; nil: the default ones.
  @Sendable public static func settings(
    _ socket: String?, _ print: @escaping @Sendable (SettingsReport) -> Void
  ) -> ExitStatus {
    asking(socket) { client throws(Failure) in
      print(try await client.call(ControlMethods.settings, "asking for the settings"))
    }
  }

  /// Connects to the daemon and sends a request; the exit status is that of the failure.
  private static func asking(
    _ socket: String?,
    _ body: @escaping @Sendable @LoopActor (ControlClient) async throws(Failure) -> Void
  ) -> ExitStatus {
    let console = Console()
    return console.onLoop { () async throws(Failure) in
      let socket = try LineSocket.connect(toFirstOf: DefaultPaths.sockets(socket))
      defer { socket.close() }
      try await body(ControlClient(console, over: socket))
      return .done
    }
  }
}
