// SPDX-License-Identifier: GPL-3.0-or-later

/// How a management command ended (BlueZ doc/mgmt-protocol, "Error Codes"). Open: a status that a
/// newer kernel brings is kept as its number.
public struct MgmtStatus: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let success = MgmtStatus(rawValue: 0x00)
  public static let unknownCommand = MgmtStatus(rawValue: 0x01)
  public static let notConnected = MgmtStatus(rawValue: 0x02)
  public static let failed = MgmtStatus(rawValue: 0x03)
  public static let connectFailed = MgmtStatus(rawValue: 0x04)
  public static let authenticationFailed = MgmtStatus(rawValue: 0x05)
  public static let notPaired = MgmtStatus(rawValue: 0x06)
  public static let noResources = MgmtStatus(rawValue: 0x07)
  public static let timeout = MgmtStatus(rawValue: 0x08)
  public static let alreadyConnected = MgmtStatus(rawValue: 0x09)
  public static let busy = MgmtStatus(rawValue: 0x0A)
  public static let rejected = MgmtStatus(rawValue: 0x0B)
  public static let notSupported = MgmtStatus(rawValue: 0x0C)
  public static let invalidParameters = MgmtStatus(rawValue: 0x0D)
  public static let disconnected = MgmtStatus(rawValue: 0x0E)
  public static let notPowered = MgmtStatus(rawValue: 0x0F)
  public static let cancelled = MgmtStatus(rawValue: 0x10)
  public static let invalidIndex = MgmtStatus(rawValue: 0x11)
  public static let rfkilled = MgmtStatus(rawValue: 0x12)
  public static let alreadyPaired = MgmtStatus(rawValue: 0x13)
  public static let permissionDenied = MgmtStatus(rawValue: 0x14)
}

extension MgmtStatus: CustomStringConvertible {
  /// The status by its name in the protocol, as btmon prints it.
  public var description: String { words?.name ?? "status \(rawValue)" }

  /// What it means, in a sentence without its full stop.
  public var sentence: String {
    words?.sentence
      ?? "the kernel answered with status \(rawValue), which this version does not know"
  }

  private var words: (name: String, sentence: String)? {
    Int(rawValue) < Self.words.count ? Self.words[Int(rawValue)] : nil
  }

  /// By number, 0 to 20.
  private static let words: [(name: String, sentence: String)] = [
    ("Success", "done"),
    ("Unknown Command", "this kernel does not know the command"),
    ("Not Connected", "the device is not connected"),
    ("Failed", "the kernel or the controller failed to do it"),
    ("Connect Failed", "no connection came about"),
    ("Authentication Failed", "the other side refused to pair, or the keys did not fit"),
    ("Not Paired", "the device is not paired"),
    ("No Resources", "the kernel or the controller has no room left for it"),
    ("Timeout", "the controller or the device did not answer in time"),
    ("Already Connected", "the device is connected already"),
    ("Busy", "the same is under way already"),
    ("Rejected", "the adapter's present settings do not allow it"),
    ("Not Supported", "this controller or kernel cannot do it"),
    ("Invalid Parameters", "the kernel does not accept these values"),
    ("Disconnected", "the device disconnected meanwhile"),
    ("Not Powered", "the adapter is switched off"),
    ("Cancelled", "it was called off"),
    ("Invalid Index", "the adapter is not there (any more)"),
    ("Blocked through rfkill", "the radio is blocked: rfkill unblock bluetooth"),
    ("Already Paired", "the kernel holds a key for this device already"),
    ("Permission Denied", "not allowed: it needs root or CAP_NET_ADMIN"),
  ]
}
