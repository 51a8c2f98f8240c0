// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import EventLoop
import GAP
import Mgmt
import System
import Wire

/// The operating system as the daemon sees it: clocks, the kernel's Bluetooth, the disk, and the
/// control socket.
///
/// `SystemPlatform` is the real one. Tests substitute a virtual kernel, so hours pass in milliseconds and every order
/// of events can be tested.
@LoopActor package protocol Platform: AnyObject {
  /// The monotonic clock and its timers.
  var scheduler: any Scheduler { get }
  /// The real-time clock.
  var wallTime: WallTime { get }
  /// The host name.
  var hostName: String { get }
  /// This process's resident memory in bytes; nil if unknown.
  var residentMemory: Int64? { get }
  /// Whether standard input is a terminal, where a user can answer.
  var isInteractive: Bool { get }
  /// Reads lines from the terminal. `onLine` gets nil if nothing more can be read.
  ///
  /// - Returns: what ends it.
  func readTerminal(_ onLine: @escaping (String?) -> Void) -> () -> Void
  var files: any FileSystem { get }
  /// Starts a program, by its absolute path, with a complete environment and its standard input. Longer lines of its
  /// output are dropped.
  func start(
    _ arguments: [String], environment: [String], input: [UInt8], lineLimit: Int
  ) throws(SystemError) -> any RunningProgram
  /// The environment, as `NAME=value`.
  var environment: [String] { get }

  /// Whether bluetoothd is running.
  var isBluetoothDaemonRunning: Bool { get }
  /// Opens the kernel's management channel.
  func openManagement() throws(BluetoothError) -> any ManagementChannel
  /// Listens for ATT channels from phones that connect to this address of an adapter. The kernel passes them to the
  /// latest listening socket.
  ///
  /// - Returns: what ends it.
  func listenForPhones(
    at address: DeviceAddress, log: Log, _ accept: @escaping (any ATTChannel) -> Void
  ) throws(BluetoothError) -> () -> Void
  /// Whether phones may be accepted; false once too many sockets had to be left open (docs/kernel.md, “Kernel bug:
  /// silent links”).
  var mayAcceptPhones: Bool { get }
  /// Drops the privileges that are not needed once the sockets are open: all but raw HCI, which a replugged adapter
  /// needs.
  ///
  /// - Parameter tunes: whether raw HCI is used.
  func reducePrivileges(tunes: Bool) throws(SystemError)
  /// Opens raw HCI to an adapter's controller.
  func openController(_ index: ControllerIndex) throws(BluetoothError) -> any ControllerChannel
  /// Opens the rfkill device; nil if the kernel has none.
  func openRFKill() -> (any RFKillDevice)?

  /// The service manager that started the daemon; nil if there is none. Call it only once.
  func openServiceManager() -> (any ServiceManagerChannel)?

  /// Listens for clients of the control socket at `path`. Only clients with permission are accepted.
  ///
  /// - Returns: what ends it.
  func listenForClients(at path: String, log: Log, _ accept: @escaping (any LineChannel) -> Void)
    throws(SystemError) -> () -> Void
}

/// The kernel's management channel.
@LoopActor package protocol ManagementChannel: AnyObject {
  /// The longest packet that the kernel takes, in bytes.
  var packetLimit: Int { get }
  /// Connects a client to the channel. `onClose` is called if the kernel closes the channel.
  func attach(_ client: MgmtClient, onClose: @escaping () -> Void)
  func close()
}

/// A phone's ATT channel: one PDU per packet.
@LoopActor package protocol ATTChannel: AnyObject {
  /// The phone's address, as it was known when the link came up.
  var peer: DeviceAddress { get }
  /// Called with each PDU. Setting it starts reading.
  var onPacket: ((ArraySlice<UInt8>) -> Void)? { get set }
  /// Called once when the channel has ended, and not after `close`.
  var onClose: ((Errno?) -> Void)? { get set }
  /// Whether the descriptor was left open on purpose (docs/kernel.md, “Kernel bug: silent links”).
  var isLeftOpen: Bool { get }
  func send(_ pdu: [UInt8])
  /// The link's security; nil when the link is gone. No event reports a change.
  func security() -> ChannelSecurity?
  /// Asks for encryption, with a Security Request.
  func requestSecurity() throws(BluetoothError)
  /// The connection handle; nil when the link is gone.
  func connectionHandle() -> UInt16?
  func close()
}

/// Raw HCI to one adapter's controller, alongside the kernel's host stack.
@LoopActor package protocol ControllerChannel: AnyObject {
  var onEvent: ((HCIEvent) -> Void)? { get set }
  /// Sends a command; false if the kernel did not accept it.
  func send(_ command: HCICommand) -> Bool
  /// Requests connection parameters by L2CAP; false if the kernel does not accept that, or would lose the link.
  func signal(_ wanted: ConnectionParameters, on handle: UInt16) -> Bool
  func close()
}

/// The kernel's rfkill device.
@LoopActor package protocol RFKillDevice: AnyObject {
  /// Called when an adapter appears, when its state changes, and when it is gone.
  var onChange: () -> Void { get set }
  /// An adapter's state; nil if rfkill does not know the adapter.
  func state(of adapter: UInt16) -> RFKillState?
}

/// The service manager that started the daemon.
@LoopActor package protocol ServiceManagerChannel: AnyObject {
  /// The period of its watchdog; nil if it has none.
  var watchdog: Duration? { get }
  /// False if its queue is full, so that the notice has to be sent again.
  func send(_ notice: [UInt8]) -> Bool
}

/// A client of the control socket: lines both ways.
@LoopActor package protocol LineChannel: AnyObject {
  /// Called with each line, without its line feed. Setting it starts reading, nil pauses it.
  var onLine: (([UInt8]) -> Void)? { get set }
  /// Called for a line that is too long, which is dropped.
  var onOverlong: (() -> Void)? { get set }
  /// Called when the client has finished sending; it may still read.
  var onEnd: (() -> Void)? { get set }
  /// Called once when the connection has ended, and not after `close`.
  var onClose: ((LineSocket.End) -> Void)? { get set }
  /// Called when everything queued has been sent.
  var onDrained: (() -> Void)? { get set }
  /// How many bytes are queued.
  var queuedBytes: Int { get }
  /// Sends a line; the line feed is added.
  func send(_ line: [UInt8])
  /// Closes the connection once everything queued has been sent.
  func closeAfterSending()
  /// Closes the connection.
  func close()
}

/// A running program.
@LoopActor package protocol RunningProgram: AnyObject {
  /// Called with each line that it writes.
  var onLine: ([UInt8]) -> Void { get set }
  /// Called once when it has ended.
  var onEnd: (ProcessEnd) -> Void { get set }
  /// Sends a signal to it and its descendants.
  func signal(_ signal: Signal)
}

/// The part of the file system that the state directory needs. Paths are absolute.
package protocol FileSystem: Sendable {
  /// Claims a directory for this process alone while the returned object lives; creates it if missing.
  func claim(_ path: String) throws(PrivateDirectory.Fault) -> any Sendable
  /// Creates a directory and its missing parents.
  func makeDirectory(_ path: String, mode: UInt32) throws(SystemError)
  /// Whether something exists at this path.
  func exists(_ path: String) throws(SystemError) -> Bool
  /// The names in a directory.
  func names(in path: String) throws(SystemError) -> [String]
  /// A file's bytes, at most `limit`.
  func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8]
  /// Replaces a file atomically; it is on the disk before this returns.
  func save(_ bytes: [UInt8], to path: String, mode: UInt32) throws(SystemError)
  /// Renames a file so that a new one can take its place; returns its new path.
  func setAside(_ path: String) throws(SystemError) -> String
  /// Removes a file if it exists; it stays removed after a crash.
  func remove(_ path: String) throws(SystemError)
}

extension Platform {
  /// Waits until something holds, which it looks at every 10 ms, but not beyond `deadline`.
  package func wait(until deadline: Instant, _ holds: @LoopActor () -> Bool) async {
    while !holds(), scheduler.now < deadline { await sleep(for: .milliseconds(10)) }
  }

  /// Waits for `duration`.
  package func sleep(for duration: Duration) async {
    let scheduler = scheduler
    await withCheckedContinuation { waiter in
      _ = scheduler.schedule(after: duration) { waiter.resume() }
    }
  }
}
