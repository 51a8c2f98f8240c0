// SPDX-License-Identifier: GPL-3.0-or-later
import ATT

/// What a client said that it can take: the first octet of Client Supported Features
/// (Vol 3 Part G, 7.2).
public struct ClientFeatures: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// It wants to be kept from using handles that may have changed.
  public static let robustCaching = ClientFeatures(rawValue: 1)
  /// It can use more than one bearer.
  public static let enhancedBearer = ClientFeatures(rawValue: 2)
  /// It takes notifications of several values in one PDU.
  public static let multipleNotifications = ClientFeatures(rawValue: 4)
}

/// What a client subscribed to at one characteristic: the bits of a Client Characteristic
/// Configuration (Vol 3 Part G, 3.3.3.3).
public struct ClientConfiguration: OptionSet, Hashable, Sendable {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  public static let notifications = ClientConfiguration(rawValue: 1)
  public static let indications = ClientConfiguration(rawValue: 2)

  /// The value as it is read, little endian.
  var bytes: [UInt8] { [UInt8(truncatingIfNeeded: rawValue), UInt8(rawValue >> 8)] }
}

/// What a server remembers of a client: for as long as it is connected, and of a bonded one from one
/// connection to the next (Vol 3 Part G, 2.5.2, 3.3.3.3 and 7.2).
public struct ClientState: Hashable, Sendable {
  public var features: ClientFeatures
  /// The Client Characteristic Configurations that are not zero, by their handles.
  public var configurations: [Handle: ClientConfiguration]
  /// The hash of the database that the client knows; nil for one that was never here.
  public var databaseHash: [UInt8]?

  /// A client that was never here.
  public init(
    features: ClientFeatures = [], configurations: [Handle: ClientConfiguration] = [:],
    databaseHash: [UInt8]? = nil
  ) {
    self.features = features
    self.configurations = configurations
    self.databaseHash = databaseHash
  }
}
