// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ATT
import GAP
import GATT
import TestLoop
import Wire

/// A scripted media source at the other end of the link, which answers a millisecond later.
final class StubSource {
  static let remoteCommand: Handle = 0x31
  static let entityUpdate: Handle = 0x34
  static let entityAttribute: Handle = 0x37

  static let service = LocatedService(
    service: Service(uuid: .mediaService, range: HandleRange(0x2F, 0x38)),
    characteristics: [
      Characteristic(
        declaration: 0x30, properties: [.write, .notify], value: remoteCommand,
        uuid: .remoteCommand, end: 0x32, cccd: 0x32),
      Characteristic(
        declaration: 0x33, properties: [.write, .notify], value: entityUpdate,
        uuid: .entityUpdate, end: 0x35, cccd: 0x35),
      Characteristic(
        declaration: 0x36, properties: [.read, .write], value: entityAttribute, uuid: .entityAttribute, end: 0x38),
    ])

  let clock: HandClock
  let bearer: Bearer
  let client: Client
  /// The attributes' values.
  var values: [MediaAttribute: String] = [:]
  /// The supported commands, sent on subscription.
  var commands: [UInt8]?
  /// Whether a registration makes it send what it has, not only what changes afterwards.
  var tellsAll = true
  /// The error for a write of a value to a handle.
  var refuse: (Handle, [UInt8]) -> UInt8? = { _, _ in nil }
  /// The writes and reads, in order.
  private(set) var log: [String] = []
  private var selected: MediaAttribute?

  init(_ clock: HandClock) {
    self.clock = clock
    bearer = Bearer(scheduler: clock)
    client = Client(bearer)
    bearer.send = { [unowned self] bytes in later { $0.receive(bytes) } }
  }

  private func later(_ action: @escaping (StubSource) -> Void) {
    _ = clock.schedule(after: .milliseconds(1)) { [weak self] in if let self { action(self) } }
  }

  private func send(_ pdu: PDU) { bearer.receive(pdu.encoded) }

  func notify(_ handle: Handle, _ value: [UInt8]) {
    send(.handleValueNotification(handle, value: value))
  }

  /// Notifies the attribute's value, cut to the MTU.
  func notify(_ attribute: MediaAttribute, _ text: String? = nil) {
    if let text { values[attribute] = text }
    let update = EntityUpdate(attribute, Array((values[attribute] ?? "").utf8), fitting: bearer.mtu - 3)
    notify(Self.entityUpdate, update.encoded)
  }

  private func receive(_ bytes: [UInt8]) {
    guard let pdu = try? PDU(decoding: bytes) else { return }
    switch pdu {
    case .writeRequest(let handle, let value):
      log.append("\(handle) = \(value.hex)")
      if let code = refuse(handle, value) {
        return send(.error(ErrorCode(code), to: .writeRequest, at: handle))
      }
      send(.writeResponse)
      written(handle, value)
    case .writeCommand(let handle, let value):
      log.append("\(handle) ! \(value.hex)")
    case .readRequest(let handle):
      read(handle, from: 0, .readRequest) { .readResponse($0) }
    case .readBlobRequest(let handle, let offset):
      read(handle, from: Int(offset), .readBlobRequest) { .readBlobResponse($0) }
    default: send(.error(.requestNotSupported, to: pdu.opcode))
    }
  }

  private func written(_ handle: Handle, _ value: [UInt8]) {
    switch handle {
    case 0x32 where value == [1, 0]:
      if let commands { later { $0.notify(Self.remoteCommand, commands) } }
    case Self.entityUpdate where tellsAll:
      guard let registration = try? EntityRegistration(decoding: value) else { return }
      later { phone in
        for id in registration.attributes { phone.notify(MediaAttribute(registration.entity, id)) }
      }
    case Self.entityAttribute:
      selected = try? MediaAttribute(decoding: value)
    default: break
    }
  }

  private func read(_ handle: Handle, from offset: Int, _ opcode: Opcode, _ response: ([UInt8]) -> PDU) {
    log.append("\(handle) read \(offset)")
    guard handle == Self.entityAttribute, let selected, let text = values[selected] else {
      return send(.error(ErrorCode(0xA2), to: opcode, at: handle))
    }
    send(response(Array(Array(text.utf8).dropFirst(offset).prefix(bearer.mtu - 1))))
  }
}

/// A remote on the stub, and all that it published.
final class RemoteSession {
  let source: StubSource
  let remote: MediaRemote
  private(set) var told: [[MediaField]] = []
  private(set) var states: [MediaState] = []

  init(
    _ clock: HandClock, _ service: LocatedService = StubSource.service,
    without unwanted: Set<MediaAttribute> = []
  ) throws {
    source = StubSource(clock)
    guard let remote = MediaRemote(source.client, service, without: unwanted) else {
      throw ATTFailure.protocolViolation("no remote")
    }
    self.remote = remote
    remote.onChange = { [unowned self] state, changed in
      told.append(changed)
      states.append(state)
    }
  }

  /// Runs a test with a session.
  static func run(_ test: @escaping @Sendable (isolated TestLoop, RemoteSession) async throws -> Void) throws {
    try TestLoop.run { loop in try await test(loop, RemoteSession(loop.clock)) }
  }

  /// Subscribes, serves from then on, and waits for the first values.
  func begin(_ loop: isolated TestLoop) async throws {
    try await remote.subscribe()
    loop.start { try await self.remote.run() }
    await loop.sleep(for: .seconds(1))
  }
}
