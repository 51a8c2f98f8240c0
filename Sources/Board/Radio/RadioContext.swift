// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Control
import EventLoop
import Mgmt
import Wire

/// Serves links, whatever they come from.
@LoopActor package protocol LinkServer: AnyObject {
  /// Whether no link is served any more, because the daemon stops.
  var isStopping: Bool { get }
  /// Runs a session on a link, until it ends.
  ///
  /// - Returns: whether the session ever subscribed.
  @discardableResult func serve(_ link: any Link) async -> Bool
  /// What is to be on the air beside a phone on this adapter that does not share its notifications yet; nil: none
  /// is there.
  func sharingAdvertisement(on adapter: String) -> SharingAdvertisement?
  /// Drops everything known of a phone whose bond was removed.
  func forget(_ phone: DeviceAddress)
}

/// What a daemon gives to its radio.
@LoopActor package struct RadioContext {
  let settings: RadioSettings
  /// The name that phones see.
  let name: String
  /// The name of this life of the daemon.
  let life: String
  let platform: any Platform
  let log: Log
  /// For lines that any phone in reach can cause, however often it comes.
  let strangersLog: Log
  let feed: EventFeed
  let waits: WaitBoard
  let timeline: Timeline
  let bonds: BondStore
  unowned let sessions: any LinkServer

  package init(
    _ settings: RadioSettings, name: String, life: String, _ platform: any Platform, _ log: Log,
    strangersLog: Log, _ feed: EventFeed, _ waits: WaitBoard, _ timeline: Timeline,
    _ bonds: BondStore, _ sessions: any LinkServer
  ) {
    self.settings = settings
    self.name = name
    self.life = life
    self.platform = platform
    self.log = log
    self.strangersLog = strangersLog
    self.feed = feed
    self.waits = waits
    self.timeline = timeline
    self.bonds = bonds
    self.sessions = sessions
  }
}

/// What the radio is told by the settings. It is handed them when the daemon starts, and keeps them to its end:
/// who may pair does not change while phones are near.
package struct RadioSettings: Hashable, Sendable {
  /// The adapters to serve; none: every one with LE, present now or plugged in later.
  package var adapters: [AdapterChoice] = []
  /// Which address the adapters have on the air.
  package var address = AddressKind.public
  package var pairable = Pairable.firstPhone
  /// Whether bonds from legacy pairing, or with short keys, are kept too.
  package var allowLegacy = false
  /// Whether only bonds are kept for which a number was compared or typed.
  package var requiresAuthentication = false
  /// The board's IO capability while pairing; nil: `yesno` on a terminal, else `none`.
  package var io: PairingIO?
  /// What the advertisement carries; nil: the profiles in turn while any phone may pair, else
  /// `solicit`.
  package var advertise: AdvertisingProfile?
  /// Whether phones are asked for connection parameters that suit the current load.
  package var tunes = true

  package init() {}

  /// Who may pair.
  package enum Pairable: Hashable, Sendable {
    /// The first phone, for some time after the start (`PairingWindow.firstPhoneTime`).
    case firstPhone
    /// Any phone, for so many seconds after the start.
    case seconds(Int)
    case always
  }

  /// Which phones may pair, of a board that was started then.
  func pairingRule(since start: Instant) -> PairingWindow.Rule {
    switch pairable {
    case .firstPhone: .firstPhone(until: start + PairingWindow.firstPhoneTime)
    case .seconds(let seconds): .until(start + .seconds(seconds))
    case .always: .always
    }
  }

  /// Which pairings and bonds are accepted.
  ///
  /// - Parameters:
  ///   - isInteractive: whether somebody can answer at the daemon's terminal.
  ///   - pause: how long a bonded phone has to encrypt by itself.
  /// - Throws: that nothing could be accepted.
  package func policy(
    isInteractive: Bool, pause: Duration
  ) throws(Failure) -> PairingPolicy {
    let capability = (io ?? (isInteractive ? .yesno : .none)).capability
    guard !requiresAuthentication || capability != .noInputNoOutput else {
      throw Failure(
        .usage, "--require-mitm", "the board can neither show a number nor take one",
        remedy: "set --io display, keyboard or yesno")
    }
    return PairingPolicy(
      capability: capability, allowsLegacy: allowLegacy,
      requiresAuthentication: requiresAuthentication, pause: pause)
  }
}

/// The board's IO capability while pairing (Core Specification Vol 3 Part H, 2.3.2).
package enum PairingIO: String, CaseIterable, Sendable {
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
