// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Wire

/// An accessory as an iPhone recognises it by its advertisement: the counterpart of
/// `AdvertisingProfile`.
///
/// iOS considers only the advertisement itself, not the scan response.
public struct Accessory: Hashable, Sendable {
  /// The signs by which iOS lists a device.
  public let signs: Set<Sign>
  /// The name in the advertisement.
  public let name: String?

  /// Something in an advertisement for which iOS lists the device under Settings › Bluetooth.
  public enum Sign: String, Hashable, Sendable, CaseIterable {
    /// It solicits ANCS.
    case notificationCenter = "ancs"
    /// It solicits the Current Time service.
    case currentTime = "time"
    /// It has the Heart Rate service.
    case heartRate = "heart-rate"
    /// It is an input device, such as a keyboard.
    case humanInterface = "hid"
  }

  /// The accessory that an advertisement announces; nil if iOS would not list it.
  public init?(_ advertisement: AdvertisingData) {
    let signs = Sign.allCases.filter { sign in
      sign.patterns.contains { pattern in
        advertisement.structures.contains { $0.kind == pattern.kind && $0.lists(pattern.value) }
      }
    }
    guard !signs.isEmpty else { return nil }
    self.signs = Set(signs)
    name = advertisement.localName
  }
}

extension Accessory.Sign {
  /// The UUID lists that may contain it, each with only its UUID.
  fileprivate var patterns: [AdvertisingStructure] {
    switch self {
    case .notificationCenter:
      [AdvertisingStructure(.solicitedUUIDs128, uuids: [.notificationCenter])]
    case .currentTime: [AdvertisingStructure(.solicitedUUIDs16, uuids: [.currentTimeService])]
    case .heartRate: Self.services(.heartRate)
    case .humanInterface: Self.services(.humanInterfaceDevice)
    }
  }

  private static func services(_ uuid: UUID) -> [AdvertisingStructure] {
    [.completeUUIDs16, .incompleteUUIDs16].map { AdvertisingStructure($0, uuids: [uuid]) }
  }

  /// The beginnings of the structures that a controller can match by itself.
  public static var allPatterns: [AdvertisingStructure] { allCases.flatMap(\.patterns) }
}

extension AdvertisingStructure {
  /// Whether a list of UUIDs of one length contains this one.
  fileprivate func lists(_ uuid: [UInt8]) -> Bool {
    stride(from: 0, through: value.count - uuid.count, by: uuid.count).contains {
      value[$0...].starts(with: uuid)
    }
  }
}

/// The accessory that a phone's user chose: by its address as `AA:BB:CC:DD:EE:FF`, or else by its name.
public struct AccessoryChoice: Hashable, Sendable, LosslessStringConvertible {
  public let description: String

  public init?(_ description: String) {
    guard !description.isEmpty else { return nil }
    self.description = Address(description)?.description ?? description
  }

  func matches(_ address: Address, name: String?) -> Bool {
    Address(description).map { $0 == address } ?? (description == name)
  }
}
