// SPDX-License-Identifier: GPL-3.0-or-later
public import GAP
public import Wire

/// Decides which connection parameters a link should have, and when to request them from the phone.
///
///     encrypted ── 1 s ──▶ fast ── nothing to fetch for a while ──▶ idle ── a burst ──▶ fast …
///
/// The first request is sent early, because the phone starts with a supervision timeout of 720 ms,
/// but not during the phone's own procedures at the start of the link.
///
/// One request is pending at a time. A failed request is repeated a few times, five seconds apart,
/// and then dropped until other parameters are wanted. If the controller refuses the command, it is
/// not sent again.
public struct LinkTuner: Hashable, Sendable {
  /// The delay of the first request after encryption.
  static let delay: Duration = .seconds(1)
  /// The backlog that counts as a burst. Fewer are fetched before a change would take effect.
  static let burst = 4
  /// How long there must be nothing to fetch before the link is made idle.
  static let quiet: Duration = .seconds(10)
  /// How long a response may take, and the time between two attempts.
  static let pause: Duration = .seconds(5)
  /// How many times the same parameters are requested.
  static let tries = 3

  /// When to call `timePassed`; nil: not at all.
  public var deadline: Instant? {
    request == .refused ? nil : [request.deadline, idleDue].compactMap { $0 }.min()
  }

  private var wanted = ConnectionParameters.fast
  private var request: Request
  private var triesLeft = Self.tries
  private var idleDue: Instant?
  /// Whether there is work; initially true, for the set-up.
  private var isBusy = true

  private enum Request: Hashable, Sendable {
    case none
    case underWay(ConnectionParameters, until: Instant)
    /// The first request, or a retry, is due at this time.
    case postponed(until: Instant)
    /// The controller does not accept the command: there are no others.
    case refused

    var deadline: Instant? {
      switch self {
      case .none, .refused: nil
      case .underWay(_, let until), .postponed(let until): until
      }
    }
  }

  /// A tuner for a link that has just been encrypted.
  public init(at now: Instant) { request = .postponed(until: now + Self.delay) }

  /// `backlog` notifications are waiting to be fetched. The first call means that the session is
  /// up.
  ///
  /// - Returns: the parameters to ask the phone for, if any.
  public mutating func work(backlog: Int, at now: Instant) -> ConnectionParameters? {
    isBusy = backlog > 0
    if backlog >= Self.burst { return want(.fast, at: now) }
    if isBusy { idleDue = nil } else if wanted == .fast { idleDue = idleDue ?? now + Self.quiet }
    return nil
  }

  /// The link's parameters have changed, or failed to (a status other than 0).
  ///
  /// - Returns: the parameters to ask the phone for, if any.
  public mutating func updated(status: UInt8, at now: Instant) -> ConnectionParameters? {
    guard case .underWay(let asked, _) = request else { return nil }
    request = .none
    if asked != wanted { return ask(at: now) }
    if status != 0, triesLeft > 0 { request = .postponed(until: now + Self.pause) }
    return nil
  }

  /// The controller does not accept the command.
  public mutating func refused() { request = .refused }

  /// Time has passed; does nothing before `deadline`.
  ///
  /// - Returns: the parameters to ask the phone for, if any.
  public mutating func timePassed(to now: Instant) -> ConnectionParameters? {
    guard let deadline, now >= deadline else { return nil }
    if let due = idleDue, due <= now {
      idleDue = nil
      return want(.idle, at: now)
    }
    request = .none
    return ask(at: now)
  }

  private mutating func want(_ parameters: ConnectionParameters, at now: Instant) -> ConnectionParameters? {
    idleDue = parameters == .fast && !isBusy ? now + Self.quiet : nil
    guard wanted != parameters else { return nil }
    wanted = parameters
    triesLeft = Self.tries
    if case .underWay = request { return nil }
    return ask(at: now)
  }

  private mutating func ask(at now: Instant) -> ConnectionParameters? {
    guard triesLeft > 0, request != .refused else { return nil }
    triesLeft -= 1
    request = .underWay(wanted, until: now + Self.pause)
    return wanted
  }
}

/// The parameters that are requested. Both have a supervision timeout of six seconds; a phone starts with 720 ms, and a
/// hand over the antenna is enough to lose such a link.
extension ConnectionParameters {
  /// While a burst is fetched: 15 to 30 ms.
  static let fast = Self(minimumInterval: 12, maximumInterval: 24, latency: 0, timeout: 600)
  /// While the link is idle: 150 to 165 ms.
  static let idle = Self(minimumInterval: 120, maximumInterval: 132, latency: 4, timeout: 600)
}

/// Which phones are not asked for connection parameters for a while, because they have dropped the link soon after a
/// request: iOS 26 does with some accessories (docs/guesses.md).
public struct ParameterPatience: Hashable, Sendable {
  /// How soon after a request a drop counts.
  public static let soon: Duration = .seconds(10)
  /// How many drops in a row count.
  public static let drops = 2
  /// How long a phone is not asked then.
  public static let pause: Duration = .seconds(24 * 3600)
  /// The reasons that count: Connection Timeout, LL Response Timeout, Instant Passed (Vol 1 Part F, 1.3).
  static let reasons: Set<UInt8> = [0x08, 0x22, 0x28]

  private struct Record: Hashable, Sendable {
    var asked: Instant
    var drops = 0
  }

  private var records: [DeviceAddress: Record] = [:]
  private var pauses: [DeviceAddress: Instant] = [:]

  public init() {}

  /// How long a phone is not asked any more; nil: it may be.
  public func pause(of phone: DeviceAddress, at now: Instant) -> Duration? {
    pauses[phone].flatMap { now < $0 ? $0 - now : nil }
  }

  /// A phone is asked for parameters.
  public mutating func asked(_ phone: DeviceAddress, at now: Instant) {
    pauses = pauses.filter { now < $0.value }
    records[phone, default: Record(asked: now)].asked = now
  }

  /// A phone's link has ended.
  ///
  /// - Returns: whether it is not asked from now on.
  public mutating func ended(_ phone: DeviceAddress, reason: UInt8, at now: Instant) -> Bool {
    guard var record = records.removeValue(forKey: phone) else { return false }
    guard Self.reasons.contains(reason), now - record.asked <= Self.soon else { return false }
    record.drops += 1
    guard record.drops >= Self.drops else {
      records[phone] = record
      return false
    }
    pauses[phone] = now + Self.pause
    return true
  }
}
