// SPDX-License-Identifier: GPL-3.0-or-later

/// The version of a Linux kernel.
public struct KernelVersion: Hashable, Comparable, Sendable {
  public let major: Int
  public let minor: Int
  /// The patch level: 47 in `6.12.47`.
  public let patch: Int
  /// The distribution's number in place of the patch level: 56 in `6.1.0-56-amd64`; otherwise 0.
  public let revision: Int

  public init(_ major: Int, _ minor: Int, _ patch: Int, revision: Int = 0) {
    (self.major, self.minor, self.patch, self.revision) = (major, minor, patch, revision)
  }

  /// Reads what uname(2) reports; nil if that names no version.
  ///
  /// - Parameters:
  ///   - release: as in `6.12.47+rpt-rpi-v8`. Debian's does not always have the patch level.
  ///   - build: as in `#1 SMP PREEMPT Debian 1:6.12.47-1+rpt1 (2025-09-16)`, where the package's version has it, perhaps
  ///     behind an epoch.
  public init?(release: String, build: String) {
    let package = build.split(separator: " ").drop { $0 != "Debian" }.dropFirst().first
    let name = package?.split(separator: ":").last ?? release[...]
    let numbers = name.split { !$0.isNumber }.map { Int($0) ?? 0 }
    guard numbers.count >= 3 else { return nil }
    let revision = numbers[2] == 0 && numbers.count > 3 ? numbers[3] : 0
    self.init(numbers[0], numbers[1], numbers[2], revision: revision)
  }

  /// Whether both are of one series, as 6.12.
  public func isOfSeries(_ other: KernelVersion) -> Bool {
    (major, minor) == (other.major, other.minor)
  }

  public static func < (one: KernelVersion, other: KernelVersion) -> Bool {
    (one.major, one.minor, one.patch, one.revision)
      < (other.major, other.minor, other.patch, other.revision)
  }
}
