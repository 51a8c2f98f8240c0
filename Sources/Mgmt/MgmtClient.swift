// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The client's end of a management socket. It sends commands, passes each reply to its caller, and reports every
/// event.
///
/// Any number of commands may be outstanding. A reply belongs to the oldest command with its opcode, its controller
/// and its device, if it names one; that command may have timed out. A reply to Pair Device may name an identity before
/// the kernel reports whose it is; it is kept until then. Events may arrive at any time, even between a
/// command and its reply. They are reported at once and in order, as are replies without a caller.
///
/// The client lives on one loop and holds no socket. Its owner writes the packets from `send`, and passes every packet
/// that it reads to `receive`.
public final class MgmtClient {
  /// Writes one packet to the socket; returns why the kernel did not accept it, or nil.
  public var send: ([UInt8]) -> String? = { _ in nil }
  /// Called with every event and the controller it is about.
  public var onEvent: (ControllerIndex, MgmtEvent) -> Void = { _, _ in }
  /// Called with every packet that could not be decoded.
  public var onMalformed: (MalformedPacket) -> Void = { _ in }

  /// Called when the kernel has carried out a command that timed out, so the adapter's settings are no longer known.
  public var onLate: (ControllerIndex, MgmtOpcode) -> Void = { _, _ in }

  private let scheduler: any Scheduler
  /// The commands that timed out, and may get a late reply.
  private var givenUp: [Subject: Debt] = [:]
  private var pending: [PendingCommand] = []
  /// A reply to Pair Device that names an identity whose key has not been reported yet.
  private var early: EarlyReply?
  private var closed: MgmtError?
  private var lastNumber: UInt64 = 0

  /// What a reply reveals about its command.
  private struct Subject: Hashable {
    let opcode: MgmtOpcode
    let index: ControllerIndex
    /// The device that the command is about.
    var peer: [UInt8]?

    /// - Parameter bytes: the parameters of the command or its reply, which begin with the device if both do.
    init(_ opcode: MgmtOpcode, _ index: ControllerIndex, _ bytes: [UInt8]) {
      self.opcode = opcode
      self.index = index
      if opcode.isAboutDevice, bytes.count >= 7 { peer = Array(bytes.prefix(7)) }
    }

    /// Whether a reply with this subject may belong to the command. A Command Status names no device.
    func matches(_ command: Subject) -> Bool {
      opcode == command.opcode && index == command.index && (peer == nil || peer == command.peer)
    }
  }

  /// A reply that came before the kernel reported the name that it uses.
  private struct EarlyReply {
    let index: ControllerIndex
    let status: MgmtStatus
    let parameters: [UInt8]
    /// The number of the last command sent before it.
    let lastNumber: UInt64
  }

  /// A reply that may arrive late.
  private enum Debt {
    /// The next reply is it: the kernel carries out such commands one after another.
    case next
    /// It may have arrived, or was lost: a reply without a caller is it.
    case doubtful
  }

  private typealias Reply = Result<[UInt8], MgmtError>

  /// A command waiting for its reply.
  private struct PendingCommand {
    let number: UInt64
    var subject: Subject
    /// The device's name when the command was sent, if the kernel has renamed it since: of two links under one name it
    /// renames one.
    var formerName: Subject?
    /// Whether a reply was meanwhile attributed to another command, which had timed out.
    var wasPassedOver = false
    let timer: TimerID
    let continuation: CheckedContinuation<Reply, Never>
  }

  /// - Parameter scheduler: runs the time-outs.
  public init(scheduler: any Scheduler) { self.scheduler = scheduler }

  /// Sends a command and waits for its reply.
  ///
  /// - Returns: the data after the status.
  /// - Throws: `.status`, `.refused`, `.timedOut` or `.closed`.
  @discardableResult
  public func call(
    _ command: MgmtCommand, index: ControllerIndex
  ) async throws(MgmtError) -> [UInt8] {
    let reply: Reply = await withCheckedContinuation { continuation in
      // Other tasks may have run, and the socket may have closed, before this is reached.
      if let closed { return continuation.resume(returning: .failure(closed)) }
      lastNumber += 1
      let number = lastNumber
      let timer = scheduler.schedule(after: command.timeout) { [weak self] in
        self?.giveUp(number)
      }
      let subject = Subject(command.opcode, index, command.parameters)
      pending.append(
        PendingCommand(number: number, subject: subject, timer: timer, continuation: continuation))
      if let why = send(command.packet(index: index).encoded) {
        fail(number, .refused(command.opcode, why))
      }
    }
    return try reply.get()
  }

  /// Processes a packet that was read from the socket.
  public func receive(_ bytes: [UInt8]) {
    guard closed == nil else { return }
    do throws(DecodeError) {
      let packet = try Packet(decoding: bytes)
      let event = try MgmtEvent(decoding: packet)
      if !resumeCaller(event, packet.index) { onEvent(packet.index, event) }
    } catch {
      onMalformed(MalformedPacket(bytes: bytes, error: error))
    }
  }

  /// Fails all outstanding and future commands with `error`.
  public func close(_ error: MgmtError) {
    guard closed == nil else { return }
    closed = error
    let left = pending
    pending = []
    for command in left { finish(command, .failure(error)) }
  }

  /// Fails all outstanding commands to a removed controller. Otherwise replies from another one with its number would
  /// be mistaken for theirs.
  public func controllerRemoved(_ index: ControllerIndex) {
    let left = pending.filter { $0.subject.index == index }
    pending.removeAll { $0.subject.index == index }
    givenUp = givenUp.filter { $0.key.index != index }
    if early?.index == index { early = nil }
    for command in left {
      finish(command, .failure(.status(command.subject.opcode, .invalidIndex)))
    }
  }

  /// Resumes the caller that this event is a reply to; returns whether there is one.
  private func resumeCaller(_ event: MgmtEvent, _ index: ControllerIndex) -> Bool {
    switch event {
    case .commandComplete(let opcode, let status, let reply):
      return resumeCaller(opcode, index, status, reply)
    case .commandStatus(let opcode, let status): return resumeCaller(opcode, index, status, [])
    case .newIdentityResolvingKey(let key, let privateAddress, _):
      // From now on the kernel names the identity, also in the reply to Pair Device.
      let old = DeviceAddress(privateAddress, .random).encoded
      func renamed(_ subject: Subject) -> Subject {
        var subject = subject
        if subject.index == index, subject.peer == old { subject.peer = key.peer.encoded }
        return subject
      }
      for position in pending.indices {
        let subject = renamed(pending[position].subject)
        guard subject != pending[position].subject else { continue }
        pending[position].formerName = pending[position].subject
        pending[position].subject = subject
      }
      givenUp = Dictionary(
        givenUp.map { (renamed($0.key), $0.value) }, uniquingKeysWith: { _, new in new })
      if let reply = early, reply.index == index, reply.parameters.starts(with: key.peer.encoded) {
        early = nil
        _ = resumeCaller(
          .pairDevice, index, reply.status, reply.parameters, upTo: reply.lastNumber)
      }
      return false
    default: return false
    }
  }

  /// - Parameter last: the number of the last command that this may be the reply to.
  private func resumeCaller(
    _ opcode: MgmtOpcode, _ index: ControllerIndex, _ status: MgmtStatus, _ reply: [UInt8],
    upTo last: UInt64 = .max
  ) -> Bool {
    let subject = Subject(opcode, index, reply)
    let candidates = pending.indices.filter { place in
      pending[place].number <= last
        && (subject.matches(pending[place].subject)
          || pending[place].formerName.map(subject.matches) ?? false)
    }
    // The kernel is busy with an earlier one.
    let place = status == .busy ? candidates.last : candidates.first
    let debt = status == .busy ? nil : givenUp[subject]
    guard let position = place, debt != .next else {
      guard debt != nil else {
        let mayBeRenamed =
          opcode == .pairDevice
          && pending.contains { $0.subject.opcode == opcode && $0.subject.index == index }
        guard mayBeRenamed, last == .max else { return false }
        early = EarlyReply(
          index: index, status: status, parameters: reply, lastNumber: lastNumber)
        return true
      }
      givenUp[subject] = nil
      for position in candidates { pending[position].wasPassedOver = true }
      if status == .success, opcode.changesSettings { onLate(index, opcode) }
      return false
    }
    finish(
      pending.remove(at: position),
      status == .success ? .success(reply) : .failure(.status(opcode, status)))
    return true
  }

  /// A command has timed out.
  private func giveUp(_ number: UInt64) {
    guard let command = pending.first(where: { $0.number == number }) else { return }
    givenUp[command.subject] = command.wasPassedOver ? .doubtful : .next
    fail(number, .timedOut(command.subject.opcode))
  }

  /// Fails a command that is still outstanding.
  private func fail(_ number: UInt64, _ error: MgmtError) {
    guard let position = pending.firstIndex(where: { $0.number == number }) else { return }
    finish(pending.remove(at: position), .failure(error))
  }

  private func finish(_ command: PendingCommand, _ reply: Reply) {
    scheduler.cancel(command.timer)
    command.continuation.resume(returning: reply)
  }
}

extension MgmtOpcode {
  /// Whether the command and its reply begin with a device.
  fileprivate var isAboutDevice: Bool {
    switch self {
    case .disconnect, .pairDevice, .unpairDevice, .userConfirmReply, .userConfirmNegativeReply,
      .userPasskeyReply, .userPasskeyNegativeReply, .getConnectionInformation:
      true
    default: false
    }
  }

  /// Whether it changes a controller's settings.
  fileprivate var changesSettings: Bool {
    switch self {
    case .readCommands, .readIndexList, .readUnconfiguredIndexList, .readControllerInformation,
      .readControllerConfiguration, .readAdvertisingFeatures, .getConnections:
      false
    default: !isAboutDevice
    }
  }
}

// MARK: - Commands with a reply

extension MgmtClient {
  /// Reads which commands this socket may send. There are fewer without privileges.
  public func readCommands() async throws(MgmtError) -> Set<MgmtOpcode> {
    try await call(.readCommands, index: .none) { reader throws(DecodeError) in
      let (commandCount, eventCount) = (try reader.u16(), try reader.u16())
      var commands: Set<MgmtOpcode> = []
      for _ in 0..<commandCount { commands.insert(MgmtOpcode(rawValue: try reader.u16())) }
      _ = try reader.bytes(2 * Int(eventCount))
      return commands
    }
  }

  /// Lists the controllers, without those that need configuration first.
  public func readIndexList() async throws(MgmtError) -> [ControllerIndex] {
    try await readList(.readIndexList)
  }

  private func readList(_ command: MgmtCommand) async throws(MgmtError) -> [ControllerIndex] {
    try await call(command, index: .none) { reader throws(DecodeError) in
      var list: [ControllerIndex] = []
      for _ in 0..<(try reader.u16()) { list.append(ControllerIndex(try reader.u16())) }
      return list.sorted()
    }
  }

  /// Lists the controllers that need configuration first.
  public func readUnconfiguredIndexList() async throws(MgmtError) -> [ControllerIndex] {
    try await readList(.readUnconfiguredIndexList)
  }

  /// Reads what a controller needs before it can be used.
  public func readControllerConfiguration(
    _ index: ControllerIndex
  ) async throws(MgmtError) -> ControllerConfiguration {
    try await call(.readControllerConfiguration, index: index) {
      reader throws(DecodeError) in try ControllerConfiguration(from: &reader)
    }
  }

  /// Reads the controller's address, settings and name.
  public func readControllerInformation(
    _ index: ControllerIndex
  ) async throws(MgmtError) -> ControllerInformation {
    try await call(.readControllerInformation, index: index) { reader throws(DecodeError) in
      try ControllerInformation(from: &reader)
    }
  }

  /// Lists the connected devices.
  public func getConnections(_ index: ControllerIndex) async throws(MgmtError) -> [DeviceAddress] {
    try await call(.getConnections, index: index) { reader throws(DecodeError) in
      var list: [DeviceAddress] = []
      for _ in 0..<(try reader.u16()) { list.append(try reader.deviceAddress()) }
      return list
    }
  }

  /// Lists the advertising instances of a controller, by their numbers.
  public func readAdvertisingInstances(
    _ index: ControllerIndex
  ) async throws(MgmtError) -> [UInt8] {
    try await call(.readAdvertisingFeatures, index: index) { reader throws(DecodeError) in
      // The supported flags, the maximum lengths of both kinds of data, the maximum number.
      try reader.skip(4 + 1 + 1 + 1)
      return Array(try reader.bytes(Int(try reader.u8())))
    }
  }

  /// Reads the received signal strength of a link, in dBm; nil if the controller does not report it.
  public func getSignalStrength(
    _ peer: DeviceAddress, index: ControllerIndex
  ) async throws(MgmtError) -> Int8? {
    try await call(.getConnectionInformation(peer), index: index) { reader throws(DecodeError) in
      _ = try reader.deviceAddress()
      let rssi = try reader.decibels()
      try reader.skip(2)  // the transmit power, now and at most
      return rssi
    }
  }

  /// Sends a command and decodes its reply, to the last byte.
  private func call<Response>(
    _ command: MgmtCommand, index: ControllerIndex,
    _ decode: (inout ByteReader) throws(DecodeError) -> Response
  ) async throws(MgmtError) -> Response {
    var reader = ByteReader(try await call(command, index: index))
    do throws(DecodeError) {
      let response = try decode(&reader)
      try reader.end()
      return response
    } catch {
      throw .malformedReply(command.opcode, error)
    }
  }
}

extension ByteReader {
  /// A signed byte; 127 means “not known”.
  mutating func decibels() throws(DecodeError) -> Int8? {
    let value = try i8()
    return value == 127 ? nil : value
  }
}
