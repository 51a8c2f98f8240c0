// SPDX-License-Identifier: GPL-3.0-or-later
public import GAP
import Wire

/// What the advertisement carries, so that an iPhone lists the board under Settings › Bluetooth
/// and connects to it once it is bonded. Each is documented to have worked with some version of iOS
/// (docs/guesses.md).
///
/// An advertisement holds 31 bytes, and so does the scan response. The kernel adds Flags and the
/// transmit power, three bytes each, and the name gets what the profile leaves.
public enum AdvertisingProfile: String, Hashable, Sendable, CaseIterable {
  /// Solicits ANCS, as Apple's specification requires.
  case solicit
  /// Solicits Current Time by its 16-bit UUID, which leaves room for the name.
  case time
  /// The Heart Rate UUID and the name; the solicitation of ANCS is in the scan response.
  case heartRate = "hr"
  /// Solicits ANCS with manufacturer's and service data, as a board did that an iPhone 15 Pro answered;
  /// the name is in the scan response alone.
  case solicitWithData = "solicit+data"
  /// Solicits ANCS, and has the Heart Rate UUID.
  case solicitHeartRate = "solicit+hr"
  /// A keyboard, which iOS always lists.
  case hid

  /// The bytes that a legacy advertisement or scan response holds (Vol 6 Part B, 2.3.1).
  static let capacity = 31

  /// What the kernel adds to the data.
  public var flags: AdvertisingFlags {
    switch self {
    case .solicit, .time, .heartRate, .hid: [.discoverable, .txPower]
    // No room for the transmit power.
    case .solicitHeartRate: .discoverable
    // Has Flags of its own, behind everything else.
    case .solicitWithData: []
    }
  }

  /// Whether the advertisement itself solicits ANCS.
  public var solicitsNotifications: Bool {
    switch self {
    case .solicit, .solicitWithData, .solicitHeartRate: true
    case .time, .heartRate, .hid: false
    }
  }

  /// The advertisement's data, without what the kernel adds.
  public func data(name: String) -> AdvertisingData {
    let used = fixed.reduce(flags.length) { $0 + $1.encoded.count }
    let name = AdvertisingStructure.name(name, room: Self.capacity - used)
    return AdvertisingData(fixed + [name].compactMap(\.self))
  }

  /// The scan response: the name, in full if it fits.
  public func scanResponse(name: String) -> AdvertisingData {
    let others = self == .heartRate ? [Self.solicitation] : []
    let used = others.reduce(0) { $0 + $1.encoded.count }
    let name = AdvertisingStructure.name(name, room: Self.capacity - used)
    return AdvertisingData(others + [name].compactMap(\.self))
  }

  private var fixed: [AdvertisingStructure] {
    switch self {
    case .solicit: [Self.solicitation]
    case .time: [AdvertisingStructure(.solicitedUUIDs16, uuids: [.currentTimeService])]
    case .heartRate: [AdvertisingStructure(.completeUUIDs16, uuids: [.heartRate])]
    case .solicitWithData:
      [
        Self.solicitation,
        AdvertisingStructure(.manufacturerData, [0xFF, 0xFF, 0x00]),
        AdvertisingStructure(.serviceData16, [0x99, 0x99, 0x00]),
        AdvertisingStructure(.flags, [0x06]),
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

  private static let solicitation =
    AdvertisingStructure(.solicitedUUIDs128, uuids: [.notificationCenter])
}

extension AdvertisingFlags {
  /// How many bytes the kernel adds to the advertisement for them.
  fileprivate var length: Int {
    (contains(.discoverable) ? 3 : 0) + (contains(.txPower) ? 3 : 0)
  }
}

// MARK: - Turns

extension AdvertisingProfile {
  /// How long a profile stays on the air before the next. iOS scans in bursts, seconds apart; a round of
  /// all profiles takes the half minute in which a phone is to find a board.
  public static let turn: Duration = .seconds(5)

  /// The profiles that take turns, in order: only the one that `--advertise` names, if it names one.
  public static func turns(
    of choice: Self?, for audience: AdvertisingPlan.Audience
  ) -> [Self] {
    switch audience {
    case .anybody: choice.map { [$0] } ?? allCases
    case .bonded, .nobody: [choice ?? .solicit]
    case .connected: [choice.flatMap { $0.solicitsNotifications ? $0 : nil } ?? .solicit]
    }
  }
}
