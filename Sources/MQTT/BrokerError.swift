// SPDX-License-Identifier: GPL-3.0-or-later
import Fleet
import Glibc

/// Why there is no connection to a broker.
public enum BrokerError: Error, Hashable, Sendable {
  /// Something on this board can't be used; the description.
  case unusable(String)
  case unknownName
  case errno(Int32)
  case tls(String)
  /// The broker has closed the connection.
  case closed
  /// The peer speaks another protocol.
  case notMQTT5
  /// It did not respond to a ping.
  case silent
  case ended(String)

  /// A sentence for the user, with the remedy.
  public func described(_ address: BrokerAddress) -> String {
    switch self {
    case .unusable(let why), .ended(let why): return why
    case .unknownName: return Self.unknownName(address)
    case .errno(let number): return Self.described(number, address)
    case .tls(let why): return "TLS with \(address): \(why)"
    case .closed: return "the broker closed the connection"
    case .notMQTT5:
      return "the server at \(address) does not support MQTT 5 (mosquitto does since 1.6)"
    case .silent: return "the broker does not respond to pings"
    }
  }

  private static func unknownName(_ address: BrokerAddress) -> String {
    switch address {
    case .tcp(let host, _), .tls(let host, _):
      let hint =
        host.hasSuffix(".local")
        ? "names in .local need libnss-mdns and avahi-daemon, or systemd-resolved; or use the address"
        : "see url in [mqtt], and /etc/resolv.conf"
      return "“\(host)” can't be resolved; \(hint)"
    case .unix(let path): return "\(path) is not a socket"
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
