// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Detects that an adapter was changed by another program.
///
/// bluetoothd may start or stop at any time. No call fails then: the adapter's settings change, our
/// advertising is removed, and its socket gets every phone (docs/kernel.md, “bluetoothd”). One
/// cause triggers several events (power off: Advertising Removed, then New Settings), so the result
/// is reported once no further event has arrived for a moment.
public struct AdapterWatch: Sendable {
  /// The maximum time between the events of one cause.
  public static let moment: Duration = .milliseconds(250)

  private var isOurChange = false
  private var suspicion: (trouble: AdapterTrouble, due: Instant)?

  public init() {}

  /// When to call `timePassed`, if at all.
  public var deadline: Instant? { suspicion?.due }

  /// The settings that the board needs. (Not connectable and discoverable: those are flags of the
  /// advertisement.)
  private static let wanted: ControllerSettings = [.powered, .bondable, .lowEnergy]

  /// Tells the watch whether this side is changing the advertising. Meanwhile its removal is
  /// expected; changed settings still are not.
  public mutating func changesAdvertising(_ isOurChange: Bool) {
    self.isOurChange = isOurChange
    if suspicion?.trouble == .advertisingRemoved { suspicion = nil }
  }

  /// Handles an event about the adapter.
  public mutating func receive(_ event: MgmtEvent, at now: Instant) {
    let found = suspicion?.trouble
    switch event {
    case .newSettings(let settings) where !settings.isSuperset(of: Self.wanted):
      let missing = Self.wanted.subtracting(settings)
      suspect(missing.contains(.powered) ? .switchedOff : .changed(missing), at: now)
    // bluetoothd does this when it starts, even if there is nothing to switch off.
    case .deviceUnblocked(let device) where device.address == Address(0):
      suspect(found == .advertisingRemoved ? .takenOver : found ?? .takenOver, at: now)
    case .advertisingRemoved(Advertisement.instance): suspect(found ?? .advertisingRemoved, at: now)
    default: break
    }
  }

  /// Returns the confirmed trouble; nothing before `deadline`.
  public mutating func timePassed(to now: Instant) -> AdapterTrouble? {
    guard let (trouble, due) = suspicion, now >= due else { return nil }
    suspicion = nil
    return trouble
  }

  private mutating func suspect(_ trouble: AdapterTrouble, at now: Instant) {
    guard !isOurChange || trouble != .advertisingRemoved else { return }
    suspicion = (trouble, now + Self.moment)
  }
}

/// A change of an adapter that was not ours.
public enum AdapterTrouble: Hashable, Sendable {
  /// It was powered off.
  case switchedOff
  /// These settings, which the board needs, were switched off.
  case changed(ControllerSettings)
  /// Our advertising instance was removed.
  case advertisingRemoved
  /// Another program has begun to manage the adapter.
  case takenOver

  /// What happened and how to fix it, in one line.
  public func sentence(adapter: ControllerIndex) -> String {
    let stop = "“ancsd doctor” says whether bluetoothd is running"
    return switch self {
    case .switchedOff:
      "\(adapter) was switched off, by rfkill or by another program: "
        + "rfkill unblock bluetooth; \(stop)"
    case .changed(let settings): "another program changed \(adapter) (\(settings) off): \(stop)"
    case .takenOver: "another program, such as bluetoothd, has begun to manage \(adapter): \(stop)"
    case .advertisingRemoved: "another program removed the advertising on \(adapter): \(stop)"
    }
  }
}
