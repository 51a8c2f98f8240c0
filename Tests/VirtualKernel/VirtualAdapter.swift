// SPDX-License-Identifier: GPL-3.0-or-later
public import Mgmt
public import Wire

/// An adapter of the virtual kernel: its settings, the keys that were loaded, what it advertises, and
/// its connections.
public final class VirtualAdapter {
  /// What kind of adapter it is.
  public struct Kind: Hashable, Sendable {
    /// The public address; zero: it has none, and needs a static one before it can be powered.
    public var address = Address(0x001A_7DDA_7113)
    public var supported: ControllerSettings = [
      .powered, .connectable, .bondable, .discoverable, .lowEnergy, .advertising,
      .secureConnections, .privacy, .staticAddress, .classic, .secureSimplePairing,
      .fastConnectable, .linkSecurity,
    ]
    /// How it is found when it is plugged in.
    public var settings: ControllerSettings = .lowEnergy

    /// Whether the kernel knows that it has no valid address, so that it is unconfigured.
    public var isUnconfigured = false
    /// Whether its driver can set a public address.
    public var takesAddress = false
    /// Whether Just Works with a phone whose key the kernel has fails (docs/kernel.md, “Kernel bug: pairing
    /// again”).
    public var failsToPairAnew = false
    /// Whether the controller can tell its transmit power, so that an advertisement may have it.
    public var tellsPower = true

    public init(_ change: (inout Self) -> Void = { _ in }) { change(&self) }
  }

  /// The number in `hci0`.
  public let number: UInt16
  public let kind: Kind
  public private(set) var settings: ControllerSettings
  /// The name that was set.
  public private(set) var name = ""
  public private(set) var capability = IOCapability.noInputNoOutput
  /// The advertising data of the instance on the air; nil: it does not advertise.
  public private(set) var advertisement: [UInt8]?
  /// How often each advertisement goes out, in units of 0.625 ms; nil: the kernel's default.
  public private(set) var advertisingInterval: UInt32?
  /// The flags of the instance on the air (`MGMT_ADV_FLAG_*`).
  public private(set) var advertisingFlags: AdvertisingFlags = []
  /// The phones that are connected.
  public private(set) var connections: [Connection] = []
  /// Whether the radio is blocked.
  public internal(set) var block: VirtualKernel.RadioBlock?

  /// The Long Term Keys, as entries of Load Long Term Keys.
  private(set) var longTermKeys: [[UInt8]] = []
  /// The Identity Resolving Keys, as entries of Load Identity Resolving Keys.
  private(set) var identityKeys: [[UInt8]] = []
  private(set) var staticAddress: Address?
  /// The public address that was set.
  private(set) var publicAddress: Address?
  /// What Set Default System Configuration has set, by type.
  public private(set) var defaults: [UInt16: UInt16] = [:]
  /// The flags and the interval of an instance whose data is still to come.
  private var pending: (flags: AdvertisingFlags, interval: UInt32)?
  /// Whether the kernel has an instance that the controller has forgotten, so that power fails once.
  private var hasForgottenInstance = false
  unowned let kernel: VirtualKernel

  init(_ number: UInt16, _ kind: Kind, _ kernel: VirtualKernel) {
    self.number = number
    self.kind = kind
    self.kernel = kernel
    settings = kind.settings
  }

  /// The address that it uses on the air.
  public var address: DeviceAddress {
    if let staticAddress { return DeviceAddress(staticAddress, .random) }
    return DeviceAddress(publicAddress ?? kind.address, .public)
  }

  /// Whether it can be used.
  var isConfigured: Bool { !kind.isUnconfigured || publicAddress != nil }

  /// Whether a phone could connect now. Advertising pauses when one connects, until it is added again or any link
  /// ends (docs/kernel.md, “Advertising”).
  public var isOnAir: Bool {
    isVisible
      && (advertisingFlags.contains(.connectable) || settings.contains(.connectable))
  }

  /// Whether its advertisement can be seen now.
  public var isVisible: Bool {
    settings.isSuperset(of: [.powered, .lowEnergy]) && advertisement != nil && !isPaused
  }

  private var isPaused = false

  /// The addresses of the phones whose keys are loaded.
  public var keyedPeers: Set<DeviceAddress> {
    Set(longTermKeys.compactMap { DeviceAddress(entry: $0) })
  }

  /// The kinds of the Long Term Keys that are loaded for a phone.
  public func keyKinds(of peer: DeviceAddress) -> [LongTermKey.Kind] {
    longTermKeys.filter { DeviceAddress(entry: $0) == peer }.map {
      LongTermKey.Kind(rawValue: $0[7])
    }
  }

  // MARK: Changes

  /// Something other than a command changes the settings: every socket is told.
  func change(removing settings: ControllerSettings, except socket: ManagementSocket? = nil) {
    self.settings.subtract(settings)
    tellSettings(except: socket)
  }

  private func tellSettings(except socket: ManagementSocket?) {
    kernel.broadcast(0x0006, about: number, littleEndian(settings.rawValue), except: socket)
  }

  /// Takes the advertising instance off the air and tells every socket.
  func removeAdvertising(except socket: ManagementSocket? = nil) {
    guard advertisement != nil else { return }
    advertisement = nil
    kernel.broadcast(0x0024, about: number, [1], except: socket)  // Advertising Removed
  }

  /// Powers the adapter off, which ends every connection (docs/kernel.md, “Power off while connected”).
  /// - Parameter isBlocked: whether rfkill does; then no event tells of the links.
  public func powerOff(isBlocked: Bool = false, except socket: ManagementSocket? = nil) {
    removeAdvertising()
    for connection in connections {
      connection.end(.disconnected, reason: isBlocked ? nil : DisconnectReason.remote.rawValue)
    }
    settings.subtract(.powered)
    // Behind the events about the links.
    kernel.after(Connection.reporting) { self.tellSettings(except: socket) }
  }

  /// The radio is gone, by unplugging or by rfkill: no event tells of the links.
  func loseRadio() {
    advertisement = nil
    change(removing: .powered)
    for connection in connections { connection.end(.aborted, reason: nil) }
  }

  /// The controller was reset by a hardware error.
  func resetController() {
    hasForgottenInstance = advertisement != nil
    let before = settings
    loseRadio()
    settings = before
    tellSettings(except: nil)
  }

  /// A command was refused. One that changes the advertisement has taken it off the air by then.
  func failed(_ opcode: MgmtOpcode) {
    switch opcode {
    case .addAdvertising, .addExtendedAdvertisingParameters, .addExtendedAdvertisingData:
      advertisement = nil
    default: break
    }
  }

  func add(_ connection: Connection) {
    connections.append(connection)
    if isOnAir { isPaused = true }
  }

  func remove(_ connection: Connection) {
    connections.removeAll { $0 === connection }
    isPaused = false
  }

  // MARK: Keys

  /// The Long Term Key for a phone, as an entry.
  func longTermKey(for peer: DeviceAddress) -> [UInt8]? {
    longTermKeys.first { DeviceAddress(entry: $0) == peer }
  }

  /// Whether a phone's private address can be resolved.
  func resolves(_ phone: Handset.Kind) -> Bool { identityKeys.contains(phone.identityEntry) }

  /// Keeps what a pairing has brought.
  func keep(longTermKeys new: [[UInt8]], identityKey: [UInt8]?, of peer: DeviceAddress) {
    forget(peer)
    longTermKeys += new
    if let identityKey { identityKeys.append(identityKey) }
  }

  private func forget(_ peer: DeviceAddress) {
    longTermKeys.removeAll { DeviceAddress(entry: $0) == peer }
    identityKeys.removeAll { DeviceAddress(entry: $0) == peer }
  }

  // MARK: Commands

  public static let commands: [MgmtOpcode] =
    toggles.keys + [
      .readControllerInformation, .setLocalName, .loadLongTermKeys, .disconnect, .getConnections,
      .setIOCapability, .pairDevice, .unpairDevice, .userConfirmReply, .userConfirmNegativeReply,
      .userPasskeyReply, .userPasskeyNegativeReply, .setStaticAddress, .loadIdentityResolvingKeys,
      .getConnectionInformation, .readControllerConfiguration, .setPublicAddress, .addAdvertising,
      .removeAdvertising, .setDefaultSystemConfiguration, .addExtendedAdvertisingParameters,
      .addExtendedAdvertisingData,
    ]

  /// Performs a command and responds on the socket that it came from.
  func perform(_ opcode: MgmtOpcode, _ body: [UInt8], for socket: ManagementSocket) {
    func reply(_ status: MgmtStatus, _ reply: [UInt8] = []) {
      socket.complete(opcode.rawValue, number, status, reply)
    }
    if let setting = Self.toggles[opcode] {
      let status = set(setting, on: body.first == 1, for: socket)
      return reply(status, status == .success ? littleEndian(settings.rawValue) : [])
    }
    switch opcode {
    case .readControllerInformation: reply(.success, information)
    case .setStaticAddress, .readControllerConfiguration, .setPublicAddress:
      performOnAddress(opcode, body, reply)
    case .setIOCapability:
      capability = IOCapability(rawValue: body.first ?? 3) ?? .noInputNoOutput
      reply(.success)
    case .setLocalName:
      name = String(decoding: body.prefix(249).prefix { $0 != 0 }, as: UTF8.self)
      reply(.success, body)
    case .loadLongTermKeys:
      longTermKeys = entries(body, of: 36)
      reply(.success)
    case .loadIdentityResolvingKeys:
      identityKeys = entries(body, of: 23)
      reply(.success)
    case .setDefaultSystemConfiguration:
      for entry in stride(from: 0, to: body.count - 4, by: 5) {
        defaults[UInt16(body[entry])] = UInt16(body[entry + 3]) | UInt16(body[entry + 4]) << 8
      }
      reply(.success)
    case .addAdvertising, .removeAdvertising, .addExtendedAdvertisingParameters,
      .addExtendedAdvertisingData:
      let status = advertise(opcode, body, for: socket)
      reply(status, body.isEmpty ? [] : [body[0]])
    default: performOnPeer(opcode, body, for: socket)
    }
  }

  private func performOnAddress(_ opcode: MgmtOpcode, _ body: [UInt8], _ reply: (MgmtStatus, [UInt8]) -> Void) {
    switch opcode {
    case .setStaticAddress:
      guard !isPowered else { return reply(.rejected, []) }
      staticAddress = Address(littleEndian: body).flatMap { $0 == Address(0) ? nil : $0 }
      settings.remove(.staticAddress)
      if staticAddress != nil { settings.insert(.staticAddress) }
      reply(.success, littleEndian(settings.rawValue))
    case .readControllerConfiguration:
      let options = littleEndian(kind.takesAddress ? 2 : 0)
      let missing = isConfigured ? 0 : kind.takesAddress ? 2 : 1
      reply(.success, [2, 0] + options + littleEndian(UInt32(missing)))
    case .setPublicAddress:
      guard kind.takesAddress else { return reply(.notSupported, []) }
      guard !isPowered else { return reply(.rejected, []) }
      let wasConfigured = isConfigured
      publicAddress = Address(littleEndian: body)
      reply(.success, littleEndian(0))
      kernel.renew(self, wasConfigured: wasConfigured)
    default: break
    }
  }

  private var isPowered: Bool { settings.contains(.powered) }

  /// The connection intervals with which the kernel is content.
  public var intervalRange: ClosedRange<UInt16> {
    let minimum = defaults[0x0017] ?? 24
    return minimum...max(minimum, defaults[0x0018] ?? 40)
  }

  /// The interval of an instance without one of its own: 1.28 s, unless it was set.
  private var defaultAdvertisingInterval: UInt32 { UInt32(defaults[0x000A] ?? 0x0800) }

  private static let toggles: [MgmtOpcode: ControllerSettings] = [
    .setPowered: .powered, .setDiscoverable: .discoverable, .setConnectable: .connectable,
    .setFastConnectable: .fastConnectable, .setBondable: .bondable, .setClassic: .classic,
    .setLinkSecurity: .linkSecurity, .setSecureSimplePairing: .secureSimplePairing,
    .setLowEnergy: .lowEnergy, .setAdvertising: .advertising,
    .setSecureConnections: .secureConnections, .setPrivacy: .privacy,
  ]

  /// The rules are those of net/bluetooth/mgmt.c.
  private func set(_ setting: ControllerSettings, on: Bool, for socket: ManagementSocket) -> MgmtStatus {
    guard kind.supported.contains(setting) else { return .notSupported }
    let hasClassic = settings.contains(.classic)
    var dependent: ControllerSettings = []
    switch setting {
    case .powered: return setPowered(on, for: socket)
    case .classic where !settings.contains(.lowEnergy) || !on && isPowered && hasClassic,
      .classic where on && !hasClassic && isPowered && settings.contains(.secureConnections),
      .secureConnections where hasClassic && !settings.contains(.secureSimplePairing),
      .secureSimplePairing where !hasClassic, .linkSecurity where !hasClassic,
      .fastConnectable where !hasClassic, .lowEnergy where !on && !hasClassic,
      .discoverable where on && !settings.contains(.connectable), .privacy where isPowered:
      return .rejected
    case .classic:
      dependent = [.discoverable, .secureSimplePairing, .linkSecurity, .fastConnectable]
    case .connectable: dependent = .discoverable
    default: break
    }
    let before = settings
    if on { settings.insert(setting) } else { settings.subtract(dependent.union(setting)) }
    if settings != before { tellSettings(except: socket) }
    return .success
  }

  private func setPowered(_ on: Bool, for socket: ManagementSocket) -> MgmtStatus {
    // A blocked radio and an adapter without an address fail in the same way.
    if on, block != nil || address.address == Address(0) { return .failed }
    if on, hasForgottenInstance {
      hasForgottenInstance = false
      return .failed
    }
    if on, !isPowered {
      settings.insert(.powered)
      tellSettings(except: socket)
    }
    if !on, isPowered { powerOff(except: socket) }
    return .success
  }

  private func advertise(_ opcode: MgmtOpcode, _ body: [UInt8], for socket: ManagementSocket) -> MgmtStatus {
    if opcode == .removeAdvertising, body == [0], hasForgottenInstance {
      hasForgottenInstance = false
      return .success
    }
    if opcode == .removeAdvertising {
      guard isPowered, advertisement != nil else { return .invalidParameters }
      removeAdvertising(except: socket)
      return .success
    }
    do throws(DecodeError) {
      var reader = ByteReader(body)
      try reader.skip(1)
      if opcode != .addExtendedAdvertisingData {
        let flags = AdvertisingFlags(rawValue: try reader.u32())
        guard kind.tellsPower || !flags.contains(.txPower) else { return .invalidParameters }
        try reader.skip(4)
        pending = (flags, opcode == .addAdvertising ? defaultAdvertisingInterval : try reader.u32())
      }
      if opcode == .addExtendedAdvertisingParameters { return .success }
      let length = Int(try reader.u8())
      try reader.skip(1)
      let data = Array(try reader.bytes(length))
      // The kernel adds Flags and the transmit power, three bytes each.
      let flags = pending?.flags ?? advertisingFlags
      let added = [AdvertisingFlags.discoverable, .txPower].count { flags.contains($0) }
      // A real kernel wants the parameters first.
      guard pending != nil || advertisement != nil, data.count + 3 * added <= 31 else {
        return .invalidParameters
      }
      advertisement = data
    } catch { return .invalidParameters }
    if let pending { (advertisingFlags, advertisingInterval) = pending }
    pending = nil
    // An adapter that is off takes an instance too, and nothing goes on the air.
    isPaused = !isPowered
    return .success
  }

  private func performOnPeer(_ opcode: MgmtOpcode, _ body: [UInt8], for socket: ManagementSocket) {
    func reply(_ status: MgmtStatus, _ more: [UInt8] = []) {
      socket.complete(opcode.rawValue, number, status, Array(body.prefix(7)) + more)
    }
    if opcode == .getConnections {
      let peers = connections.flatMap { $0.peer.encoded }
      return socket.complete(opcode.rawValue, number, .success, [UInt8(peers.count / 7), 0] + peers)
    }
    guard isPowered else { return reply(.notPowered) }
    let connection = connections.first { $0.peer.encoded == Array(body.prefix(7)) }
    switch opcode {
    case .unpairDevice:
      guard let peer = DeviceAddress(entry: body) else { return reply(.invalidParameters) }
      guard longTermKey(for: peer) != nil else { return reply(.notPaired) }
      forget(peer)
      if body.last == 1 {
        connection?.end(.disconnected, reason: DisconnectReason.localHost.rawValue)
      }
      reply(.success)
    case .pairDevice:
      // Without a link the command stays pending.
      connection?.pairDevice(IOCapability(rawValue: body.last ?? 3) ?? .noInputNoOutput, socket)
    case .disconnect:
      guard let connection else { return reply(.notConnected) }
      connection.end(.disconnected, reason: DisconnectReason.localHost.rawValue)
      reply(.success)
    case .getConnectionInformation:
      // RSSI and both transmit powers, in dBm.
      reply(connection == nil ? .notConnected : .success, [UInt8(bitPattern: -60), 0, 0])
    case .userConfirmReply, .userPasskeyReply:
      guard let connection else { return reply(.notConnected) }
      reply(.success)
      let typed = body.count == 11 ? Array(body.suffix(4)) : []
      connection.reply(yes: true, passkey: typed)
    case .userConfirmNegativeReply, .userPasskeyNegativeReply:
      guard let connection else { return reply(.notConnected) }
      reply(.success)
      connection.reply(yes: false)
    default: reply(.unknownCommand)
    }
  }

  private var information: [UInt8] {
    var writer = ByteWriter()
    writer.address(publicAddress ?? kind.address)
    writer.u8(9)  // HCI version
    writer.u16(2)  // manufacturer
    writer.u32(kind.supported.rawValue)
    writer.u32(settings.rawValue)
    writer.bytes([0, 0, 0])  // Class of Device
    let name = Array(name.utf8.prefix(248))
    writer.bytes(name + [UInt8](repeating: 0, count: 249 - name.count + 11))
    return writer.bytes
  }

  private func entries(_ body: [UInt8], of length: Int) -> [[UInt8]] {
    stride(from: 2, to: body.count, by: length).map {
      Array(body[$0..<min($0 + length, body.count)])
    }
  }
}

extension DeviceAddress {
  /// The address at the beginning of a structure of the kernel's.
  init?(entry: [UInt8]) {
    var reader = ByteReader(entry)
    guard let address = try? reader.address(), let type = try? reader.u8(), let type = AddressType(rawValue: type)
    else { return nil }
    self.init(address, type)
  }

  /// `struct mgmt_addr_info`.
  var encoded: [UInt8] { address.littleEndian + [type.rawValue] }
}

extension Address {
  fileprivate init?(littleEndian bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    guard let address = try? reader.address() else { return nil }
    self = address
  }
}

func littleEndian(_ number: UInt32) -> [UInt8] {
  var writer = ByteWriter()
  writer.u32(number)
  return writer.bytes
}
