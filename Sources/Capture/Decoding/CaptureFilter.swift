// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// Which of what a capture holds is shown.
public struct CaptureFilter: Hashable, Sendable {
  /// Only ATT.
  public var att = false
  /// Only what is about these services of Apple's; several add up.
  public var profiles: Set<Profile> = []
  /// Only links with this device, and nothing that belongs to no link.
  public var phone: Address?

  public init() {}

  /// Whether everything is shown.
  public var isOpen: Bool { !att && profiles.isEmpty && phone == nil }

  /// Whether a unit is shown.
  public func admits(_ unit: Unit) -> Bool {
    if let phone, !(unit.link?.isWith(phone) ?? false) { return false }
    if !att, profiles.isEmpty { return true }
    return (att && unit.layer == .att) || !unit.profiles.isDisjoint(with: profiles)
  }

  /// The frame with those of its units that are shown; nil where none is. Without a filter, frames
  /// without units are shown too: fragments, and what can't be read.
  public func apply(to frame: Frame) -> Frame? {
    if isOpen { return frame }
    var frame = frame
    frame.units.removeAll { !admits($0) }
    return frame.units.isEmpty ? nil : frame
  }
}
