// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Why a request has no usable response.
public enum ATTFailure: Error, Hashable, Sendable {
  /// The server refused it with an Error Response.
  case refused(PDU.ErrorResponse)
  /// The response had the right opcode and could not be decoded.
  case malformed(Opcode, DecodeError)
  /// The response was well formed but breaks a rule of the protocol; the text says which.
  case protocolViolation(String)
  /// The server did not respond within 30 seconds; the bearer is dead (Vol 3 Part F, 3.3.3).
  case timedOut(Opcode)
  /// The request does not fit into the MTU and was not sent.
  case tooLong(Opcode, length: Int, mtu: Int)
  /// The link has ended; the text says why.
  case closed(String)

  /// The code of the Error Response, if there was one.
  public var code: ErrorCode? { if case .refused(let error) = self { error.code } else { nil } }

  /// Whether the link has ended, so that nothing more can be sent on it.
  public var isEnd: Bool {
    switch self {
    case .timedOut, .closed: true
    case .refused, .malformed, .protocolViolation, .tooLong: false
    }
  }
}

extension ATTFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .refused(let error):
      "\(error.request) refused at handle \(hexadecimal(error.handle)): \(error.code)"
    case .malformed(let opcode, let error): "malformed \(opcode): \(error)"
    case .protocolViolation(let what): what
    case .timedOut(let opcode): "no answer to \(opcode) within 30 s"
    case .tooLong(let opcode, let length, let mtu):
      "\(opcode) of \(length) octets does not fit into the MTU of \(mtu)"
    case .closed(let why): "the link is gone: \(why)"
    }
  }
}
