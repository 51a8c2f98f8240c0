// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What the advertisement carries, so that an iPhone lists the board under Settings › Bluetooth
/// and dials it when it is bonded.
///
/// An advertisement holds 31 bytes. The kernel takes three of them for Flags; 28 are ours, and the
/// name gets what the rest leaves. It stands in the advertisement and not in the scan response
/// alone, where iOS does not look for it.
public enum AdvertisingProfile: String, Hashable, Sendable, CaseIterable {
  /// ANCS is solicited: what Apple's specification asks for.
  case solicit
  /// The Heart Rate service is named beside it: some iOS lists that where it hides the former.
  case solicitHeartRate = "solicit+hr"
  /// A keyboard: what iOS always lists.
  case hid

  /// Bytes that a legacy advertisement, or a scan response, holds (Vol 6 Part B, 2.3.1).
  static let capacity = 31
  /// Bytes of the Flags structure that the kernel puts in front of a discoverable advertisement.
  static let flagsLength = 3

  /// The Apple Notification Center Service.
  private static let ancs = UUID(high: 0x7905_F431_B5CE_4E99, low: 0xA40F_4B1E_122D_00D0)

  /// The advertisement's data, without Flags: at most 28 bytes.
  public func data(name: String) -> AdvertisingData {
    var structures = fixed
    let used = structures.reduce(Self.flagsLength) { $0 + $1.encoded.count }
    if let name = AdvertisingStructure.name(name, room: Self.capacity - used) {
      structures.append(name)
    }
    return AdvertisingData(structures)
  }

  /// The scan response: the name, whole where 29 bytes hold it.
  public static func scanResponse(name: String) -> AdvertisingData {
    AdvertisingData([AdvertisingStructure.name(name, room: capacity)].compactMap(\.self))
  }

  private var fixed: [AdvertisingStructure] {
    let solicitation = AdvertisingStructure(.solicitedLongUUIDs, Self.ancs.littleEndian128)
    return switch self {
    case .solicit: [solicitation]
    case .solicitHeartRate:
      [solicitation, AdvertisingStructure(.completeShortUUIDs, [0x0D, 0x18])]
    case .hid:
      [
        AdvertisingStructure(.completeShortUUIDs, [0x12, 0x18]),
        AdvertisingStructure(.appearance, [0xC1, 0x03]),  // keyboard
      ]
    }
  }
}

/// `--advertise`: one profile, or several that take turns while a phone may pair.
public enum AdvertisingChoice: Hashable, Sendable, LosslessStringConvertible {
  case auto
  case only(AdvertisingProfile)

  public init?(_ description: String) {
    if description == "auto" {
      self = .auto
    } else if let profile = AdvertisingProfile(rawValue: description) {
      self = .only(profile)
    } else {
      return nil
    }
  }

  public var description: String {
    switch self {
    case .auto: "auto"
    case .only(let profile): profile.rawValue
    }
  }

  /// How long a profile stays on air before the next has its turn: iOS scans in bursts that are
  /// seconds apart.
  public static let turn: Duration = .seconds(15)

  /// The profiles that take turns, in their order.
  public func profiles(pairable: Bool) -> [AdvertisingProfile] {
    switch self {
    case .only(let profile): [profile]
    case .auto: pairable ? [.solicit, .solicitHeartRate, .hid] : [.solicit]
    }
  }

  /// The profile of turn number `turn`, from 0 on.
  public func profile(turn: Int, pairable: Bool) -> AdvertisingProfile {
    let profiles = profiles(pairable: pairable)
    return profiles[Int(turn.magnitude % profiles.count.magnitude)]
  }
}

/// How often the board advertises, in the steps that Apple's Accessory Design Guidelines name.
public enum AdvertisingPace: Hashable, Sendable {
  /// Every 20 ms: while a phone may pair, and for `fastTime` after one was lost.
  case fast
  /// Every 152.5 ms: for good.
  case slow

  /// How long the guidelines want the fast pace at least.
  public static let fastTime: Duration = .seconds(30)

  /// The interval in units of 0.625 ms.
  public var interval: UInt32 {
    switch self {
    case .fast: 32
    case .slow: 244
    }
  }
}

/// An advertisement of ours, ready for the kernel.
public struct Advertisement: Hashable, Sendable {
  public let profile: AdvertisingProfile
  public let name: String
  public let pace: AdvertisingPace

  /// The number under which the kernel knows it; a new one takes the place of the old.
  public static let instance: UInt8 = 1

  public init(profile: AdvertisingProfile, name: String, pace: AdvertisingPace) {
    self.profile = profile
    self.name = name
    self.pace = pace
  }

  /// The commands that put it on air, in their order.
  /// - Parameter extended: whether the kernel has `addExtendedAdvertisingParameters` (5.11 and
  ///   newer, see Read Commands); without it the pace is the kernel's own, 1.28 s.
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
        instance: Self.instance, flags: flags, interval: pace.interval...pace.interval),
      .addExtendedAdvertisingData(
        instance: Self.instance, data: data, scanResponse: scanResponse),
    ]
  }
}
