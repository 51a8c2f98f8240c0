// SPDX-License-Identifier: GPL-3.0-or-later
import Fleet
import Glibc

/// Why there is no connection to a broker.
public enum BrokerError: Error, Hashable, Sendable {
  /// Something on this board can't be used, in words.
  case unusable(String)
  /// The connection to an address has failed. Another address may do.
  case errno(Int32)
  /// The broker has closed the connection.
  case closed
  /// Anything else, in words.
  case ended(String)

  /// A sentence for the user, with the remedy.
  public func described(_ address: BrokerAddress) -> String {
    switch self {
    case .unusable(let why), .ended(let why): why
    case .errno(let number): Self.described(number, address)
    case .closed: "the broker closed the connection"
    }
  }

  private static func described(_ number: Int32, _ address: BrokerAddress) -> String {
    let why = String(cString: strerror(number))
    switch number {
    case ECONNREFUSED: return "connection refused: no broker listens at \(address)"
    case ENOENT: return "there is no socket at \(address)"
    case 0: return "no connection to \(address)"
    // A port without TLS resets the connection, or sends something that is not TLS.
    case ECONNRESET, EPROTO:
      if case .tls = address { return "\(address): \(why); is this the broker's port for TLS?" }
      return "\(address): \(why)"
    default: return "\(address): \(why)"
    }
  }
}
