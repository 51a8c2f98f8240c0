// SPDX-License-Identifier: GPL-3.0-or-later
public import Mgmt
public import VirtualPhone
public import Wire

/// The radio and the Security Manager of a phone, and the person who holds it. What the phone serves is
/// its `VirtualPhone`.
public final class Handset {
  /// What kind of phone it is.
  public struct Kind: Hashable, Sendable {
    public var identity = DeviceAddress(Address(0xC011_2233_4455), .random)
    /// The resolvable private address that it uses on the air; nil: it uses its identity.
    public var privateAddress: Address? = Address(0x4ABB_2233_4455)
    /// Every byte of its Identity Resolving Key.
    public var identityKey: UInt8 = 0xA5
    /// What it can show and take while pairing.
    public var capability = IOCapability.keyboardDisplay
    public var isSecureConnections = true

    public init(_ change: (inout Self) -> Void = { _ in }) { change(&self) }

    /// Its Identity Resolving Key, as an entry of Load Identity Resolving Keys.
    var identityEntry: [UInt8] { identity.encoded + [UInt8](repeating: identityKey, count: 16) }
  }

  /// What the person does when the phone asks whether to pair.
  public enum Consent: Hashable, Sendable {
    case accepts(after: Duration)
    case refuses(after: Duration)
    /// Nobody looks at the phone.
    case ignores
  }

  /// An order of New Identity Resolving Key, New Long Term Key and the response to Pair Device.
  public enum KeyOrder: Hashable, Sendable, CaseIterable {
    /// As kernels were seen to do it.
    case identityFirst
    case longTermFirst
    case responseFirst
  }

  public let kind: Kind
  /// The phone's services. It outlives its connections.
  public let phone: VirtualPhone
  public var consent = Consent.accepts(after: .seconds(3))
  /// After how long a bonded phone encrypts by itself; nil: only when it is asked to.
  public var encryptsAfter: Duration? = .milliseconds(20)
  /// Whether a Security Request makes a bonded phone encrypt.
  public var heedsRequests = true
  /// After how long a phone without a bond has read something that requires encryption, and pairs by
  /// itself; nil: only when it is asked to.
  public var pairsAfter: Duration?
  /// How far the phone's ATT channel is behind Device Connected; below zero it comes first.
  public var channelDelay: Duration = .milliseconds(4)
  /// Whether the end of a link shows by its mgmt event first, not by the channel.
  public var endsWithEventFirst = false
  /// Whether the person types the number that the board shows, or a wrong one.
  public var typesCorrectly = true
  /// In which order the kernel tells of the keys and responds to Pair Device.
  public var keyOrder = KeyOrder.identityFirst
  /// Says what becomes of a PDU on the air; nil: it is lost. `toPhone` tells the direction.
  public var transform: (_ pdu: [UInt8], _ toPhone: Bool) -> [UInt8]? = { pdu, _ in pdu }
  /// Says what becomes of a PDU on the air; `toPhone` tells the direction. What fails becomes another PDU.
  public var fate: (_ pdu: [UInt8], _ toPhone: Bool) -> Fate<[UInt8]> = { _, _ in .arrives }
  /// What is connected to the link in place of `phone`.
  public var otherServer: ((VirtualLink.End) -> Void)?
  /// Whether the daemon reads the ATT socket's error, when the phone has refused, before it reads on the
  /// mgmt socket that pairing has failed.
  public var isRefusalReadLate = false
  /// The number that the phone shows, for the board's user to type or to compare.
  public var shownPasskey: UInt32 = 271_828
  /// The present connection.
  public internal(set) weak var connection: Connection?

  /// The keys of its bonds, by the boards' addresses.
  private var keys: [DeviceAddress: [UInt8]] = [:]
  private let scheduler: any Scheduler
  private var lastKey: UInt8 = 0

  public init(_ kind: Kind = .init(), scheduler: any Scheduler) {
    self.kind = kind
    self.scheduler = scheduler
    var configuration = VirtualPhone.Configuration()
    (configuration.rules, configuration.isEncrypted) = (Self.rules, false)
    phone = VirtualPhone(configuration, scheduler: scheduler)
  }

  /// The rules of real phones that ours keeps unless a test says otherwise.
  private static let rules: PhoneRules = {
    var rules = PhoneRules()
    (rules.strikes, rules.textLimit, rules.modifiesOnce) = (3, 512, true)
    return rules
  }()

  /// The address on the air.
  public var address: DeviceAddress {
    kind.privateAddress.map { DeviceAddress($0, .random) } ?? kind.identity
  }

  // MARK: What the person or the air does

  /// Connects to an adapter; false where that is not on the air.
  @discardableResult
  public func connect(to adapter: VirtualAdapter) -> Bool {
    guard adapter.isOnAir, connection == nil, phone.accepts(isBonded: isBonded(to: adapter)) else {
      return false
    }
    let connection = Connection(adapter, self, scheduler: scheduler)
    self.connection = connection
    adapter.add(connection)
    connection.begin()
    return true
  }

  /// Ends the connection in an orderly way.
  public func leave() { connection?.end(.disconnected, reason: DisconnectReason.remote.rawValue) }

  /// Carries the phone out of range: the link is lost.
  public func goOutOfRange() {
    connection?.end(.timedOut, reason: DisconnectReason.timeout.rawValue)
  }

  /// The link ends for a reason that the kernel has no error for: it looks like that of different keys.
  public func dropUnnamed() { connection?.end(.keysDiffer, reason: 0) }

  /// The phone begins to pair by itself.
  public func pair() { connection?.phonePairs() }

  /// The phone sends a PDU that its services would not.
  public func say(_ pdu: [UInt8]) { connection?.say(pdu) }

  /// “Forget This Device”.
  public func forget(_ board: VirtualAdapter) {
    keys[board.address] = nil
    _ = try? phone.perform(.tap)
  }

  /// Whether it and a board hold the same key.
  public func hasWorkingBond(with board: VirtualAdapter) -> Bool {
    guard let key = keys[board.address] else { return false }
    return [kind.identity, address].contains { board.longTermKey(for: $0)?.suffix(16) == key[...] }
  }

  /// Has the phone keep another key than the board, as after a restored backup, or one that it has invented.
  public func spoilKey(of board: VirtualAdapter) { _ = makeKey(for: board.address) }

  /// Whether it has a key for a board.
  public func isBonded(to board: VirtualAdapter) -> Bool { keys[board.address] != nil }

  // MARK: Keys

  func key(for board: DeviceAddress) -> [UInt8]? { keys[board] }

  /// A new key for a board.
  func makeKey(for board: DeviceAddress) -> [UInt8] {
    lastKey += 1
    // Two phones make different keys, also where one claims to be the other.
    let own = [kind.identityKey] + [UInt8](repeating: lastKey, count: 9)
    let key = kind.identity.address.littleEndian + own
    keys[board] = key
    return key
  }
}
