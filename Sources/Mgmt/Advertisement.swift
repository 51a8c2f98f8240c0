// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Wire

/// The board's advertising intervals, two of those in Apple's Accessory Design Guidelines. The raw value is the
/// interval in units of 0.625 ms.
public enum AdvertisingPace: UInt32, Hashable, Sendable {
  /// Every 20 ms.
  case fast = 32
  /// Every 152.5 ms, without a time limit.
  case slow = 244

  /// How long the fast pace lasts. The guidelines require at least 30 s; a person who pairs a phone needs longer.
  public static func fastTime(for audience: AdvertisingPlan.Audience) -> Duration {
    switch audience {
    case .anybody: .seconds(300)
    case .bonded: .seconds(30)
    case .connected, .nobody: .zero
    }
  }
}

/// The board's advertisement.
public struct Advertisement: Hashable, Sendable {
  public let profile: AdvertisingProfile
  public let name: String
  public let pace: AdvertisingPace
  /// Whether a phone may connect to it; otherwise it can only be seen.
  public internal(set) var isConnectable = true

  /// The number of the kernel's advertising instance, which each advertisement replaces.
  public static let instance: UInt8 = 1

  /// The methods of adding an instance, the best one first.
  public enum Method: Hashable, Sendable {
    /// Add Extended Advertising Parameters and Data (5.11 and newer), with its own interval.
    case extended
    /// Add Advertising, with the controller's default interval (5.9 and newer; older kernels use 1.28 s).
    case plain
    /// The same without the transmit power, which not every controller can report.
    case withoutPower

    /// The method to use if this one fails.
    public var fallback: Method? {
      switch self {
      case .extended: .plain
      case .plain: .withoutPower
      case .withoutPower: nil
      }
    }
  }

  /// The commands that put it on the air, in order. Commands that an older kernel may not know are not essential.
  public func steps(_ method: Method) -> [MgmtClient.Step] {
    var flags = profile.flags
    if isConnectable { flags.insert(.connectable) }
    if method == .withoutPower { flags.remove(.txPower) }
    let data = profile.data(name: name).encoded
    let scanResponse = profile.scanResponse(name: name).encoded
    let interval = UInt16(truncatingIfNeeded: pace.rawValue)
    return switch method {
    case .extended:
      [
        .init(
          .addExtendedAdvertisingParameters(
            instance: Self.instance, flags: flags, interval: pace.rawValue...pace.rawValue)),
        .init(
          .addExtendedAdvertisingData(
            instance: Self.instance, data: data, scanResponse: scanResponse)),
      ]
    case .plain, .withoutPower:
      [
        .init(
          .setDefaultSystemConfiguration([
            .minimumAdvertisingInterval: interval, .maximumAdvertisingInterval: interval,
          ]), isEssential: false),
        // Before 5.11, a kernel sends the data of a set that was removed and added again only if they differ from the
        // last ones (docs/kernel.md, “Data that are left out”).
        .init(
          .addAdvertising(instance: Self.instance, flags: flags, data: [], scanResponse: []),
          isEssential: false),
        .init(
          .addAdvertising(
            instance: Self.instance, flags: flags, data: data, scanResponse: scanResponse)),
      ]
    }
  }
}
