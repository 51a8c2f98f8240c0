// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Notices that an adapter was taken away or changed by somebody else.
///
/// bluetoothd may start or stop at any time: nothing fails then, the adapter's settings change, our
/// advertising is removed and its socket gets every phone (kernel.md, i). The kernel tells one cause
/// in several events (power off: Advertising Removed, then New Settings), so the verdict waits until
/// a moment has passed without another.
public struct AdapterWatch: Hashable, Sendable {
  /// How long the events of one cause may lie apart.
  public static let moment: Duration = .milliseconds(250)

  /// When `timePassed` wants to be called, if at all.
  public private(set) var deadline: Instant?

  private let wanted: ControllerSettings
  private var isOurs = false
  private var found: AdapterTrouble?

  /// A watch over an adapter that was set up and has these settings since.
  public init(settings: ControllerSettings) {
    wanted = settings.intersection(Self.essential)
  }

  /// What the board cannot do without. (Discoverable is not among it: the advertisement says it.)
  private static let essential: ControllerSettings = [
    .powered, .connectable, .bondable, .lowEnergy,
  ]

  /// Whether this side changes the advertising just now, so that what happens to that is no trouble.
  /// What happens to the settings still is: they are not changed with it.
  public mutating func changesAdvertising(_ isOurs: Bool) {
    self.isOurs = isOurs
    guard found == .advertisingRemoved else { return }
    found = nil
    deadline = nil
  }

  /// An event about the adapter: what is certain at once.
  public mutating func receive(_ event: MgmtEvent, at now: Instant) -> AdapterTrouble? {
    switch event {
    case .indexRemoved:
      found = nil
      deadline = nil
      return .removed
    case .newSettings(let settings) where !settings.isSuperset(of: wanted):
      let missing = wanted.subtracting(settings)
      note(missing.contains(.powered) ? .switchedOff : .changed(missing), at: now)
    case .advertisingRemoved(Advertisement.instance):
      note(found ?? .advertisingRemoved, at: now)
    default:
      break
    }
    return nil
  }

  /// Time has passed; nothing happens before `deadline`.
  public mutating func timePassed(to now: Instant) -> AdapterTrouble? {
    guard let deadline, now >= deadline else { return nil }
    defer { found = nil }
    self.deadline = nil
    return found
  }

  private mutating func note(_ trouble: AdapterTrouble, at now: Instant) {
    guard !isOurs || trouble != .advertisingRemoved else { return }
    found = trouble
    deadline = now + Self.moment
  }
}

/// What happened to an adapter without our doing.
public enum AdapterTrouble: Hashable, Sendable {
  /// It was unplugged.
  case removed
  /// It was powered off.
  case switchedOff
  /// These settings, which we need, were switched off.
  case changed(ControllerSettings)
  /// Our advertising was taken off the air.
  case advertisingRemoved

  /// What happened and what mends it, in one line.
  public func sentence(adapter: ControllerIndex) -> String {
    let stop = "if bluetoothd runs: systemctl disable --now bluetooth"
    return switch self {
    case .removed: "\(adapter) is gone; plug it in again, the rest happens by itself"
    case .switchedOff:
      "\(adapter) was switched off, by rfkill or by another program: "
        + "rfkill unblock bluetooth; \(stop)"
    case .changed(let settings):
      "another program changed \(adapter) (\(settings) off): \(stop)"
    case .advertisingRemoved:
      "another program took the advertising off \(adapter): \(stop)"
    }
  }
}
