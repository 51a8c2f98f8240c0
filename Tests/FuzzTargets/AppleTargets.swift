// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Companion
import GAP
import GATT
import TestLoop
import Wire

extension FuzzTarget {
  /// ANCS and AMS: what a phone says once it is bonded.
  static let appleServices = [
    FuzzTarget("notification-source", longest: 16, notificationSource),
    FuzzTarget("control-point", longest: 256, controlPoint), FuzzTarget("data-source", longest: 1024, dataSource),
    FuzzTarget("notifications", longest: 1024, notifications), FuzzTarget("media-values", longest: 256, mediaValues),
    FuzzTarget("media", longest: 1024, media),
  ]

  /// Battery and clock, which a phone has too.
  static let companion = [
    FuzzTarget("companion", longest: 32) { input in
      if let value = try? CurrentTime(decoding: input) {
        try ensure(value.encoded == input, "the time \(value.time) is encoded otherwise")
        let again = CurrentTime(secondsSince1970: value.time.secondsSince1970)
        try ensure(again?.time == value.time, "\(value.time) is at another time")
      }
      if let value = try? LocalTimeInformation(decoding: input) {
        try ensure(value.encoded == input, "\(value) is encoded otherwise")
      }
      if let value = try? BatteryLevel(decoding: input) {
        try ensure([value.percent] == input, "\(value) is not the byte")
      }
      if let value = try? ConnectionParameters(decoding: input) {
        try ensure(value.encoded == input, "\(value) is encoded otherwise")
      }
    }
  ]

  /// Input: a value of the Notification Source.
  @Sendable private static func notificationSource(_ input: [UInt8]) throws {
    guard let event = try? NotificationEvent(decoding: input) else { return }
    try ensure(event.encoded == input, "\(event) is encoded as \(event.encoded.hex)")
  }

  /// Input: a value of the Control Point, as the virtual phone gets it.
  @Sendable private static func controlPoint(_ input: [UInt8]) throws {
    guard let command = try? ControlPointCommand(decoding: input) else { return }
    // An app id that is not UTF-8 can't be encoded as it was.
    if case .getAppAttributes(let app, _) = command, app.unicodeScalars.contains("\u{FFFD}") {
      return
    }
    try ensure(command.encoded == input, "\(command) is encoded as \(command.encoded.hex)")
  }

  /// Input: which attributes are asked for, each with its greatest length, then the fragments of the
  /// answer.
  @Sendable private static func dataSource(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    let choices = input.byte()
    let count = Int(choices & 7)
    let command: ControlPointCommand
    if choices & 8 == 0 {
      let wanted = (0..<count).map { _ in
        ControlPointCommand.AttributeRequest(
          .init(rawValue: input.byte()), maximumLength: UInt16(input.byte()) << 1)
      }
      command = .getNotificationAttributes(0x0403_0201, wanted)
    } else {
      command = .getAppAttributes(appIdentifier: "com.a", (0..<count).map { _ in .init(rawValue: input.byte()) })
    }
    let isLate = choices & 16 != 0
    let fragments = input.packets().map(\.bytes)
    let found = try assemble(fragments, command, isLate: isLate)
    guard !isLate else { return }
    // However it is cut, it is what was sent.
    let sent = fragments.flatMap(\.self)
    try ensure(
      try assemble(sent.map { [$0] }, command, isLate: false) == found, "in single bytes it does not come to \(found)")
    guard case .complete(let response) = found else { return }
    try ensure(response.attributes.count == count, "\(response.attributes.count) attributes")
    try ensure(sent.starts(with: response.encoded), "\(response) is not what was sent")
  }

  /// What comes of a response's fragments.
  private enum Assembled: Equatable {
    case incomplete, complete(DataSourceResponse), failed(DataSourceError)
  }

  private static func assemble(
    _ fragments: [[UInt8]], _ command: ControlPointCommand, isLate: Bool
  ) throws -> Assembled {
    guard var assembler = DataSourceAssembler(for: command, lateBytesPossible: isLate) else {
      throw Broken(description: "no assembler for \(command)")
    }
    for fragment in fragments {
      switch assembler.receive(fragment) {
      case .more, .dropped: continue
      // The error has as much of another app's id as has come.
      case .failed(.appMismatch): return .failed(.appMismatch([]))
      case .failed(let error): return .failed(error)
      case .complete(let response, _): return .complete(response)
      }
    }
    return .incomplete
  }

  // MARK: Sessions

  /// Input: what a phone sends to a session of ANCS.
  @Sendable private static func notifications(_ input: [UInt8]) throws {
    let service = service(
      .notificationCenter, [(.controlPoint, .write), (.notificationSource, .notify), (.dataSource, .notify)])
    try playPhone(input) { client in
      guard let consumer = NotificationConsumer(client, service) else {
        throw Broken(description: "no consumer")
      }
      try await consumer.subscribe()
      try await consumer.run()
    }
  }

  /// Input: what a phone sends to a session of AMS.
  @Sendable private static func media(_ input: [UInt8]) throws {
    let service = service(
      .mediaService,
      [(.remoteCommand, [.write, .notify]), (.entityUpdate, [.write, .notify]), (.entityAttribute, [.read, .write])])
    try playPhone(input) { client in
      guard let remote = MediaRemote(client, service) else {
        throw Broken(description: "no remote")
      }
      try await remote.subscribe(again: true)
      try await remote.run()
    }
  }

  /// A service from 0x10 on: three handles for each characteristic.
  private static func service(_ uuid: UUID, _ characteristics: [(UUID, Characteristic.Properties)]) -> LocatedService {
    LocatedService(
      service: Service(uuid: uuid, range: HandleRange(0x10, 0x20)),
      characteristics: characteristics.enumerated().map { index, characteristic in
        let handle = Handle(0x11 + 3 * index)
        return Characteristic(
          declaration: handle, properties: characteristic.1, value: handle + 1, uuid: characteristic.0, end: handle + 2,
          cccd: characteristic.1.contains(.notify) ? handle + 2 : nil)
      })
  }

  /// Plays a phone that accepts every write. Each packet of the input is a value of the characteristic that
  /// its first byte chooses; where it is marked, it is a whole PDU, and time passes before it.
  private static func playPhone(_ bytes: [UInt8], _ session: @escaping @Sendable (Client) async throws -> Void) throws {
    try TestLoop.run { loop in
      var input = FuzzInput(bytes)
      let bearer = Bearer(scheduler: loop.clock)
      let client = Client(bearer)
      var asked: [Opcode] = []
      bearer.send = { octets in
        if let opcode = octets.first.map({ Opcode(rawValue: $0) }), opcode.role == .request {
          asked.append(opcode)
        }
      }
      let running = loop.start { try await session(client) }
      for (packet, isPDU) in input.packets() where running.result == nil {
        await loop.settle()
        while let opcode = asked.popLast(), opcode == .writeRequest {
          bearer.receive(PDU.writeResponse.encoded)
          await loop.settle()
        }
        if isPDU {
          await loop.sleep(for: .milliseconds(100 * Int(packet.first ?? 0)))
          bearer.receive(Array(packet.dropFirst()))
        } else {
          let value: Handle = 0x12 + 3 * Handle((packet.first ?? 0) % 3)
          bearer.receive(PDU.handleValueNotification(value, value: Array(packet.dropFirst())).encoded)
        }
      }
      bearer.close(.closed("the input has ended"))
      await loop.settle()
      try ensure(running.result != nil, "the link has ended and the session waits")
      if let broken = running.failure as? Broken { throw broken }
      try ensure(loop.clock.scheduled == 0, "\(loop.clock.scheduled) timers are left")
    }
  }

  // MARK: Values of AMS

  /// Input: a value of any characteristic of AMS.
  @Sendable private static func mediaValues(_ input: [UInt8]) throws {
    if let update = try? EntityUpdate(decoding: input) {
      try ensure(update.encoded == input, "\(update) is encoded as \(update.encoded.hex)")
      var state = MediaState()
      _ = state.apply(update, at: Instant(nanoseconds: .min))
      for nanoseconds in [Int64.min, 0, .max] {
        let elapsed = state.elapsed(at: Instant(nanoseconds: nanoseconds))
        try ensure(elapsed ?? 0 >= 0, "\(update) is \(elapsed ?? 0) s into its track")
      }
    }
    if let registration = try? EntityRegistration(decoding: input) {
      try ensure(registration.encoded == input, "\(registration) is encoded otherwise")
    }
    if let attribute = try? MediaAttribute(decoding: input) {
      try ensure(attribute.selection == input, "\(attribute) is encoded otherwise")
    }
    var state = MediaState()
    _ = state.apply(commands: RemoteCommand.list(decoding: input))
  }
}
