// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import GAP
import GATT
import TestLoop
import Testing
import Wire

@testable import VirtualPhone

/// A phone on a virtual link, with a plain GATT client at the other end that uses only the values of ANCS
/// and AMS.
final class Bench {
  let phone: VirtualPhone
  let clock: HandClock
  private(set) var link: VirtualLink
  private(set) var bearer: Bearer
  private(set) var client: Client
  /// The phone's events.
  private(set) var events: [PhoneEvent] = []
  /// The values of the Notification Source.
  private(set) var source: [NotificationEvent] = []
  /// The values of the Data Source.
  private(set) var data: [[UInt8]] = []
  /// The values of Entity Update.
  private(set) var updates: [EntityUpdate] = []
  /// The values of Remote Command.
  private(set) var commands: [[RemoteCommand]] = []
  /// Why the link ended.
  private(set) var end: String?
  /// The services that the client has subscribed to.
  private var services: [UUID: LocatedService] = [:]

  /// A link that is up; `mtu` is the client's receive MTU.
  ///
  /// - Parameter profile: by default a phone that does nothing unasked.
  init(
    _ loop: isolated TestLoop, mtu: Int = 185, profile: PhoneProfile = .ideal,
    _ configuration: VirtualPhone.Configuration = .init()
  ) {
    var configuration = configuration
    configuration.profile = profile
    clock = loop.clock
    phone = VirtualPhone(configuration, scheduler: loop.clock)
    link = VirtualLink(scheduler: loop.clock)
    bearer = Bearer(scheduler: loop.clock, receiveMTU: mtu)
    client = Client(bearer)
    phone.onEvent = { [unowned self] in events.append($0) }
    join()
  }

  /// Runs a test with a bench.
  static func run(
    mtu: Int = 185, profile: PhoneProfile = .ideal, _ configuration: VirtualPhone.Configuration = .init(),
    _ test: @escaping @Sendable (isolated TestLoop, Bench) async throws -> Void
  ) throws {
    try TestLoop.run { loop in
      try await test(loop, Bench(loop, mtu: mtu, profile: profile, configuration))
    }
  }

  /// A new link to the same phone, if it accepts one.
  @discardableResult
  func reconnect() -> Bool {
    link = VirtualLink(scheduler: clock)
    bearer = Bearer(scheduler: clock, receiveMTU: bearer.receiveMTU)
    client = Client(bearer)
    (source, data, updates, commands, end) = ([], [], [], [], nil)
    services = [:]
    return join()
  }

  @discardableResult
  private func join() -> Bool {
    let end = link.other
    bearer.send = { end.send($0) }
    end.receive = { [unowned self] in bearer.receive($0) }
    end.onClose = { [unowned self] in
      self.end = $0
      bearer.close(.closed($0))
    }
    return phone.connect(link.one)
  }

  /// Performs commands, and waits until their PDUs have arrived.
  func perform(_ commands: PhoneCommand...) async throws {
    for command in commands { try phone.perform(command) }
    await pass()
  }

  // MARK: The consumer's actions

  /// Locates a service and subscribes to it, with these handlers of its values.
  func subscribe(
    to service: UUID, receiving handlers: KeyValuePairs<UUID, ([UInt8]) -> Void>
  ) async throws(ATTFailure) {
    services[service] = try await client.locate(service)
    for (uuid, handler) in handlers {
      client.setHandler(for: try handle(of: uuid), handler)
      try await configure(uuid)
    }
    await pass()
  }

  /// Locates ANCS and subscribes to it.
  func subscribeNotifications() async throws(ATTFailure) {
    try await subscribe(
      to: .notificationCenter,
      receiving: [
        .dataSource: { [unowned self] in data.append($0) },
        .notificationSource: { [unowned self] value in
          if let event = try? NotificationEvent(decoding: value) { source.append(event) }
        },
      ])
  }

  /// Locates AMS and subscribes to it.
  func subscribeMedia() async throws(ATTFailure) {
    try await subscribe(
      to: .mediaService,
      receiving: [
        .remoteCommand: { [unowned self] in commands.append(RemoteCommand.list(decoding: $0)) },
        .entityUpdate: { [unowned self] value in
          if let update = try? EntityUpdate(decoding: value) { updates.append(update) }
        },
      ])
  }

  func configure(_ uuid: UUID, _ wanted: ClientConfiguration = .notifications) async throws(ATTFailure) {
    try await client.configure(try characteristic(uuid).cccd ?? 0, wanted)
  }

  /// A characteristic of the services that the client has subscribed to.
  func characteristic(_ uuid: UUID) throws(ATTFailure) -> Characteristic {
    let found = services.values.lazy.compactMap { $0[uuid] }.first
    guard let found else { throw .protocolViolation("no \(uuid)") }
    return found
  }

  func handle(of uuid: UUID) throws(ATTFailure) -> Handle { try characteristic(uuid).value }

  func write(_ value: [UInt8], to uuid: UUID) async throws(ATTFailure) {
    try await client.writeInFull(try handle(of: uuid), value)
  }

  /// Writes to the Control Point, and assembles the response.
  func ask(_ command: ControlPointCommand) async throws(ATTFailure) -> DataSourceResponse? {
    data = []
    try await write(command.encoded, to: .controlPoint)
    guard var assembler = DataSourceAssembler(for: command) else { return nil }
    for _ in 0..<2000 {
      await pass()
      while !data.isEmpty {
        if case .complete(let response, trailing: 0) = assembler.receive(data.removeFirst()) {
          return response
        }
      }
    }
    return nil
  }

  /// Waits until the PDUs under way have arrived.
  func pass(_ duration: Duration = .milliseconds(1)) async {
    await withCheckedContinuation { waiter in
      _ = clock.schedule(after: duration) { waiter.resume() }
    }
  }

  /// The error code of `work`.
  func refusal(_ work: () async throws(ATTFailure) -> Void) async -> UInt8? {
    do throws(ATTFailure) {
      try await work()
      return nil
    } catch { return error.code?.rawValue }
  }

  /// The error code of writing `value`.
  func refusal(of value: [UInt8], to uuid: UUID) async -> UInt8? {
    await refusal { () throws(ATTFailure) in try await write(value, to: uuid) }
  }

  func refusal(of value: [UInt8], at handle: Handle) async -> UInt8? {
    await refusal { () throws(ATTFailure) in try await client.write(handle, value) }
  }

  /// The rules that the client broke.
  var violations: [String] {
    events.compactMap { if case .violation(let what) = $0 { what } else { nil } }
  }
}

extension VirtualPhone.Configuration {
  /// A phone whose link is not encrypted yet.
  static var unencrypted: Self {
    var configuration = Self()
    configuration.isEncrypted = false
    return configuration
  }
}
