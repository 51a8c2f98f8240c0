// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Mgmt

/// What the command line of `run` says; nil where it says nothing.
struct RunOptions: Hashable, Sendable {
  /// Where the phones come from.
  var source = Source.radio
  /// The adapters to serve; none: every one that has LE, now or later.
  var adapters: [AdapterChoice] = []
  /// Whether to leave after the first disconnect (with the virtual phone: when its script ends).
  var once = false
  /// The name that the phone shows; nil: the host's.
  var name: String?
  var pairable = Pairable.untilBonded
  /// Whether bonds by legacy pairing, or with short keys, are kept too.
  var allowLegacy = false
  /// What the board can show and take while pairing; nil: `yesno` where there is a terminal, else
  /// `none`.
  var io: PairingIO?
  /// What the advertisement carries; nil: the profiles in turn while anybody may pair, else
  /// `solicit`.
  var advertise: AdvertisingProfile?
  /// What standard output carries; nil: text on a terminal, else JSON Lines.
  var format: OutputFormat?
  /// What is fetched of every notification without being asked; nothing is lazy fetching.
  var fetch = AttributeSelection.all
  /// Whether standard output carries the `incoming` events too.
  var early = false
  /// The path of the control socket; nil: the place that is usual for this user.
  var socket: String?
  /// The directory for bonds and caches; nil: the usual place.
  var stateDirectory: String?
  /// Whether phones are asked for the connection parameters that suit the work.
  var tunes = true
  /// Whether every change of what is waited for is printed on standard error.
  var printsWhy = false
  /// Where the ATT traffic is captured to.
  var btsnoop: String?
  var logLevel = LogLevel.notice
  /// What is believed about iOS.
  var quirks = Quirks()

  /// Where the phones come from.
  enum Source: Hashable, Sendable {
    /// The adapters.
    case radio
    /// A socket that a phone listens on.
    case att(path: String)
    /// The phone that is built in.
    case virtualPhone
  }

  /// Who may pair.
  enum Pairable: Hashable, Sendable {
    /// Anybody, as long as nobody is bonded to the adapter.
    case untilBonded
    /// Anybody, for so many seconds from the start on.
    case seconds(Int)
    case always
  }
}

/// What the board can show and take while pairing (Core Specification Vol 3 Part H, 2.3.2).
enum PairingIO: String, CaseIterable, Sendable {
  case none, display, keyboard, yesno

  /// The kernel's word for it.
  var capability: IOCapability {
    switch self {
    case .none: .noInputNoOutput
    case .display: .displayOnly
    case .keyboard: .keyboardOnly
    case .yesno: .displayYesNo
    }
  }
}
