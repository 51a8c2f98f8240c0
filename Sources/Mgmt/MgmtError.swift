// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Why a management command brought no answer that can be used.
public enum MgmtError: Error, Hashable, Sendable {
  /// The kernel refused or failed.
  case status(MgmtOpcode, MgmtStatus)
  /// The kernel did not even take the command; the text says why.
  case refused(MgmtOpcode, String)
  /// The kernel did not answer within the command's time.
  case timedOut(MgmtOpcode)
  /// The kernel's answer is not what its layout says.
  case malformedReply(MgmtOpcode, DecodeError)
  /// The socket is closed; the text says why.
  case closed(String)

  /// The status, where the kernel gave one.
  public var status: MgmtStatus? {
    if case .status(_, let status) = self { status } else { nil }
  }
}

extension MgmtError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .status(.setPowered, .failed):
      // What this kernel says of a blocked radio too (kernel.md, g), instead of status 18.
      "Set Powered: Failed: if the radio is blocked: rfkill unblock bluetooth"
    case .status(let opcode, let status): "\(opcode): \(status): \(status.sentence)"
    case .refused(let opcode, let why): "\(opcode): the kernel did not take it: \(why)"
    case .timedOut(let opcode): "\(opcode): the kernel did not answer in time"
    case .malformedReply(let opcode, let error): "\(opcode): the kernel's answer is \(error)"
    case .closed(let why): "the management socket is closed: \(why)"
    }
  }
}

/// A packet of the kernel that could not be read.
public struct MalformedPacket: Hashable, Sendable {
  public let bytes: [UInt8]
  public let error: DecodeError

  public init(bytes: [UInt8], error: DecodeError) {
    self.bytes = bytes
    self.error = error
  }
}

extension MalformedPacket: CustomStringConvertible {
  /// The error and the bytes, as a line for the log; of packets that tell keys only the header.
  public var description: String {
    let tellsKeys =
      (0x09...0x0A).contains(bytes.first ?? 0) || (0x18...0x19).contains(bytes.first ?? 0)
    return "\(error): \(tellsKeys ? bytes.prefix(6).hex + " (secret)" : bytes.hex)"
  }
}
