// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import JSON
import System
import Wire

/// The daemon, as seen through its control socket.
package enum DaemonState: Hashable, Sendable {
  /// None is running.
  case none
  /// One is running, but refuses this user.
  case closed(path: String)
  /// One is running, but does not respond.
  case mute(path: String)
  case status(StatusReport)
}

/// Single requests to a daemon, at the first of the control sockets that accepts.
package enum DaemonProbe {
  /// What a daemon remembers.
  package struct Memory: Sendable {
    package var timeline: TimelineReport?
    package var known: [KnownLink] = []
    package var events: [JSONValue] = []

    package init() {}
  }

  /// Whether a daemon is running, and its state.
  @LoopActor package static func status(_ paths: [String]) async -> DaemonState {
    var facts = DaemonState.none
    for path in paths {
      let client = ControlClient(Console(), toFirstOf: [path])
      defer { client.close() }
      switch await status(client, at: path) {
      case .none: break
      case .closed: facts = .closed(path: path)
      case .mute: return .mute(path: path)
      case .status(let report): return .status(report)
      }
    }
    return facts
  }

  /// The same over a connection, which this makes.
  static func status(_ client: ControlClient, at path: String) async -> DaemonState {
    var isReached = false
    do throws(Failure) {
      try client.connect()
      isReached = true
      return .status(try await client.call(ControlMethods.status, "status", within: patience))
    } catch {
      // It may accept every connection, and then say whom it serves.
      if error.status == .noPermission { return .closed(path: path) }
      return isReached ? .mute(path: path) : .none
    }
  }

  /// What the daemon knows of its links' attributes; nothing if none runs, or none accepts this
  /// user.
  @LoopActor package static func links(_ paths: [String]) async -> [KnownLink] {
    await reached(at: paths) { await ask(ControlMethods.knownAttributes, $0)?.elements } ?? []
  }

  /// What a daemon remembers; members without a response stay empty.
  @LoopActor package static func memory(_ paths: [String]) async -> Memory {
    await reached(at: paths) { await memory($0) } ?? Memory()
  }

  /// The same over a connection.
  package static func memory(_ client: ControlClient) async -> Memory {
    var memory = Memory()
    memory.timeline = await ask(ControlMethods.timeline, client)
    memory.known = await ask(ControlMethods.knownAttributes, client)?.elements ?? []
    // The events since the start follow the response, and the response to the next request follows
    // them.
    _ = try? await client.call(ControlMethods.subscribe, Subscription(since: 0), "the events", within: patience)
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
    let client = ControlClient(Console(), toFirstOf: paths)
    defer { client.close() }
    return (try? client.connect()) == nil ? nil : await body(client)
  }
}

extension Clients {
  /// Asks the daemon how its rules apply to a notification, and returns the result.
  ///
  /// - Parameter socket: the control socket; nil: the default ones.
  @Sendable package static func explainRules(
    _ socket: String?, _ parameters: NotificationParameters,
    _ print: @escaping @Sendable (RuleExplanation) throws(Failure) -> Void
  ) -> ExitStatus {
    asking(socket) { client throws(Failure) in
      try print(try await client.call(ControlMethods.explainRules, parameters, "rules explain \(parameters.uid)"))
    }
  }

  /// Asks the daemon what its phones are called.
  ///
  /// - Parameter socket: the control socket; nil: the default ones.
  @Sendable @LoopActor package static func phoneNames(_ socket: String?) async -> [Address: String] {
    guard case .status(let status) = await DaemonProbe.status(DefaultPaths.sockets(socket)) else {
      return [:]
    }
    return status.knownPhones.reversed().reduce(into: [:]) { names, phone in
      if let address = phone.address, let name = phone.name { names[address] = name }
    }
  }

  /// Asks the daemon which settings are in force, and returns them.
  ///
  /// - Parameter socket: the control socket; nil: the default ones.
  @Sendable package static func settings(
    _ socket: String?, _ print: @escaping @Sendable (SettingsReport) throws(Failure) -> Void
  ) -> ExitStatus {
    asking(socket) { client throws(Failure) in
      try print(try await client.call(ControlMethods.settings, "asking for the settings"))
    }
  }

  /// Connects to the daemon and sends a request; the exit status is that of the failure.
  private static func asking(
    _ socket: String?,
    _ body: @escaping @Sendable @LoopActor (ControlClient) async throws(Failure) -> Void
  ) -> ExitStatus {
    let console = Console()
    return console.onLoop { () async throws(Failure) in
      let client = ControlClient(console, toFirstOf: DefaultPaths.sockets(socket))
      defer { client.close() }
      try client.connect()
      try await body(client)
      return .done
    }
  }
}
