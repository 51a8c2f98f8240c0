// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Board
import Control
import EventLoop
import Mgmt
import System
import Wire

/// The real operating system.
@LoopActor final class SystemPlatform: Platform {
  let scheduler: any Scheduler = Loop.shared
  let files: any FileSystem = SystemFiles()
  /// The upper bound of this process's file descriptors.
  private let descriptorLimit: Int
  private var clock: (turn: Instant, time: WallTime)?

  init(descriptorLimit: Int = Host.descriptorLimit) { self.descriptorLimit = descriptorLimit }

  /// The real-time clock, read once per turn of the loop.
  var wallTime: WallTime {
    let turn = scheduler.now
    if let clock, clock.turn == turn { return clock.time }
    let time = WallTime.now
    clock = (turn, time)
    return time
  }
  var hostName: String { Host.name }
  var residentMemory: Int64? { Host.residentMemory }
  let isInteractive = Terminal.isTerminal(Standard.input)
  var mayAcceptPhones: Bool { SilentLink.mayAcceptMore }
  var isBluetoothDaemonRunning: Bool { BluetoothDaemon.isRunning }

  func readTerminal(_ onLine: @escaping (String?) -> Void) -> () -> Void {
    let reader = LineReader(lineLimit: 256)
    reader.onEnd = { _ in onLine(nil) }
    reader.onLine = { onLine(String(decoding: $0, as: UTF8.self)) }
    return { reader.close() }
  }

  var environment: [String] { Host.environment }

  func start(
    _ arguments: [String], environment: [String], input: [UInt8], lineLimit: Int
  ) throws(SystemError) -> any RunningProgram {
    try ChildProcess(arguments, environment: environment, input: input, lineLimit: lineLimit)
  }

  func openManagement() throws(BluetoothError) -> any ManagementChannel { try MgmtSocket() }

  func listenForPhones(
    at address: DeviceAddress, log: Log, _ accept: @escaping (any ATTChannel) -> Void
  ) throws(BluetoothError) -> () -> Void {
    let listener = try ATTListener(address.type, on: address.address)
    listener.onConnection = { accept($0) }
    listener.onError = { log.warning("could not accept a phone: \($0)") }
    return { listener.close() }
  }

  func openController(_ index: ControllerIndex) throws(BluetoothError) -> any ControllerChannel {
    try RawHCISocket(index.value)
  }

  func reducePrivileges(tunes: Bool) throws(SystemError) {
    try Privileges.keepOnly(tunes ? .rawNetwork : [])
  }

  func openRFKill() -> (any RFKillDevice)? { try? RFKill() }
  func openServiceManager() -> (any ServiceManagerChannel)? { NotifySocket() }

  func listenForClients(
    at path: String, log: Log, _ accept: @escaping (any LineChannel) -> Void
  ) throws(SystemError) -> () -> Void {
    // root's default directory does not exist on a fresh system; a user's may be the one for bonds.
    if path == DefaultPaths.sockets[0], let folder = Files.parent(of: path) {
      try Files.makeDirectory(folder, mode: Host.userID == 0 ? 0o755 : 0o700)
    }
    let group = Host.groupID(named: DefaultPaths.group)
    let listener = try UnixListener(at: path, .stream, mode: 0o660, group: group)
    listener.onError = { log.warning("lost a control client: \($0)") }
    let limit = descriptorLimit - ControlLimits.spareDescriptors
    let refused = RefusedClients()
    listener.onConnection = { connection, client in
      let mayConnect =
        client.userID == 0 || client.userID == Host.userID
        || group.map { client.isMember(of: $0) } == true
      guard mayConnect else {
        log.notice("refused a control client of user \(client.userID)")
        let channel = LineSocket(owning: connection, lineLimit: ControlLimits.line)
        return refused.hold(channel)
      }
      // The kernel assigns the lowest free number.
      guard connection.raw < limit else {
        return log.warning("refused a control client: too many files are open")
      }
      accept(
        LineSocket(
          owning: connection, lineLimit: ControlLimits.line, queueLimit: ControlLimits.queue))
    }
    return { listener.close() }
  }
}

/// Clients that may not connect. Each gets an error, and stays open for a moment: if it were closed
/// at once, the client would fail to send its request and report that instead.
@LoopActor private final class RefusedClients {
  private var held = FIFO<LineSocket>(limit: 8)
  private static let time = Duration.seconds(1)

  func hold(_ channel: LineSocket) {
    let who = "root, the daemon's user and members of the group \(DefaultPaths.group)"
    channel.send(RPC.error(.forbidden("only \(who) may use this daemon"), id: .null))
    held.append(channel)?.close()
    _ = Loop.shared.schedule(after: Self.time) { [self] in
      channel.close()
      held.removeAll { $0 === channel }
    }
  }
}

/// The board's file system.
private struct SystemFiles: FileSystem {
  func claim(_ path: String) throws(PrivateDirectory.Fault) -> any Sendable {
    try PrivateDirectory(path)
  }
  func makeDirectory(_ path: String, mode: UInt32) throws(SystemError) {
    try Files.makeDirectory(path, mode: mode)
  }
  func exists(_ path: String) throws(SystemError) -> Bool { try Files.kind(of: path) != nil }
  func names(in path: String) throws(SystemError) -> [String] { try Files.names(in: path) }
  func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
    try Files.readPrivate(path, limit: limit)
  }
  func save(_ bytes: [UInt8], to path: String, mode: UInt32) throws(SystemError) {
    try AtomicFile.save(bytes, to: path, mode: mode)
  }
  func setAside(_ path: String) throws(SystemError) -> String { try AtomicFile.setAside(path) }
  func remove(_ path: String) throws(SystemError) { try AtomicFile.remove(path) }
}

extension MgmtSocket: ManagementChannel {}
extension ChildProcess: RunningProgram {}
extension RawHCISocket: ControllerChannel {}
extension RFKill: RFKillDevice {}
extension LineSocket: LineChannel {}

extension ATTSocket: ATTChannel {
  package var onPacket: ((ArraySlice<UInt8>) -> Void)? {
    get { packets.onPacket }
    set { packets.onPacket = newValue }
  }
  package var onClose: ((Errno?) -> Void)? {
    get { packets.onClose }
    set { packets.onClose = newValue }
  }
  package var isLeftOpen: Bool { packets.isLeftOpen }
  package func send(_ pdu: [UInt8]) { packets.send(pdu) }
  package func requestSecurity() throws(BluetoothError) { try setSecurity(.medium) }
  package func close() { packets.close() }
}
