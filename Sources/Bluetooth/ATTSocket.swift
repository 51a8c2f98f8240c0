// SPDX-License-Identifier: GPL-3.0-or-later
public import Mgmt
public import System
import CLinux
import EventLoop
import Synchronization
import Wire

/// A connected L2CAP socket on the fixed channel of the Attribute Protocol: one PDU a packet.
public final class ATTSocket {
  /// Sends and receives the PDUs. Reading starts when its `onPacket` is set.
  public let packets: PacketSocket

  /// The peer when the link was made: its identity address if the kernel could resolve it, otherwise the
  /// address on the air.
  public let peer: DeviceAddress

  init(_ descriptor: consuming FileDescriptor, peer: DeviceAddress) {
    packets = PacketSocket(owning: descriptor)
    packets.leavesOpen = SilentLink.mustStayOpen
    self.peer = peer
  }

  /// The peer now: its identity address once pairing has told it. Nil if the link is gone.
  public func currentPeer() -> DeviceAddress? {
    guard packets.isOpen, let bytes = try? Syscall.peerAddress(packets.number) else { return nil }
    return L2CAPAddress(bytes)?.device
  }

  /// The link's security now; nil if the link is gone. There is no event when it changes.
  public func security() -> ChannelSecurity? {
    guard packets.isOpen, let found = try? Syscall.option(packets.number, SOL_BLUETOOTH, BT_SECURITY, bt_security())
    else { return nil }
    let level = SecurityLevel(rawValue: found.level)
    // When the link has just gone, the kernel returns the requested level and no key.
    guard level <= .low ? currentPeer() != nil : found.key_size > 0 else { return nil }
    return ChannelSecurity(level: level, keySize: Int(found.key_size))
  }

  /// Requests a security level: as the peripheral by an SMP Security Request (Core Specification Vol 3
  /// Part H, 2.4.6), as the central by encrypting or pairing. What is sent meanwhile waits in `packets`
  /// (docs/kernel.md, “BT_SECURITY”).
  ///
  /// - Returns: whether the link already has that level. Otherwise the channel sends nothing until it is encrypted, or
  ///   until the peer sends something.
  @discardableResult
  public func setSecurity(_ level: SecurityLevel) throws(BluetoothError) -> Bool {
    guard packets.isOpen else { throw BluetoothError(SystemError("setsockopt", .notConnected)) }
    do throws(SystemError) {
      try Syscall.setOption(packets.number, SOL_BLUETOOTH, BT_SECURITY, bt_security(level: level.rawValue, key_size: 0))
      return false
    } catch {
      guard error.errno == .invalidArgument else { throw BluetoothError(error.on("BT_SECURITY")) }
      // The kernel's error if the level is reached, and if the link is just ending.
      return security().map { $0.level >= level } ?? false
    }
  }

  /// The link's connection handle, for raw HCI commands; nil if the link is gone.
  public func connectionHandle() -> UInt16? {
    guard packets.isOpen else { return nil }
    return try? Syscall.option(packets.number, SOL_L2CAP, L2CAP_CONNINFO, l2cap_conninfo())
      .hci_handle
  }

  /// Cancels an attempt to connect.
  public final class Attempt {
    fileprivate var end: () -> Void = {}
    fileprivate var isCancelled = false

    public init() {}

    /// Ends the attempt at once, with EINTR; also one that has not begun.
    public func cancel() {
      isCancelled = true
      end()
    }
  }

  /// Connects to a device, as the central.
  ///
  /// - Parameters:
  ///   - adapter: the identity address of our adapter; nil: the kernel chooses.
  ///   - attempt: can cancel the attempt before `timeout`.
  public static func connect(
    to peer: DeviceAddress, from adapter: DeviceAddress? = nil, timeout: Duration = .seconds(30),
    attempt: Attempt = Attempt()
  ) async throws(BluetoothError) -> ATTSocket {
    let name = peer.description
    let descriptor = try bluetooth(name) { () throws(SystemError) in
      let descriptor = try bound(to: adapter?.address, adapter?.type ?? .public)
      do throws(SystemError) {
        try Syscall.connect(descriptor.raw, to: L2CAPAddress(peer).bytes)
      } catch { guard error.errno == .inProgress else { throw error } }
      return descriptor
    }
    if let errno = await outcome(of: descriptor.raw, timeout, attempt) {
      throw BluetoothError(SystemError("connect", errno, on: name))
    }
    return ATTSocket(descriptor, peer: peer)
  }

  /// A socket for ATT that is bound to an adapter; nil: to any, whose address is all zero. The type counts there too.
  static func bound(to adapter: Address?, _ type: AddressType) throws(SystemError) -> FileDescriptor {
    let descriptor = try Syscall.socket(AF_BLUETOOTH, Int32(SOCK_SEQPACKET.rawValue), BTPROTO_L2CAP)
    try Syscall.bind(descriptor.raw, to: L2CAPAddress(DeviceAddress(adapter ?? Address(0), type)).bytes)
    return descriptor
  }

  /// Waits until a connection attempt has ended; nil: it succeeded.
  private static func outcome(of number: Int32, _ timeout: Duration, _ attempt: Attempt) async -> Errno? {
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
        watch = try Loop.shared.watch(number: number, for: .writable) { _ in
          finish(Syscall.pendingError(number))
        }
        timer = Loop.shared.schedule(after: timeout) { finish(.timedOut) }
        attempt.end = { finish(.interrupted) }
        if attempt.isCancelled { finish(.interrupted) }
      } catch { finish(error.errno) }
    }
    attempt.end = {}
    withExtendedLifetime(watch) {}
    if let timer { Loop.shared.cancel(timer) }
    return errno
  }
}

extension Syscall {
  /// The error that a connection attempt ended with; nil if it succeeded.
  static func pendingError(_ fd: Int32) -> Errno? {
    guard let number = try? option(fd, SOL_SOCKET, SO_ERROR, Int32(0)) else { return .inputOutput }
    return number == 0 ? nil : Errno(rawValue: number)
  }
}

// MARK: - The kernel's side

/// `struct sockaddr_l2` (bluetooth/l2cap.h), for the fixed channel of ATT.
///
///     0 family | 2 psm | 4 bdaddr, 6 bytes | 10 cid | 12 bdaddr_type | 13 padding
///
/// The family is in host byte order, everything else little endian.
struct L2CAPAddress {
  let device: DeviceAddress

  /// The fixed channel of the Attribute Protocol (Core Specification Vol 3 Part A, 2.1).
  static let attributeChannel: UInt16 = 4

  init(_ device: DeviceAddress) { self.device = device }

  /// Decodes an address from the kernel; nil if it is truncated or of another family.
  init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes.dropFirst(4))
    guard bytes.count >= 13, hostNumber(bytes, at: 0) == UInt16(AF_BLUETOOTH),
      let address = try? reader.address(), let type = AddressType(rawValue: bytes[12])
    else { return nil }
    device = DeviceAddress(address, type)
  }

  var bytes: [UInt8] {
    var writer = ByteWriter(capacity: 14)
    writer.bytes(hostOrder(UInt16(AF_BLUETOOTH)))
    writer.u16(0)
    writer.address(device.address)
    writer.u16(Self.attributeChannel)
    writer.u8(device.type.rawValue)
    writer.u8(0)
    return writer.bytes
  }
}

extension ChannelEnd {
  /// - Parameter errno: the socket's error; nil: an orderly end.
  public init(_ errno: Errno?) {
    self =
      switch errno {
      case nil, .connectionReset?: .disconnected
      case .timedOut?: .timedOut
      case .permissionDenied?: .authenticationFailed
      case .notImplemented?: .keysDiffer
      case .connectionAborted?: .aborted
      case let errno?: .other("\(errno)")
      }
  }
}

/// Accepts ATT connections of devices that connect to this board: L2CAP's fixed channel 4.
///
/// It may listen before the adapter is powered on, and survives power off, rfkill and unplugging. The
/// listener that listened last gets every connection, also before another program's (docs/kernel.md,
/// “bluetoothd”). So listen again when bluetoothd has started.
public final class ATTListener {
  /// Called with each connection. If the socket is dropped, the kernel ends the link a few seconds later.
  public var onConnection: ((ATTSocket) -> Void)?
  /// Called when a connection could not be accepted. The listener goes on.
  public var onError: ((BluetoothError) -> Void)?

  private let acceptor: Acceptor

  /// Listens on an adapter.
  ///
  /// - Parameters:
  ///   - type: the type of the address that devices connect to: the kernel gives a link only to a listener
  ///     of the type of the adapter's own address (`l2cap_global_fixed_chan`).
  ///   - adapter: its address; nil: all adapters.
  public init(_ type: AddressType = .public, on adapter: Address? = nil) throws(BluetoothError) {
    acceptor = try bluetooth { () throws(SystemError) in
      let socket = try ATTSocket.bound(to: adapter, type)
      try Syscall.listen(socket.raw, backlog: 8)
      return try Acceptor(owning: socket, loop: .shared)
    }
    acceptor.onError = { [weak self] in self?.onError?(BluetoothError($0)) }
    acceptor.onConnection = { [weak self] connection throws(SystemError) in
      guard let peer = (try? Syscall.peerAddress(connection.raw)).flatMap(L2CAPAddress.init) else {
        // The link is gone already, or the kernel would tell.
        SilentLink.abandon(connection)
        throw SystemError("accept", .notConnected)
      }
      self?.onConnection?(ATTSocket(connection, peer: peer.device))
    }
  }

  /// Stops listening. Accepted connections stay open.
  public func close() { acceptor.close() }
}

/// A kernel bug with links on which the peer never sent anything (docs/kernel.md, “Kernel bug: silent
/// links”).
///
/// When such a link is gone, closing its ATT socket kills the process. So the descriptor is left open, and
/// once there are too many of them no device may be accepted any more (`mayAcceptMore`).
/// Seen on 6.1.192, but not on 6.1.170 and 6.12.117. Debian numbers its kernels differently: 6.1.0-56 is
/// 6.1.192, and 6.1.0-47 is 6.1.170.
public enum SilentLink {
  /// How many descriptors may be left open before no more devices are to be accepted.
  public static let limit = 64

  /// Whether there is room for another device that may never say anything.
  public static var mayAcceptMore: Bool { leftOpen.load(ordering: .relaxed) < limit }

  private static let leftOpen = Atomic<Int>(0)
  private static let isDangerousHere = isDangerous(Host.kernelVersion)

  /// Whether a kernel has the bug, or may have it; nil: its version is unknown.
  public static func isDangerous(_ kernel: KernelVersion?) -> Bool {
    guard let kernel, kernel.isOfSeries(KernelVersion(6, 1, 0)) else { return false }
    // Where only the release tells, and that is one of Debian's.
    return kernel.patch == 0 ? kernel.revision > 47 : kernel.patch > 170
  }

  /// Whether there are descriptors that this process must not close, so that it had better not end.
  public static var isHeld: Bool { leftOpen.load(ordering: .relaxed) > 0 }

  /// Whether to leave a descriptor open instead of closing it. It counts as left open then.
  static func mustStayOpen(isGone: Bool, packetsReceived: UInt64) -> Bool {
    guard isDangerousHere, isGone, packetsReceived == 0 else { return false }
    leftOpen.wrappingAdd(1, ordering: .relaxed)
    return true
  }

  /// Gets rid of a connection of which nothing was read, whether its link is still up or not.
  static func abandon(_ connection: consuming FileDescriptor) {
    if mustStayOpen(isGone: true, packetsReceived: 0) { _ = connection.release() }
  }
}
