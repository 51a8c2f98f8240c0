// SPDX-License-Identifier: GPL-3.0-or-later
public import GAP
import Wire

/// The content of the advertisement, which makes an iPhone list the board under Settings › Bluetooth and connect to it
/// once it is bonded. Each profile is documented to have worked with some version of iOS (docs/guesses.md).
///
/// An advertisement holds 31 bytes, and so does the scan response. The kernel adds Flags and the
/// transmit power, three bytes each, and the name gets the space that the profile leaves.
public enum AdvertisingProfile: String, Hashable, Sendable, CaseIterable {
  /// Solicits ANCS, as Apple's specification requires.
  case solicit
  /// Solicits Current Time by its 16-bit UUID, which leaves room for the name.
  case time
  /// The Heart Rate UUID and the name; the solicitation of ANCS is in the scan response.
  case heartRate = "hr"
  /// Solicits ANCS with manufacturer's and service data, like a board that worked with an iPhone 15 Pro; the name is
  /// only in the scan response.
  case solicitWithData = "solicit+data"
  /// Solicits ANCS, and has the Heart Rate UUID.
  case solicitHeartRate = "solicit+hr"
  /// A keyboard, which iOS always lists.
  case hid

  /// The capacity of a legacy advertisement or scan response in bytes (Vol 6 Part B, 2.3.1).
  static let capacity = 31

  /// What the kernel adds to the data.
  public var flags: AdvertisingFlags {
    switch self {
    case .solicit, .time, .heartRate, .hid: [.discoverable, .txPower]
    // No room for the transmit power.
    case .solicitHeartRate: .discoverable
    // Has its own Flags, after everything else.
    case .solicitWithData: []
    }
  }

  /// Whether the advertisement itself solicits ANCS.
  public var solicitsNotifications: Bool { fixed.contains(Self.solicitation) }

  /// The advertisement's data, without the kernel's additions.
  public func data(name: String) -> AdvertisingData {
    // The kernel adds three bytes for each.
    let added = [AdvertisingFlags.discoverable, .txPower].count { flags.contains($0) } * 3
    let used = fixed.reduce(added) { $0 + $1.encoded.count }
    let name = AdvertisingStructure.name(name, atMost: Self.capacity - used)
    return AdvertisingData(fixed + [name].compactMap(\.self))
  }

  /// The scan response: the name, in full if it fits.
  public func scanResponse(name: String) -> AdvertisingData {
    let others = self == .heartRate ? [Self.solicitation] : []
    let used = others.reduce(0) { $0 + $1.encoded.count }
    let name = AdvertisingStructure.name(name, atMost: Self.capacity - used)
    return AdvertisingData(others + [name].compactMap(\.self))
  }

  private var fixed: [AdvertisingStructure] {
    switch self {
    case .solicit: [Self.solicitation]
    case .time: [AdvertisingStructure(.solicitedUUIDs16, uuids: [.currentTimeService])]
    case .heartRate: [AdvertisingStructure(.completeUUIDs16, uuids: [.heartRate])]
    case .solicitWithData:
      [
        Self.solicitation, AdvertisingStructure(.manufacturerData, [0xFF, 0xFF, 0x00]),
        AdvertisingStructure(.serviceData16, [0x99, 0x99, 0x00]), AdvertisingStructure(.flags, [0x06]),
      ]
    case .solicitHeartRate:
      [Self.solicitation, AdvertisingStructure(.completeUUIDs16, uuids: [.heartRate])]
    case .hid:
      [
        AdvertisingStructure(.completeUUIDs16, uuids: [.humanInterfaceDevice]),
        AdvertisingStructure(.appearance, [0xC1, 0x03]),  // keyboard
      ]
    }
  }

  private static let solicitation = AdvertisingStructure(.solicitedUUIDs128, uuids: [.notificationCenter])
}

// MARK: - Turns

extension AdvertisingProfile {
  /// How long a profile stays on the air before the next. iOS scans in bursts, seconds apart; one rotation takes the
  /// half minute in which a phone should find a board.
  public static let turn: Duration = .seconds(5)

  /// The profiles in rotation, in order; only one if `--advertise` names it.
  public static func turns(of choice: Self?, for audience: AdvertisingPlan.Audience) -> [Self] {
    switch audience {
    case .anybody: choice.map { [$0] } ?? allCases
    case .bonded, .nobody: [choice ?? .solicit]
    case .connected: [choice.flatMap { $0.solicitsNotifications ? $0 : nil } ?? .solicit]
    }
  }
}
