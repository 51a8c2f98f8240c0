// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
public import Mgmt
public import Wire

/// How the daemon is to run: what its command line says, and where that is silent, nothing yet.
public struct RunOptions: Hashable, Sendable {
  /// Where the phones come from.
  public var source = Source.radio
  /// The adapters to serve; none: every one that has LE, now or later.
  public var adapters: [AdapterChoice] = []
  /// Whether to leave after the first disconnect (with the virtual phone: when its script ends).
  public var once = false
  /// The name that the phone shows; nil: the host's.
  public var name: String?
  public var pairable = Pairable.untilBonded
  /// Whether bonds by legacy pairing, or with short keys, are kept too.
  public var allowLegacy = false
  /// What the board can show and take while pairing; nil: `yesno` where there is a terminal, else
  /// `none`.
  public var io: PairingIO?
  /// What the advertisement carries; nil: the profiles in turn while anybody may pair, else
  /// `solicit`.
  public var advertise: AdvertisingProfile?
  /// What standard output carries; nil: text on a terminal, else JSON Lines.
  public var format: OutputFormat?
  /// What is fetched of every notification without being asked; nothing is lazy fetching.
  public var fetch = AttributeSelection.all
  /// Whether standard output carries the `incoming` events too.
  public var early = false
  /// The path of the control socket; nil: the place that is usual for this user.
  public var socket: String?
  /// The directory for bonds and caches; nil: the usual place.
  public var stateDirectory: String?
  /// Whether phones are asked for the connection parameters that suit the work.
  public var tunes = true
  /// Whether every change of what is waited for is printed on standard error.
  public var printsWhy = false
  /// Where the ATT traffic is captured to.
  public var btsnoop: String?
  public var logLevel = LogLevel.notice
  /// What is believed about iOS.
  public var quirks = Quirks()

  public init() {}

  /// Where the phones come from.
  public enum Source: Hashable, Sendable {
    /// The adapters.
    case radio
    /// A socket that a phone listens on.
    case att(path: String)
    /// The phone that is built in.
    case virtualPhone
  }

  /// Who may pair.
  public enum Pairable: Hashable, Sendable {
    /// Anybody, as long as nobody is bonded to the adapter.
    case untilBonded
    /// Anybody, for so many seconds from the start on.
    case seconds(Int)
    case always
  }
}

/// An adapter as it is named on the command line.
public enum AdapterChoice: Hashable, Sendable {
  /// By its number, as in `hci0`.
  case index(UInt16)
  case address(Address)
}

extension AdapterChoice: LosslessStringConvertible {
  /// Reads `hci0` or `00:1A:7D:DA:71:13`.
  public init?(_ description: String) {
    if let address = Address(description) {
      self = .address(address)
    } else if description.hasPrefix("hci"), let index = UInt16(description.dropFirst(3)),
      index != UInt16.max, description.dropFirst(3).utf8.allSatisfy({ (48...57).contains($0) })
    {
      self = .index(index)
    } else {
      return nil
    }
  }

  public var description: String {
    switch self {
    case .index(let index): "hci\(index)"
    case .address(let address): address.description
    }
  }
}

/// What the board can show and take while pairing (Core Specification Vol 3 Part H, 2.3.2).
public enum PairingIO: String, CaseIterable, Sendable {
  case none, display, keyboard, yesno

  /// The kernel's word for it.
  public var capability: IOCapability {
    switch self {
    case .none: .noInputNoOutput
    case .display: .displayOnly
    case .keyboard: .keyboardOnly
    case .yesno: .displayYesNo
    }
  }
}

/// What is printed: text for people, or JSON Lines.
public enum OutputFormat: String, CaseIterable, Sendable {
  case text, json
}

/// How much is said on standard error; numbered as syslog's priorities are (RFC 5424, 6.2.1).
public enum LogLevel: Int, CaseIterable, Comparable, Sendable {
  case error = 3
  case warning, notice, info, debug

  public static func < (one: LogLevel, other: LogLevel) -> Bool { one.rawValue < other.rawValue }

  /// The names that `--log-level` takes.
  public var name: String { "\(self)" }
}
