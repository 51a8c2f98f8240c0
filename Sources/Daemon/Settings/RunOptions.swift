// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Bluetooth
import Board
import Control
import System

/// The options of `run`, in parts by when a change takes effect.
struct RunOptions: Hashable, Sendable {
  var start = StartSettings()
  var radio = RadioSettings()
  /// Assumptions about iOS: a link keeps those that it started with.
  var quirks = Quirks()
  var live = LiveSettings()
}

/// Settings that are fixed while the daemon runs; nil if not set.
struct StartSettings: PrintingOptions, Hashable {
  /// Where the phones come from.
  var source = Source.radio
  /// Whether to exit after the first disconnect (with the virtual phone: when its script ends).
  var once = false
  /// The name that the phone shows; nil: the host's.
  var name: String?
  /// The form of standard output.
  var output = OutputOptions()
  /// The settings file; nil: the default one, if it exists.
  var config: String?
  /// The path of the control socket; nil: this user's default.
  var socket: String?
  /// The directory for bonds and caches; nil: the default.
  var stateDirectory: String?
  /// The file to capture the ATT traffic to.
  var btsnoop: String?
  /// The maximum size of the capture in bytes.
  var captureLimit = CaptureFile.usualLimit
  /// The history of events (`[log]`); nil: none.
  var history: HistoryReport?
  /// The maximum number of capture files; older ones are numbered.
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

/// Settings that a reload changes immediately.
struct LiveSettings: Hashable, Sendable {
  /// The attributes to fetch for every notification; none means lazy fetching.
  var fetch = AttributeSelection.all
  /// How long to keep a phone's notifications after its link is lost.
  var grace = Duration.seconds(120)
  /// Whether to print the `incoming` events too.
  var early = false
  /// The rules for notifications.
  var rules: [Rule] = []
  /// The programs to run for events.
  var hooks: [Hook] = []
  var hookLimits = HookRunner.Limits()
  /// Rules and hooks as tables of a settings file, for `config show`.
  var tables: [String] = []
  /// The destinations of `ancsd forward`, for the status.
  var forwards: [ForwardTarget] = []
  /// Whether to print every change of a wait on standard error.
  var printsWhy = false
  var logLevel = LogLevel.notice
}
