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

  /// The profile of a turn; the first is number 0.
  public static func profile(turn: Int, of choice: Self?, pairable: Bool) -> Self {
    let profiles = turns(of: choice, pairable: pairable)
    return profiles[Int(turn.magnitude % profiles.count.magnitude)]
  }
}

/// How often the board advertises: two of the intervals of Apple's Accessory Design Guidelines.
/// The raw value is the interval in units of 0.625 ms.
public enum AdvertisingPace: UInt32, Hashable, Sendable {
  /// Every 20 ms: while phones may pair, and for `fastTime` after a phone was lost.
  case fast = 32
  /// Every 152.5 ms, without a time limit.
  case slow = 244

  /// The minimum time for the fast pace, by the guidelines.
  public static let fastTime: Duration = .seconds(30)
}

/// The board's advertisement.
public struct Advertisement: Hashable, Sendable {
  public let profile: AdvertisingProfile
  public let name: String
  public let pace: AdvertisingPace

  /// The number of the kernel's advertising instance, which each advertisement replaces.
  public static let instance: UInt8 = 1

  public init(profile: AdvertisingProfile, name: String, pace: AdvertisingPace) {
    self.profile = profile
    self.name = name
    self.pace = pace
  }

  /// The commands that put it on the air, in order.
  /// - Parameter extended: whether the kernel has `addExtendedAdvertisingParameters` (5.11 and
  ///   newer). Without it the interval is the kernel's own, 1.28 s.
  public func commands(extended: Bool) -> [MgmtCommand] {
    let flags: AdvertisingFlags = [.connectable, .discoverable]
    let data = profile.data(name: name).encoded
    let scanResponse = AdvertisingProfile.scanResponse(name: name).encoded
    guard extended else {
      return [
        .addAdvertising(
          instance: Self.instance, flags: flags, data: data, scanResponse: scanResponse)
      ]
    }
    return [
      .addExtendedAdvertisingParameters(
        instance: Self.instance, flags: flags, interval: pace.rawValue...pace.rawValue),
      .addExtendedAdvertisingData(instance: Self.instance, data: data, scanResponse: scanResponse),
    ]
  }
}
