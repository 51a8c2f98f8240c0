// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The client's end of a management socket. It sends commands, passes each reply to its caller, and reports every
/// event.
///
/// Any number of commands may be outstanding. A reply belongs to the oldest command with its opcode, its controller
/// and its device, if it names one. Events may arrive at any time, even between a command and its reply. They are
/// reported at once and in order, as are replies without a caller: those of commands that have timed out, or, if such a
/// late reply was taken for the next command's, that command's own.
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

  private let scheduler: any Scheduler
  private var pending: [PendingCommand] = []
  private var closed: MgmtError?
  private var lastNumber: UInt64 = 0

  private typealias Reply = Result<[UInt8], MgmtError>

  /// A command waiting for its reply.
  private struct PendingCommand {
    let number: UInt64
    let opcode: MgmtOpcode
    let index: ControllerIndex
    /// The device that the command and its reply begin with, if they do.
    let peer: DeviceAddress?
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
        self?.fail(number, .timedOut(command.opcode))
      }
      pending.append(
        PendingCommand(
          number: number, opcode: command.opcode, index: index,
          peer: command.opcode.device(in: command.parameters), timer: timer,
          continuation: continuation))
      if let why = send(command.packet(index: index).encoded) {
        fail(number, .refused(command.opcode, why))
      }
    }
    return try reply.get()
  }

  /// A command of a sequence.
  public struct Step: Hashable, Sendable, CustomStringConvertible {
    public let command: MgmtCommand
    /// Whether the others are of no use if the kernel refuses it.
    public let isEssential: Bool

    init(_ command: MgmtCommand, isEssential: Bool = true) {
      self.command = command
      self.isEssential = isEssential
    }

    public var description: String { "\(command)\(isEssential ? "" : " (if it can)")" }
  }

  /// Sends commands, one after another.
  ///
  /// - Parameters:
  ///   - isWanted: asked before each command, whether to send it.
  ///   - onRefusal: called for each that is not essential and was refused.
  public func perform(
    _ steps: [Step], index: ControllerIndex, while isWanted: () -> Bool = { true },
    onRefusal: (MgmtError) -> Void = { _ in }
  ) async throws(MgmtError) {
    for step in steps where isWanted() {
      do {
        try await call(step.command, index: index)
      } catch {
        guard !step.isEssential, error.isRefusal else { throw error }
        onRefusal(error)
      }
    }
  }

  /// Processes a packet that was read from the socket.
  public func receive(_ bytes: [UInt8]) {
    guard closed == nil else { return }
    do throws(DecodeError) {
      let packet = try Packet(decoding: bytes)
      let event = try MgmtEvent(decoding: packet)
      if !resumeCaller(event, packet.index) { onEvent(packet.index, event) }
    } catch { onMalformed(MalformedPacket(bytes: bytes, error: error)) }
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
    let left = pending.filter { $0.index == index }
    pending.removeAll { $0.index == index }
    for command in left { finish(command, .failure(.status(command.opcode, .invalidIndex))) }
  }

  /// Resumes the caller that this event is a reply to; returns whether there is one.
  private func resumeCaller(_ event: MgmtEvent, _ index: ControllerIndex) -> Bool {
    let (opcode, status, parameters): (MgmtOpcode, MgmtStatus, [UInt8])
    switch event {
    case .commandComplete(let of, let with, let reply):
      (opcode, status, parameters) = (of, with, reply)
    case .commandStatus(let of, let with): (opcode, status, parameters) = (of, with, [])
    default: return false
    }
    // A Command Status names no device.
    let peer = opcode.device(in: parameters)
    let alike = pending.indices.filter {
      pending[$0].opcode == opcode && pending[$0].index == index
    }
    var candidates = alike.filter { peer == nil || pending[$0].peer == peer }
    if candidates.isEmpty, opcode == .pairDevice {
      // The kernel names the phone by its identity, perhaps before it reports that.
      candidates = alike.filter { pending[$0].peer?.isResolvable ?? false }
    }
    // A command for which the kernel is busy came after the one that keeps it so.
    guard let place = status == .busy ? candidates.last : candidates.first else { return false }
    finish(pending.remove(at: place), status == .success ? .success(parameters) : .failure(.status(opcode, status)))
    return true
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
  /// The device that the parameters of the command, or of its reply, begin with; nil: they do not.
  fileprivate func device(in parameters: [UInt8]) -> DeviceAddress? {
    guard isAboutDevice else { return nil }
    var reader = ByteReader(parameters)
    return try? reader.deviceAddress()
  }

  /// Whether it is about one device.
  var isAboutDevice: Bool {
    switch self {
    case .disconnect, .pairDevice, .unpairDevice, .userConfirmReply, .userConfirmNegativeReply,
      .userPasskeyReply, .userPasskeyNegativeReply, .getConnectionInformation:
      true
    default: false
    }
  }

  /// Whether it changes a controller's settings.
  public var changesSettings: Bool {
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

  /// Lists the controllers: those that can be used, or those that need configuration first.
  public func readIndexList(unconfigured: Bool = false) async throws(MgmtError) -> [ControllerIndex] {
    let command: MgmtCommand = unconfigured ? .readUnconfiguredIndexList : .readIndexList
    return try await call(command, index: .none) { reader throws(DecodeError) in
      var list: [ControllerIndex] = []
      for _ in 0..<(try reader.u16()) { list.append(ControllerIndex(try reader.u16())) }
      return list.sorted()
    }
  }

  /// Whether all that a controller needs before it can be used is an address, which it takes (BlueZ doc/mgmt-protocol,
  /// Read Controller Configuration Information).
  public func needsOnlyAddress(_ index: ControllerIndex) async throws(MgmtError) -> Bool {
    try await call(.readControllerConfiguration, index: index) { reader throws(DecodeError) in
      _ = try reader.u16()  // manufacturer
      let (supported, missing) = (try reader.u32(), try reader.u32())
      let publicAddress: UInt32 = 1 << 1
      return missing == publicAddress && supported & publicAddress != 0
    }
  }

  /// Reads the controller's address, settings and name.
  public func readControllerInformation(_ index: ControllerIndex) async throws(MgmtError) -> ControllerInformation {
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
  public func readAdvertisingInstances(_ index: ControllerIndex) async throws(MgmtError) -> [UInt8] {
    try await call(.readAdvertisingFeatures, index: index) { reader throws(DecodeError) in
      // The supported flags, the maximum lengths of both kinds of data, the maximum number.
      try reader.skip(4 + 1 + 1 + 1)
      return Array(try reader.bytes(Int(try reader.u8())))
    }
  }

  /// Reads the received signal strength of a link, in dBm; nil if the controller does not report it.
  public func getSignalStrength(_ peer: DeviceAddress, index: ControllerIndex) async throws(MgmtError) -> Int8? {
    try await call(.getConnectionInformation(peer), index: index) { reader throws(DecodeError) in
      _ = try reader.deviceAddress()
      let rssi = try reader.decibels()
      try reader.skip(2)  // the transmit power, now and at most
      return rssi
    }
  }

  /// Sends a command and decodes its reply, to the last byte.
  private func call<Response>(
    _ command: MgmtCommand, index: ControllerIndex, _ decode: (inout ByteReader) throws(DecodeError) -> Response
  ) async throws(MgmtError) -> Response {
    var reader = ByteReader(try await call(command, index: index))
    do throws(DecodeError) {
      let response = try decode(&reader)
      try reader.end()
      return response
    } catch { throw .malformedReply(command.opcode, error) }
  }
}

extension ByteReader {
  /// A signed byte; 127 means “not known”.
  mutating func decibels() throws(DecodeError) -> Int8? {
    let value = try i8()
    return value == 127 ? nil : value
  }
}
