// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Why a request got no answer that it can use.
public enum ATTFailure: Error, Hashable, Sendable {
  /// The server refused it with an Error Response.
  case refused(PDU.ErrorResponse)
  /// The answer had the right opcode and could not be read.
  case malformed(Opcode, DecodeError)
  /// The answer was well formed and says what it may not; the text says which rule it breaks.
  case nonsense(String)
  /// The server did not answer within 30 seconds; the bearer is dead (Vol 3 Part F, 3.3.3).
  case timedOut(Opcode)
  /// The request does not fit into the MTU, so it was not sent.
  case tooLong(Opcode, length: Int, mtu: Int)
  /// The link is gone; the text says why, where that is known.
  case closed(String)

  /// The code of the Error Response, where there was one.
  public var code: ErrorCode? {
    if case .refused(let error) = self { error.code } else { nil }
  }

  /// Whether the link is gone, so that there is no use in trying again on it.
  public var isEnd: Bool {
    switch self {
    case .timedOut, .closed: true
    case .refused, .malformed, .nonsense, .tooLong: false
    }
  }
}

extension ATTFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .refused(let error):
      "\(error.request) refused at handle \(hexadecimal(error.handle)): \(error.code)"
    case .malformed(let opcode, let error): "malformed \(opcode): \(error)"
    case .nonsense(let what): what
    case .timedOut(let opcode): "no answer to \(opcode) within 30 s"
    case .tooLong(let opcode, let length, let mtu):
      "\(opcode) of \(length) octets does not fit into the MTU of \(mtu)"
    case .closed(let why): "the link is gone: \(why)"
    }
  }
}
