// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Glibc
import System
import Wire

/// Looks up the addresses of a host.
///
/// The C library waits for name servers, and loads modules of the system's own (nsswitch.conf(5)). So a program of the C
/// library does it: getent(1). It is killed if this object goes away.
final class NameLookup {
  private let child: ChildProcess
  private let late: Deadline
  private var addresses: [String] = []

  /// Name servers that don't answer are asked for half a minute.
  private static let patience = Duration.seconds(15)

  /// - Parameter onEnd: gets the addresses, the best one first; none if the name is unknown or no server answers.
  init(_ host: String, onEnd: @escaping ([String]) -> Void) throws(SystemError) {
    let child = try ChildProcess(["/usr/bin/getent", "ahosts", "--", host], environment: Host.environment, input: [])
    self.child = child
    late = Deadline(Loop.shared) { [weak child] in child?.signal(.kill) }
    child.onLine = { [weak self] in self?.receive($0) }
    child.onEnd = { [weak self] _ in
      guard let self else { return }
      onEnd(addresses)
    }
    late.due = Loop.shared.now + Self.patience
  }

  /// Whether the host is an address, which needs no look-up.
  static func isAddress(_ host: String) -> Bool {
    var bytes = in6_addr()
    return inet_pton(AF_INET, host, &bytes) == 1 || inet_pton(AF_INET6, host, &bytes) == 1
  }

  /// A line has an address and a type of socket; each address comes once for each type.
  private func receive(_ line: [UInt8]) {
    let words = line.split(separator: UInt8(ascii: " "))
    guard words.count >= 2, words[1].elementsEqual("STREAM".utf8) else { return }
    addresses.append(String(decoding: words[0], as: UTF8.self))
  }
}
