// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Why the phone refused a user's request, as a sentence.
public struct CentralRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

/// An event for the phone's user.
public enum CentralEvent: Hashable, Sendable {
  /// It is looking for the chosen accessory, for the bonded ones, or for any.
  case scanning(for: AccessoryChoice?)
  /// An accessory advertised, for the first time in this scan or with something new.
  case seen(DeviceAddress, Accessory, rssi: Int8?, isBonded: Bool)
  /// There are several accessories, and none was chosen.
  case undecided([DeviceAddress])
  case connecting(DeviceAddress)
  case connectFailed(DeviceAddress, String)
  case pairing(PairingPrompt)
  case paired(DeviceAddress)
  /// `isNew`: by a pairing on this link.
  case encrypted(isNew: Bool)
  /// It does not reconnect by itself until the user asks for it.
  case resting(CentralFailure)
}

/// Why a phone does not reconnect by itself.
public enum CentralFailure: Hashable, Sendable, CustomStringConvertible {
  /// The accessory has lost its key of the bond.
  case keyMissing
  case keysDiffer
  case pairing(PairingFailure)
  /// The accessory ended the link before bonding.
  case left
  case unreachable
  /// Its user ended the link before bonding.
  case hungUp
  case forgotten

  public var description: String {
    let again = "“connect” tries again"
    let pairAgain = "“forget”, then “connect” pairs again"
    return switch self {
    case .keyMissing: "the accessory no longer has a key for this phone; \(pairAgain)"
    case .keysDiffer: "the accessory has a different key for this phone; \(pairAgain)"
    case .pairing(.refusedByPhone):
      "the accessory refused to pair, or the numbers did not match; \(again)"
    case .pairing(.noResponse): "the accessory did not respond to the pairing; \(again)"
    case .pairing(let failure): "the two could not pair: \(failure); \(again)"
    case .left: "the accessory ended the link before the two were bonded; \(again)"
    case .unreachable: "every link to the accessory is lost at once; \(again)"
    case .hungUp: "it was disconnected before the two were bonded; \(again)"
    case .forgotten: "it has forgotten its accessories; “connect” looks for one again"
    }
  }
}
