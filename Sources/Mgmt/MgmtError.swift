// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// How a management command ended (BlueZ doc/mgmt-protocol, Error Codes). Unknown numbers are kept.
public struct MgmtStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let success = MgmtStatus(rawValue: 0x00)
  public static let unknownCommand = MgmtStatus(rawValue: 0x01)
  public static let notConnected = MgmtStatus(rawValue: 0x02)
  public static let failed = MgmtStatus(rawValue: 0x03)
  public static let connectFailed = MgmtStatus(rawValue: 0x04)
  public static let authenticationFailed = MgmtStatus(rawValue: 0x05)
  public static let notPaired = MgmtStatus(rawValue: 0x06)
  public static let timeout = MgmtStatus(rawValue: 0x08)
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

  /// The status by its name in the protocol, as btmon prints it.
  public var description: String { words?.name ?? "status \(rawValue)" }

  /// What the status means: a sentence without its full stop.
  public var sentence: String {
    words?.sentence ?? "the kernel returned the unknown status \(rawValue)"
  }

  private var words: (name: String, sentence: String)? {
    Int(rawValue) < Self.words.count ? Self.words[Int(rawValue)] : nil
  }

  /// By number, 0 to 20.
  private static let words: [(name: String, sentence: String)] = [
    ("Success", "done"), ("Unknown Command", "this kernel does not know the command"),
    ("Not Connected", "the device is not connected"), ("Failed", "the kernel or the controller failed to do it"),
    ("Connect Failed", "the connection could not be made"),
    ("Authentication Failed", "the other side refused to pair, or the keys did not match"),
    ("Not Paired", "the device is not paired"),
    ("No Resources", "the kernel or the controller has no resources left for it"),
    ("Timeout", "the controller or the device did not respond in time"),
    ("Already Connected", "the device is connected already"), ("Busy", "another operation of this kind is in progress"),
    ("Rejected", "the adapter's present settings do not allow it"),
    ("Not Supported", "this controller or kernel can't do it"),
    ("Invalid Parameters", "the kernel does not accept these values"),
    ("Disconnected", "the device has disconnected"), ("Not Powered", "the adapter is switched off"),
    ("Cancelled", "it was cancelled"), ("Invalid Index", "the adapter was removed"),
    ("Blocked through rfkill", "the radio is blocked: rfkill unblock bluetooth"),
    ("Already Paired", "the kernel already has a key for this device"),
    ("Permission Denied", "not allowed: it needs root or CAP_NET_ADMIN"),
  ]
}

/// Why a management command failed.
public enum MgmtError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kernel replied with a status other than success.
  case status(MgmtOpcode, MgmtStatus)
  /// The kernel did not accept the packet; the text says why.
  case refused(MgmtOpcode, String)
  /// The kernel did not reply in time.
  case timedOut(MgmtOpcode)
  /// The reply does not have the layout that it should have.
  case malformedReply(MgmtOpcode, DecodeError)
  /// The socket is closed; the text says why.
  case closed(String)

  /// Whether the kernel refused only this command, and others may still work. If an adapter is off, some commands fail
  /// with a status and others in `send` (ENETDOWN).
  public var isRefusal: Bool {
    switch self {
    case .status(_, let status): status != .invalidIndex
    case .refused: true
    case .timedOut, .malformedReply, .closed: false
    }
  }

  /// The kernel's status, if there is one.
  public var status: MgmtStatus? { if case .status(_, let status) = self { status } else { nil } }

  public var description: String {
    switch self {
    case .status(.setPowered, .failed):
      // A blocked radio gives this status too (docs/kernel.md, “Adapter removal and rfkill”).
      "Set Powered: Failed: if the radio is blocked: rfkill unblock bluetooth"
    case .status(let opcode, .authenticationFailed) where !opcode.isAboutPairing:
      // The kernel has no status for a command that the controller did not respond to (mgmt_errno_status).
      "\(opcode): the controller did not respond in time"
    case .status(let opcode, let status): "\(opcode): \(status): \(status.sentence)"
    case .refused(let opcode, let why): "\(opcode): the kernel did not accept it: \(why)"
    case .timedOut(let opcode): "\(opcode): the kernel did not reply in time"
    case .malformedReply(let opcode, let error):
      "\(opcode): invalid reply from the kernel: \(error)"
    case .closed(let why): "the management socket is closed: \(why)"
    }
  }
}

extension MgmtOpcode {
  /// Whether Authentication Failed is to be taken literally.
  fileprivate var isAboutPairing: Bool {
    isAboutDevice && self != .disconnect && self != .getConnectionInformation
  }
}

/// A packet from the kernel that could not be decoded.
public struct MalformedPacket: Hashable, Sendable, CustomStringConvertible {
  public let bytes: [UInt8]
  public let error: DecodeError

  /// The error and the bytes, as a line for the log; only the header for events that carry keys.
  public var description: String {
    let code = bytes.first ?? 0
    let carriesKey = (0x09...0x0A).contains(code) || (0x18...0x19).contains(code)
    return "\(error): \(carriesKey ? bytes.prefix(6).hex + " (secret)" : bytes.hex)"
  }
}
