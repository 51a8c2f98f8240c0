// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Wire

/// What the advertisement carries, so that an iPhone lists the board under Settings › Bluetooth
/// and connects to it once it is bonded.
///
/// An advertisement holds 31 bytes. The kernel uses three of them for Flags, and the name gets what
/// the profile leaves of the other 28. The name is not in the scan response alone, because iOS does
/// not look for it there.
public enum AdvertisingProfile: String, Hashable, Sendable, CaseIterable {
  /// Solicits ANCS, as Apple's specification requires.
  case solicit
  /// Also carries the Heart Rate UUID: some versions of iOS list only that.
  case solicitHeartRate = "solicit+hr"
  /// A keyboard, which iOS always lists.
  case hid

  /// The bytes that a legacy advertisement or scan response holds (Vol 6 Part B, 2.3.1).
  static let capacity = 31
  /// The length of the Flags structure that the kernel adds to a discoverable advertisement.
  static let flagsLength = 3

  /// The advertisement's data, without Flags: at most 28 bytes.
  public func data(name: String) -> AdvertisingData {
    var structures = fixed
    let used = structures.reduce(Self.flagsLength) { $0 + $1.encoded.count }
    if let name = AdvertisingStructure.name(name, room: Self.capacity - used) {
      structures.append(name)
    }
    return AdvertisingData(structures)
  }

  /// The scan response: the name, in full if it fits 29 bytes.
  public static func scanResponse(name: String) -> AdvertisingData {
    AdvertisingData([AdvertisingStructure.name(name, room: capacity)].compactMap(\.self))
  }

  private var fixed: [AdvertisingStructure] {
    let solicitation = AdvertisingStructure(.solicitedUUIDs128, uuids: [.notificationCenter])
    return switch self {
    case .solicit: [solicitation]
    case .solicitHeartRate:
      [solicitation, AdvertisingStructure(.completeUUIDs16, uuids: [.heartRate])]
    case .hid:
      [
        AdvertisingStructure(.completeUUIDs16, uuids: [.humanInterfaceDevice]),
        AdvertisingStructure(.appearance, [0xC1, 0x03]),  // keyboard
      ]
    }
  }
}

// MARK: - Turns

extension AdvertisingProfile {
  /// How long a profile stays on the air before the next. iOS scans in bursts, seconds apart.
  public static let turn: Duration = .seconds(15)

  /// The profiles that take turns, in order: only the one that `--advertise` names, if it names one.
  public static func turns(of choice: Self?, pairable: Bool) -> [Self] {
    if let choice { return [choice] }
    return pairable ? [.solicit, .solicitHeartRate, .hid] : [.solicit]
  }
}
