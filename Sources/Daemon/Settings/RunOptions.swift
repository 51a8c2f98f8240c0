// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Bluetooth
import Board
import Control

/// The options of `run`, in parts by when a change takes effect.
struct RunOptions: Hashable, Sendable {
  var start = StartSettings()
  var radio = RadioSettings()
  /// Assumptions about iOS: a link keeps those that it has begun with.
  var quirks = Quirks()
  var live = LiveSettings()
}

/// What counts from the start of the daemon to its end; nil where nothing sets it.
struct StartSettings: PrintingOptions, Hashable {
  /// Where the phones come from.
  var source = Source.radio
  /// Whether to exit after the first disconnect (with the virtual phone: when its script ends).
  var once = false
  /// The name that the phone shows; nil: the host's.
  var name: String?
  /// What standard output carries.
  var output = OutputOptions()
  /// The file of settings; nil: the usual one, if it is there.
  var config: String?
  /// The path of the control socket; nil: this user's default.
  var socket: String?
  /// The directory for bonds and caches; nil: the default.
  var stateDirectory: String?
  /// Where the ATT traffic is captured to.
  var btsnoop: String?
  /// The most bytes that the capture may have.
  var captureLimit = CaptureFile.usualLimit
  /// What is kept of the events for later (`[log]`); nil: nothing.
  var history: HistorySettings?
  /// How many files the capture may have, the older ones numbered.
  var captureFiles = 1

  /// Where the phones come from.
  enum Source: Hashable, Sendable {
    /// The adapters.
    case radio
    /// A UNIX socket that a phone listens on.
    case att(path: String)
    /// The built-in phone.
    case virtualPhone
  }
}

/// What a reload changes at once.
struct LiveSettings: Hashable, Sendable {
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
  /// Whether every change of a wait is printed on standard error.
  var printsWhy = false
  var logLevel = LogLevel.notice
}
