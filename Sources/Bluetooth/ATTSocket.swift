// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import EventLoop
import System
import Wire

/// A connected L2CAP socket on the fixed channel of the Attribute Protocol: one PDU a packet.
public final class ATTSocket {
  /// The PDUs, both ways. Reading begins when its `onPacket` is set.
  public let packets: PacketSocket

  /// Who is at the other end, as it was known when the link was made: the identity where the kernel
  /// could resolve it, else the address on the air.
  public let peer: DeviceAddress

  /// The adapter's own address on this link.
  public let local: DeviceAddress

  init(
    _ descriptor: consuming FileDescriptor, peer: DeviceAddress, local: DeviceAddress, _ loop: Loop
  ) {
    packets = PacketSocket(owning: descriptor, loop: loop)
    packets.leavesOpen = SilentLink.mustStayOpen
    self.peer = peer
    self.local = local
  }

  /// Who is at the other end now: the identity, once pairing has brought it. Nil when the link is gone.
  public func currentPeer() -> DeviceAddress? {
    guard packets.isOpen, let bytes = try? Syscall.peerAddress(packets.number) else { return nil }
    return L2CAPAddress(bytes)?.device
  }

  /// How well the link is secured now; nil when it is gone. No event tells of a change.
  public func security() -> ChannelSecurity? {
    guard packets.isOpen,
      let bytes = try? Syscall.option(packets.number, SOL_BLUETOOTH, BT_SECURITY, size: 2),
      bytes.count == 2
    else { return nil }
    let level = SecurityLevel(rawValue: bytes[0])
    // Of a link that has just gone the kernel tells the level that was asked for, without a key.
    guard level <= .low || bytes[1] > 0 else { return nil }
    return ChannelSecurity(level: level, keySize: Int(bytes[1]))
  }

  /// Asks for a level: as the peripheral by an SMP Security Request (Core Specification Vol 3 Part H,
  /// 2.4.6), as the central by encrypting or pairing. What is sent meanwhile waits in `packets`.
  @discardableResult
  public func setSecurity(_ level: SecurityLevel) throws(BluetoothError) -> SecurityRequest {
    guard packets.isOpen else { throw BluetoothError(SystemError("setsockopt", .notConnected)) }
    do throws(SystemError) {
      try Syscall.setSecurity(packets.number, level)
      return .asked
    } catch {
      guard error.errno == .invalidArgument else {
        throw BluetoothError(error.on("BT_SECURITY"))
      }
      // The kernel's answer where there is nothing to do, and where the link is just ending.
      let isReached = security().map { $0.level >= level } ?? false
      return isReached ? .reached : .asked
    }
  }

  /// The connection handle that raw HCI commands name the link by; nil when it is gone.
  public func connectionHandle() -> UInt16? {
    guard packets.isOpen,
      let bytes = try? Syscall.option(
        packets.number, SOL_L2CAP, L2CAP_CONNINFO, size: MemoryLayout<l2cap_conninfo>.size),
      bytes.count >= 2
    else { return nil }
    return bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt16.self) }
  }
}

extension ATTSocket {
  /// An attempt to connect, for whoever may want to give it up.
  public final class Attempt {
    fileprivate var end: () -> Void = {}

    public init() {}

    /// Ends it at once, with EINTR.
    public func giveUp() { end() }
  }

  /// Connects to a device, as the central. Whatever comes of it, a socket that is not returned is closed.
  ///
  /// - Parameters:
  ///   - adapter: the own adapter's address; nil: whichever the kernel takes.
  ///   - security: the level to have before anything is sent.
  ///   - timeout: after so long the attempt is given up.
  ///   - attempt: gives it up before.
  public static func connect(
    to peer: DeviceAddress, from adapter: Address? = nil, security: SecurityLevel = .low,
    timeout: Duration = .seconds(30), attempt: Attempt = Attempt(), loop: Loop = .shared
  ) async throws(BluetoothError) -> ATTSocket {
    let name = peer.description
    let own = L2CAPAddress(DeviceAddress(adapter ?? L2CAPAddress.any, .public))
    let descriptor = try bluetooth(name) { () throws(SystemError) in
      let descriptor = try Syscall.socket(
        AF_BLUETOOTH, Int32(SOCK_SEQPACKET.rawValue), BTPROTO_L2CAP)
      try Syscall.bind(descriptor.raw, to: own.bytes)
      if security > .low { try Syscall.setSecurity(descriptor.raw, security) }
      do throws(SystemError) {
        try Syscall.connect(descriptor.raw, to: L2CAPAddress(peer).bytes)
      } catch {
        guard error.errno == .inProgress else { throw error }
      }
      return descriptor
    }
    if let errno = await outcome(of: descriptor.raw, timeout, attempt, loop) {
      throw BluetoothError(SystemError("connect", errno, on: name))
    }
    let local = (try? Syscall.localAddress(descriptor.raw)).flatMap { L2CAPAddress($0)?.device }
    return ATTSocket(descriptor, peer: peer, local: local ?? own.device, loop)
  }

  /// Waits for a connection that is being made; nil: it is there.
  private static func outcome(
    of number: Int32, _ timeout: Duration, _ attempt: Attempt, _ loop: Loop
  ) async -> Errno? {
    var watch: Watch?
    var timer: TimerID?
    let errno = await withCheckedContinuation { (waiter: CheckedContinuation<Errno?, Never>) in
      var isWaiting = true
      func finish(_ errno: Errno?) {
        guard isWaiting else { return }
        isWaiting = false
        waiter.resume(returning: errno)
      }
      do throws(SystemError) {
        watch = try loop.watch(number: number, for: .writable) { _ in
          finish(Syscall.pendingError(number))
        }
        timer = loop.schedule(after: timeout) { finish(.timedOut) }
        attempt.end = { finish(.interrupted) }
      } catch {
        finish(error.errno)
      }
    }
    attempt.end = {}
    watch?.cancel()
    if let timer { loop.cancel(timer) }
    return errno
  }
}

extension Syscall {
  static func setSecurity(_ fd: Int32, _ level: SecurityLevel) throws(SystemError) {
    try setOption(
      fd, SOL_BLUETOOTH, BT_SECURITY, bt_security(level: level.rawValue, key_size: 0))
  }

  /// The error that a connection attempt ended with; nil where it succeeded.
  static func pendingError(_ fd: Int32) -> Errno? {
    guard let bytes = try? option(fd, SOL_SOCKET, SO_ERROR, size: 4), bytes.count == 4 else {
      return .inputOutput
    }
    let number = bytes.withUnsafeBytes { $0.loadUnaligned(as: Int32.self) }
    return number == 0 ? nil : Errno(rawValue: number)
  }
}
