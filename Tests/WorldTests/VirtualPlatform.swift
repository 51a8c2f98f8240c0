// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import EventLoop
import GAP
import JSON
import Mgmt
import Synchronization
import System
import TestLoop
import VirtualKernel
import Wire

@testable import Board

/// A board without a board: a virtual kernel, a clock that is turned by hand, and a disk in memory.
@LoopActor
final class VirtualPlatform: Platform {
  let clock: HandClock
  let kernel: VirtualKernel
  let disk: MemoryDisk
  let programs: VirtualPrograms
  var environment: [String] = []
  /// Why nothing can listen for phones; nil: it can.
  var listenFailure: BluetoothError?
  /// Called for a client that wants to connect to the control socket; nil: nobody listens.
  private(set) var acceptClient: ((any LineChannel) -> Void)?
  /// The controller whose raw HCI was opened last.
  private(set) var controller: VirtualController?

  init() {
    clock = HandClock()
    kernel = VirtualKernel(scheduler: clock)
    disk = MemoryDisk()
    programs = VirtualPrograms(clock)
  }

  /// The board after a power cut: nothing is left but the disk, which the daemon from before can't reach any
  /// more, and the time.
  init(after former: VirtualPlatform) {
    clock = former.clock
    kernel = VirtualKernel(scheduler: former.clock)
    disk = former.disk.takenOver()
    programs = VirtualPrograms(former.clock)
  }

  nonisolated static let epoch = WallTime(seconds: 1_795_000_000)

  /// By how many seconds the board's clock is wrong.
  var wallTimeShift: Int64 = 0

  var scheduler: any Scheduler { clock }
  var wallTime: WallTime {
    let (seconds, attoseconds) = (clock.now - .zero).components
    return WallTime(
      seconds: Self.epoch.seconds + seconds + wallTimeShift,
      nanoseconds: Int32(attoseconds / 1_000_000_000))
  }
  var hostName: String { "board" }
  let residentMemory: Int64? = 8 << 20
  /// Whether the daemon has a terminal.
  var isInteractive = false
  /// Types a line at the daemon's terminal; nil: nothing is read there now.
  private(set) var type: ((String?) -> Void)?

  func readTerminal(_ onLine: @escaping (String?) -> Void) -> () -> Void {
    type = onLine
    return { [weak self] in self?.type = nil }
  }

  var files: any FileSystem { disk }
  /// How many sockets of silent links have to be left open before nobody is accepted any more; nil: the
  /// kernel does not have that bug.
  var silentLinksLeft: Int?
  var mayAcceptPhones: Bool { silentLinksLeft.map { $0 > 0 } ?? true }
  var isBluetoothDaemonRunning: Bool { kernel.isBluetoothDaemonRunning }

  func start(
    _ arguments: [String], environment: [String], input: [UInt8], lineLimit: Int
  ) throws(SystemError) -> any RunningProgram { try programs.start(arguments, environment, input) }

  func openManagement() throws(BluetoothError) -> any ManagementChannel { kernel.openManagement() }

  func listenForPhones(
    at address: DeviceAddress, log: Log, _ accept: @escaping (any ATTChannel) -> Void
  ) throws(BluetoothError) -> () -> Void {
    if let listenFailure { throw listenFailure }
    let listener = kernel.listen(at: address) { channel in accept(ChannelAdapter(channel, self)) }
    return { listener.close() }
  }

  func openController(_ index: ControllerIndex) throws(BluetoothError) -> any ControllerChannel {
    let controller = VirtualController(clock)
    self.controller = controller
    return controller
  }

  func reducePrivileges(tunes: Bool) {}

  func openRFKill() -> (any RFKillDevice)? { kernel }

  /// The service manager that has started the daemon; nil: none has.
  var serviceManager: VirtualServiceManager?
  func openServiceManager() -> (any ServiceManagerChannel)? { serviceManager }

  func listenForClients(
    at path: String, log: Log, _ accept: @escaping (any LineChannel) -> Void
  ) throws(SystemError) -> () -> Void {
    acceptClient = accept
    return { [weak self] in self?.acceptClient = nil }
  }
}

/// A service manager that keeps what it is told.
@LoopActor
final class VirtualServiceManager: ServiceManagerChannel {
  let watchdog: Duration?
  private(set) var told: [String] = []

  init(watchdog: Duration? = nil) { self.watchdog = watchdog }

  func send(_ notice: [UInt8]) -> Bool {
    told.append(String(decoding: notice, as: UTF8.self))
    return true
  }

  /// How often it was told this.
  func count(_ notice: String) -> Int { told.filter { $0 == notice }.count }
}

extension ManagementSocket: ManagementChannel {
  public func attach(_ client: MgmtClient, onClose: @escaping () -> Void) {
    client.send = { [self] in send($0) ? nil : "Network is down" }
    receive = { [weak client] in client?.receive($0) }
  }
}

extension VirtualKernel: RFKillDevice {
  public var onChange: () -> Void {
    get { onRadioChange }
    set { onRadioChange = newValue }
  }

  public func state(of adapter: UInt16) -> RFKillState? {
    guard let adapter = adapters[adapter] else { return nil }
    return switch adapter.block {
    case .soft?: .soft
    case .hard?: .hard
    case nil: .unblocked
    }
  }
}

@LoopActor
private final class ChannelAdapter: ATTChannel {
  private let channel: VirtualChannel
  private let platform: VirtualPlatform

  init(_ channel: VirtualChannel, _ platform: VirtualPlatform) {
    self.channel = channel
    self.platform = platform
  }

  var peer: DeviceAddress { channel.peer }
  private(set) var isLeftOpen = false
  var onPacket: ((ArraySlice<UInt8>) -> Void)? {
    get { channel.onPacket }
    set { channel.onPacket = newValue }
  }
  var onClose: ((Errno?) -> Void)? {
    didSet { channel.onClose = { [onClose] in onClose?(Self.errno($0)) } }
  }

  private static func errno(_ end: Connection.End) -> Errno {
    switch end {
    case .disconnected: .connectionReset
    case .timedOut: .timedOut
    case .authenticationFailed: .permissionDenied
    case .keysDiffer: .notImplemented
    case .aborted: .connectionAborted
    }
  }

  func send(_ pdu: [UInt8]) { channel.send(pdu) }
  func security() -> ChannelSecurity? {
    channel.security.map {
      ChannelSecurity(level: SecurityLevel(rawValue: $0.level), keySize: Int($0.keySize))
    }
  }
  func requestSecurity() { _ = channel.requestSecurity() }
  func connectionHandle() -> UInt16? { channel.handle }
  func close() {
    if platform.silentLinksLeft != nil, channel.isSilent, channel.isGone {
      isLeftOpen = true
      platform.silentLinksLeft? -= 1
    }
    channel.close()
  }
}

/// The raw HCI of a virtual controller. The phone grants whatever parameters are asked for.
@LoopActor
final class VirtualController: ControllerChannel {
  var onEvent: ((HCIEvent) -> Void)?
  /// The status with which the controller answers LE Connection Update.
  var response: UInt8 = 0x00
  /// The status in LE Connection Update Complete.
  var result: UInt8 = 0x00
  /// The parameters that were asked for.
  private(set) var requests: [HCICommand] = []
  /// Whether the kernel survives packets of others.
  var signals = false
  /// The parameters that L2CAP asked for.
  private(set) var signalled: [ConnectionParameters] = []
  private let clock: HandClock

  init(_ clock: HandClock) { self.clock = clock }

  func signal(_ wanted: ConnectionParameters, on handle: UInt16) -> Bool {
    guard signals else { return false }
    signalled.append(wanted)
    let granted = ConnectionParameters(
      interval: wanted.maximumInterval, latency: wanted.latency, timeout: wanted.timeout)
    _ = clock.schedule(after: .milliseconds(60)) { [weak self] in
      self?.onEvent?(.connectionUpdated(handle: handle, status: 0, granted))
    }
    return true
  }

  func send(_ command: HCICommand) -> Bool {
    requests.append(command)
    guard command.opcode == HCICommand.connectionUpdateOpcode else { return true }
    let status = response
    let handle = command.parameters.prefix(2).reversed().reduce(0) { $0 << 8 | UInt16($1) }
    _ = clock.schedule(after: .milliseconds(1)) { [weak self] in
      self?.onEvent?(.commandStatus(opcode: HCICommand.connectionUpdateOpcode, status: status))
      guard status == 0 else { return }
      let granted = ConnectionParameters(interval: 24, latency: 0, timeout: 600)
      guard let result = self?.result else { return }
      self?.onEvent?(.connectionUpdated(handle: handle, status: result, granted))
    }
    return true
  }

  func close() { onEvent = nil }
}

/// The files of the state directory, in memory.
final class MemoryDisk: FileSystem {
  private struct Contents {
    var directories: Set<String> = ["/", "/var", "/var/lib"]
    var files: [String: [UInt8]] = [:]
    /// Why the state directory can't be had.
    var claimFault: PrivateDirectory.Fault?
    /// How many changes there were.
    var writes = 0
    /// The files that were saved, in their order.
    var saved: [String] = []
  }

  private let contents: Mutex<Contents>
  /// Asked before each operation on a path; a failure prevents it.
  let fault = Mutex<(@Sendable (Call, String) -> Errno?)>({ _, _ in nil })

  /// A system call for an operation.
  enum Call: String {
    case stat, opendir, read, mkdir, write, rename, unlink

    var changesSomething: Bool {
      switch self {
      case .stat, .opendir, .read: false
      case .mkdir, .write, .rename, .unlink: true
      }
    }
  }

  convenience init() { self.init(Contents()) }
  private init(_ contents: Contents) { self.contents = Mutex(contents) }

  /// The same disk, which can't be reached by this object any more.
  func takenOver() -> MemoryDisk {
    let rest = contents.withLock { $0 }
    fail(.inputOutput)
    return MemoryDisk(rest)
  }

  /// Makes every write fail, or none.
  func fail(_ errno: Errno?) { fault.withLock { $0 = { call, _ in call.changesSomething ? errno : nil } } }

  /// Puts something else in place of files.
  func damage(_ text: String = "{", where isMeant: (String) -> Bool) {
    contents.withLock { contents in
      for path in contents.files.keys where isMeant(path) {
        contents.files[path] = Array(text.utf8)
      }
    }
  }

  /// Makes files and directories unreadable.
  func failReads(_ errno: Errno, where isMeant: @escaping @Sendable (String) -> Bool) {
    fault.withLock { $0 = { call, path in [.read, .opendir].contains(call) && isMeant(path) ? errno : nil } }
  }

  /// The content of the first file that is meant.
  func content(where isMeant: (String) -> Bool) -> [UInt8]? {
    contents.withLock { $0.files.first { isMeant($0.key) }?.value }
  }

  /// Renames files and directories.
  func rename(_ name: (String) -> String) {
    contents.withLock { contents in
      contents.directories = Set(contents.directories.map(name))
      contents.files = Dictionary(uniqueKeysWithValues: contents.files.map { (name($0.key), $0.value) })
    }
  }

  /// Makes the state directory one that can't be had.
  func refuseClaim(_ fault: PrivateDirectory.Fault) { contents.withLock { $0.claimFault = fault } }

  /// How many changes there were, or were tried.
  var writes: Int { contents.withLock { $0.writes } }

  /// The kinds of the files that were saved since the last call, as in `bond`.
  func takeSaved() -> [String] {
    contents.withLock { contents in
      defer { contents.saved = [] }
      return contents.saved.map { $0.split(separator: ".").dropLast().last.map(String.init) ?? $0 }
    }
  }

  /// The paths of all files.
  var paths: [String] { contents.withLock { $0.files.keys.sorted() } }

  func makeDirectory(_ path: String, mode: UInt32) throws(SystemError) {
    try write(.mkdir, path) { $0.directories.insert(path) }
  }

  func claim(_ path: String) throws(PrivateDirectory.Fault) -> any Sendable {
    if let fault = contents.withLock({ $0.claimFault }) { throw fault }
    do throws(SystemError) { try makeDirectory(path, mode: 0o700) } catch { throw .failed(error) }
    return true
  }

  func exists(_ path: String) throws(SystemError) -> Bool {
    try check(.stat, path)
    return contents.withLock { $0.directories.contains(path) || $0.files[path] != nil }
  }

  func names(in path: String) throws(SystemError) -> [String] {
    try check(.opendir, path)
    let all = contents.withLock { Array($0.directories) + Array($0.files.keys) }
    let names = all.filter { $0.hasPrefix(path + "/") }.compactMap { entry in
      entry.dropFirst(path.count + 1).split(separator: "/").first.map(String.init)
    }
    return Set(names).sorted()
  }

  func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
    try check(.read, path)
    guard let bytes = contents.withLock({ $0.files[path] }) else { throw SystemError("open", .noSuchFile) }
    return bytes
  }

  func save(_ bytes: [UInt8], to path: String, mode: UInt32) throws(SystemError) {
    try write(.write, path) {
      $0.files[path] = bytes
      $0.saved.append(path)
    }
  }

  func setAside(_ path: String) throws(SystemError) -> String {
    try write(.rename, path) {
      $0.files[path + ".bad"] = $0.files[path]
      $0.files[path] = nil
    }
    return path + ".bad"
  }

  func remove(_ path: String) throws(SystemError) { try write(.unlink, path) { $0.files[path] = nil } }

  private func write(_ call: Call, _ path: String, _ change: (inout Contents) -> Void) throws(SystemError) {
    contents.withLock { $0.writes += 1 }
    try check(call, path)
    contents.withLock { change(&$0) }
  }

  private func check(_ call: Call, _ path: String) throws(SystemError) {
    if let failure = fault.withLock({ $0(call, path) }) { throw SystemError(call.rawValue, failure, on: path) }
  }
}

/// The programs of a board, in virtual time.
@LoopActor final class VirtualPrograms {
  /// What a program does.
  enum Behaviour {
    /// It writes these lines, and ends after a while.
    case ends(ProcessEnd = .exit(0), after: Duration = .milliseconds(100), lines: [String] = [])
    /// It never ends by itself; only some signals end it.
    case hangs(endedBy: Set<Signal> = [.terminate, .kill])
    case isMissing
  }

  /// What each program does, by its path.
  var behaviours: [String: Behaviour] = [:]
  /// The runs so far, in order.
  private(set) var runs: [Run] = []
  /// How many run now, and at most at the same time.
  private(set) var running = 0 { didSet { most = max(most, running) } }
  private(set) var most = 0
  private let clock: any Scheduler

  init(_ clock: any Scheduler) { self.clock = clock }

  /// A program that was started.
  final class Run: RunningProgram {
    let arguments: [String]
    let environment: [String: String]
    let input: [UInt8]
    var onLine: ([UInt8]) -> Void = { _ in }
    var onEnd: (ProcessEnd) -> Void = { _ in }
    /// The signals that it has got, with their times.
    fileprivate(set) var signals: [(Signal, Instant)] = []
    fileprivate var onSignal: (Signal) -> Void = { _ in }

    /// The event on its standard input.
    var event: JSONValue? { try? JSONValue(parsing: input) }

    fileprivate init(_ arguments: [String], _ environment: [String], _ input: [UInt8]) {
      self.arguments = arguments
      var variables: [String: String] = [:]
      for entry in environment {
        let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        variables[String(parts[0])] = String(parts[1])
      }
      self.environment = variables
      self.input = input
    }

    func signal(_ signal: Signal) { onSignal(signal) }
  }

  func start(_ arguments: [String], _ environment: [String], _ input: [UInt8]) throws(SystemError) -> Run {
    let behaviour = behaviours[arguments[0]] ?? .ends()
    if case .isMissing = behaviour {
      throw SystemError("posix_spawn", .noSuchFile, on: arguments[0])
    }
    let run = Run(arguments, environment, input)
    runs.append(run)
    running += 1
    var hasEnded = false
    let end = { [weak self] (result: ProcessEnd) in
      guard !hasEnded else { return }
      hasEnded = true
      self?.running -= 1
      run.onEnd(result)
    }
    switch behaviour {
    case .ends(let result, let time, let lines):
      _ = clock.schedule(after: time) {
        for line in lines { run.onLine(Array(line.utf8)) }
        end(result)
      }
    case .hangs(let deadly):
      run.onSignal = { [clock] signal in
        run.signals.append((signal, clock.now))
        if deadly.contains(signal) { _ = clock.schedule(after: .zero) { end(.signal(signal)) } }
      }
    case .isMissing: break
    }
    return run
  }
}
