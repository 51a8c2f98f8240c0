// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The controller's error codes: statuses of commands and events, and reasons of disconnections (Core
/// Specification Vol 1 Part F, 1.3).
public enum ControllerError {
  /// A connection ends, or an encrypted packet is discarded, because its authentication code is wrong (0x3D).
  public static let micFailure: UInt8 = 0x3D

  /// The name of a code; an unknown one as a number.
  public static func name(_ code: UInt8) -> String {
    names.name(of: code) ?? "HCI error 0x\([code].hex)"
  }

  /// Empty for those of BR/EDR only.
  static let names = [
    "Success", "Unknown HCI Command", "Unknown Connection Identifier", "Hardware Failure", "", "Authentication Failure",
    "PIN or Key Missing", "Memory Capacity Exceeded", "Connection Timeout", "Connection Limit Exceeded", "",
    "Connection Already Exists", "Command Disallowed", "Connection Rejected due to Limited Resources",
    "Connection Rejected due to Security Reasons", "", "Connection Accept Timeout Exceeded",
    "Unsupported Feature or Parameter Value", "Invalid HCI Command Parameters", "Remote User Terminated Connection",
    "Remote Device Terminated Connection due to Low Resources", "Remote Device Terminated Connection due to Power Off",
    "Connection Terminated By Local Host", "Repeated Attempts", "Pairing Not Allowed", "Unknown LMP PDU",
    "Unsupported Remote Feature", "", "", "", "Invalid LMP/LL Parameters", "Unspecified Error",
    "Unsupported LMP/LL Parameter Value", "", "LMP/LL Response Timeout",
    "LMP Error Transaction Collision/LL Procedure Collision", "LMP PDU Not Allowed", "Encryption Mode Not Acceptable",
    "", "", "Instant Passed", "", "Different Transaction Collision", "", "", "", "", "Insufficient Security",
    "Parameter Out Of Mandatory Range", "", "", "", "", "", "", "", "", "", "Controller Busy",
    "Unacceptable Connection Parameters", "Advertising Timeout", "Connection Terminated due to MIC Failure",
    "Connection Failed to be Established", "", "", "", "Unknown Advertising Identifier", "Limit Reached",
    "Operation Cancelled by Host", "Packet Too Long", "Too Late", "Too Early",
  ]
}
