// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Bluetooth
import Control
import Mgmt

/// The options of `run`; nil where the command line does not set one.
struct RunOptions: PrintingOptions, Hashable {
  /// Where the phones come from.
  var source = Source.radio
  /// The adapters to serve; none: every one with LE, present now or plugged in later.
  var adapters: [AdapterChoice] = []
  /// Whether to exit after the first disconnect (with the virtual phone: when its script ends).
  var once = false
  /// The name that the phone shows; nil: the host's.
  var name: String?
  var pairable = Pairable.firstPhone
  /// Whether bonds from legacy pairing, or with short keys, are kept too.
  var allowLegacy = false
  /// Whether only bonds are kept for which a number was compared or typed.
  var requiresAuthentication = false
  /// The board's IO capability while pairing; nil: `yesno` on a terminal, else `none`.
  var io: PairingIO?
  /// What the advertisement carries; nil: the profiles in turn while any phone may pair, else
  /// `solicit`.
  var advertise: AdvertisingProfile?
  /// Which address the adapters have on the air.
  var address = AddressKind.public
  /// What standard output carries.
  var output = OutputOptions()
  /// The attributes that are fetched of every notification; none is lazy fetching.
  var fetch = AttributeSelection.all
  /// How long a phone's notifications are kept when its link is lost.
  var grace = Duration.seconds(120)
  /// Whether standard output carries the `incoming` events too.
  var early = false
  /// What is made of notifications.
  var rules: [Rule] = []
  /// The programs that are run for events.
  var hooks: [Hook] = []
  var hookLimits = HookRunner.Limits()
  /// The file of settings; nil: the usual one, if it is there.
  var config: String?
  /// The path of the control socket; nil: this user's default.
  var socket: String?
  /// The directory for bonds and caches; nil: the default.
  var stateDirectory: String?
  /// Whether phones are asked for connection parameters that suit the current load.
  var tunes = true
  /// Whether every change of a wait is printed on standard error.
  var printsWhy = false
  /// Where the ATT traffic is captured to.
  var btsnoop: String?
  /// The most bytes that the capture may have.
  var captureLimit = CaptureFile.usualLimit
  /// How many files the capture may have, the older ones numbered.
  var captureFiles = 1
  var logLevel = LogLevel.notice
  /// Assumptions about iOS.
  var quirks = Quirks()

  /// Where the phones come from.
  enum Source: Hashable, Sendable {
    /// The adapters.
    case radio
    /// A UNIX socket that a phone listens on.
    case att(path: String)
    /// The built-in phone.
    case virtualPhone
  }

  /// Who may pair.
  enum Pairable: Hashable, Sendable {
    /// The first phone, for some time after the start (`PairingWindow.firstPhoneTime`).
    case firstPhone
    /// Any phone, for so many seconds after the start.
    case seconds(Int)
    case always
  }
}

/// The board's IO capability while pairing (Core Specification Vol 3 Part H, 2.3.2).
enum PairingIO: String, CaseIterable, Sendable {
  case none, display, keyboard, yesno

  /// The capability as mgmt knows it.
  var capability: IOCapability {
    switch self {
    case .none: .noInputNoOutput
    case .display: .displayOnly
    case .keyboard: .keyboardOnly
    case .yesno: .displayYesNo
    }
  }
}
