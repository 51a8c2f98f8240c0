// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

// Commands about advertising instances. What is put in by Add Advertising outlives the process.

extension MgmtCommand {
  /// How many instances there are and may be, and how long their data.
  public static let readAdvertisingFeatures = MgmtCommand(.readAdvertisingFeatures)

  /// Puts an instance on air, in place of one of the same number. Answers with the number.
  ///
  /// Each of the two kinds of data holds at most 31 bytes, of which the kernel takes what `flags`
  /// tell it to add (three for the Flags structure); more is cut to the field's 255.
  public static func addAdvertising(
    instance: UInt8, flags: AdvertisingFlags, data: [UInt8], scanResponse: [UInt8] = []
  ) -> MgmtCommand {
    .init(.addAdvertising) {
      $0.u8(instance)
      $0.u32(flags.rawValue)
      $0.u16(0)  // duration: the kernel's default, of interest with several instances only
      $0.u16(0)  // timeout: none
      $0.payload(data, scanResponse)
    }
  }

  /// Takes an instance off the air; 0 takes all.
  public static func removeAdvertising(instance: UInt8) -> MgmtCommand {
    .init(.removeAdvertising, [instance])
  }

  /// The first half of an instance whose interval is ours: kernel 5.11 and newer. Nothing is on air
  /// until its data follow. Answers with `ExtendedAdvertisingReply`.
  /// - Parameter interval: in units of 0.625 ms.
  public static func addExtendedAdvertisingParameters(
    instance: UInt8, flags: AdvertisingFlags, interval: ClosedRange<UInt32>
  ) -> MgmtCommand {
    .init(.addExtendedAdvertisingParameters) {
      $0.u8(instance)
      $0.u32(flags.union(.intervals).rawValue)
      $0.u16(0)  // duration
      $0.u16(0)  // timeout
      $0.u32(interval.lowerBound)
      $0.u32(interval.upperBound)
      $0.u8(0x7F)  // transmit power: no preference
    }
  }

  /// The second half. Answers with the instance's number.
  public static func addExtendedAdvertisingData(
    instance: UInt8, data: [UInt8], scanResponse: [UInt8] = []
  ) -> MgmtCommand {
    .init(.addExtendedAdvertisingData) {
      $0.u8(instance)
      $0.payload(data, scanResponse)
    }
  }
}

extension ByteWriter {
  /// Two lengths, then what they count.
  fileprivate mutating func payload(_ data: [UInt8], _ scanResponse: [UInt8]) {
    let data = data.prefix(255)
    let scanResponse = scanResponse.prefix(255)
    u8(UInt8(data.count))
    u8(UInt8(scanResponse.count))
    bytes(data)
    bytes(scanResponse)
  }
}

/// How an instance advertises, and what the kernel adds to its data (`MGMT_ADV_FLAG_*`).
public struct AdvertisingFlags: OptionSet, Hashable, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Connectable, whatever the adapter's own setting is.
  public static let connectable = AdvertisingFlags(rawValue: 1 << 0)
  /// General discoverable; the kernel adds the Flags structure, three bytes.
  public static let discoverable = AdvertisingFlags(rawValue: 1 << 1)
  /// Limited discoverable; the kernel adds the Flags structure.
  public static let limitedDiscoverable = AdvertisingFlags(rawValue: 1 << 2)
  /// The kernel adds the Flags structure that fits the adapter's settings.
  public static let managedFlags = AdvertisingFlags(rawValue: 1 << 3)
  /// The kernel adds the transmit power, three bytes.
  public static let txPower = AdvertisingFlags(rawValue: 1 << 4)
  /// The kernel adds the appearance to the scan response, four bytes.
  public static let appearance = AdvertisingFlags(rawValue: 1 << 5)
  /// The kernel adds the local name to the scan response.
  public static let localName = AdvertisingFlags(rawValue: 1 << 6)
  /// Extended Advertising Parameters only: the intervals are to be used.
  public static let intervals = AdvertisingFlags(rawValue: 1 << 14)
}
