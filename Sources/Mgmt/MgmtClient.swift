// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The client's end of a management socket: commands go out, their answers come back to whoever
/// awaits them, and everything else is an event.
///
/// Any number of commands may be outstanding. An answer belongs to the oldest one of its opcode and
/// controller, or, where several are about devices, to the one whose device it names. The kernel may
/// send events at any time, also between a command and its answer; all of them reach `onEvent` at
/// once and in their order, and so do answers that nobody awaits any more.
///
/// It lives on one loop and holds no socket: the owner writes what `send` is given, and hands what
/// it reads to `receive`, a packet at a time.
public final class MgmtClient {
  /// Writes one packet to the socket, and says why the kernel did not take it (nil: it did).
  public var send: ([UInt8]) -> String? = { _ in nil }
  /// Is told every event, with the controller that it is about.
  public var onEvent: (ControllerIndex, MgmtEvent) -> Void = { _, _ in }
  /// Is told every packet that could not be read; it is dropped otherwise.
  public var onMalformed: (MalformedPacket) -> Void = { _ in }

  private let scheduler: any Scheduler
  private var waiting: [Waiter] = []
  private var closed: MgmtError?
  private var nextNumber: UInt64 = 0

  private typealias Reply = Result<[UInt8], MgmtError>

  /// A command whose answer is awaited.
  private struct Waiter {
    let number: UInt64
    let index: ControllerIndex
    let command: MgmtCommand
    /// The device it is about, as the answer will name it.
    var peer: [UInt8]?
    let timer: TimerID
    let continuation: CheckedContinuation<Reply, Never>
  }

  /// A client whose time-outs `scheduler` keeps.
  public init(scheduler: any Scheduler) { self.scheduler = scheduler }

  /// Whether `close` was called.
  public var isClosed: Bool { closed != nil }

  /// Sends a command and waits for its answer.
  /// - Returns: what stands behind the status.
  /// - Throws: `.status` where the kernel says no, `.refused`, `.timedOut`, or `.closed`.
  @discardableResult
  public func call(
    _ command: MgmtCommand, index: ControllerIndex
  ) async throws(MgmtError) -> [UInt8] {
    if let closed { throw closed }
    let reply: Reply = await withCheckedContinuation { continuation in
      nextNumber += 1
      let number = nextNumber
      let timer = scheduler.schedule(after: command.timeout) { [weak self] in
        self?.timeOut(number)
      }
      waiting.append(
        Waiter(
          number: number, index: index, command: command, peer: command.peer, timer: timer,
          continuation: continuation))
      if let why = send(command.packet(index: index).encoded),
        let position = waiting.firstIndex(where: { $0.number == number })
      {
        finish(waiting.remove(at: position), .failure(.refused(command.opcode, why)))
      }
    }
    return try reply.get()
  }

  /// Sends a command whose answer is read by `read`, to its last byte.
  func call<Answer>(
    _ command: MgmtCommand, index: ControllerIndex,
    _ read: (inout ByteReader) throws(DecodeError) -> Answer
  ) async throws(MgmtError) -> Answer {
    var reader = ByteReader(try await call(command, index: index))
    do throws(DecodeError) {
      let answer = try read(&reader)
      try reader.end()
      return answer
    } catch {
      throw .malformedReply(command.opcode, error)
    }
  }

  /// Takes one packet that was read from the socket.
  public func receive(_ bytes: [UInt8]) {
    guard closed == nil else { return }
    do throws(DecodeError) {
      let packet = try Packet(decoding: bytes)
      let event = try MgmtEvent(decoding: packet)
      if !answer(event, packet.index) { onEvent(packet.index, event) }
    } catch {
      onMalformed(MalformedPacket(bytes: bytes, error: error))
    }
  }

  /// Ends everything: whoever waits, and whoever calls from now on, gets `error`.
  public func close(_ error: MgmtError) {
    guard closed == nil else { return }
    closed = error
    let left = waiting
    waiting = []
    for waiter in left { finish(waiter, .failure(error)) }
  }

  /// Whether somebody waited for this event as an answer, and has it now.
  private func answer(_ event: MgmtEvent, _ index: ControllerIndex) -> Bool {
    switch event {
    case .commandComplete(let opcode, let status, let reply):
      guard let waiter = take(opcode, index, naming: reply) else { return false }
      finish(waiter, status == .success ? .success(reply) : .failure(.status(opcode, status)))
      return true
    case .commandStatus(let opcode, let status):
      guard let waiter = take(opcode, index, naming: []) else { return false }
      finish(waiter, status == .success ? .success([]) : .failure(.status(opcode, status)))
      return true
    case .newIdentityResolvingKey(let key, let privateAddress, _):
      learn(key.peer, from: privateAddress, index)
      return false
    default:
      return false
    }
  }

  /// The waiter that an answer beginning with `reply` belongs to, no longer waiting.
  private func take(
    _ opcode: MgmtOpcode, _ index: ControllerIndex, naming reply: [UInt8]
  ) -> Waiter? {
    let candidates = waiting.indices.filter {
      waiting[$0].command.opcode == opcode && waiting[$0].index == index
    }
    let named = candidates.first { waiting[$0].peer.map(reply.starts) ?? false }
    return (named ?? candidates.first).map { waiting.remove(at: $0) }
  }

  /// A phone's identity became known: the answer to Pair Device will name that.
  private func learn(
    _ identity: DeviceAddress, from privateAddress: Address, _ index: ControllerIndex
  ) {
    let old = DeviceAddress(privateAddress, .random).wire
    for position in waiting.indices
    where waiting[position].index == index && waiting[position].peer == old {
      waiting[position].peer = identity.wire
    }
  }

  private func timeOut(_ number: UInt64) {
    guard let position = waiting.firstIndex(where: { $0.number == number }) else { return }
    let waiter = waiting.remove(at: position)
    finish(waiter, .failure(.timedOut(waiter.command.opcode)))
  }

  private func finish(_ waiter: Waiter, _ reply: Reply) {
    scheduler.cancel(waiter.timer)
    waiter.continuation.resume(returning: reply)
  }
}

extension MgmtCommand {
  /// The device that the command is about, as its answer begins: for those that answer with one.
  fileprivate var peer: [UInt8]? {
    switch opcode {
    case .disconnect, .pairDevice, .cancelPairDevice, .unpairDevice, .userConfirmReply,
      .userConfirmNegativeReply, .userPasskeyReply, .userPasskeyNegativeReply, .blockDevice,
      .unblockDevice, .addDevice, .removeDevice, .getConnectionInformation:
      Array(parameters.prefix(7))
    default: nil
    }
  }
}

extension DeviceAddress {
  /// The address and its kind as they go over the socket.
  fileprivate var wire: [UInt8] { address.littleEndian + [type.rawValue] }
}
