// SPDX-License-Identifier: GPL-3.0-or-later

/// A number from a specification's list, which starts at 0 and names each. Numbers beyond the list
/// are kept.
public protocol NamedNumber: RawRepresentable<UInt8>, Hashable, Sendable, CustomStringConvertible {
  init(rawValue: UInt8)
  /// The names that users read and type, in the order of the numbers.
  static var names: [String] { get }
}

extension NamedNumber {
  /// The name; nil for a number that has none.
  public var name: String? {
    let names = Self.names
    return Int(rawValue) < names.count ? names[Int(rawValue)] : nil
  }

  /// The name, or the number if it has none.
  public var description: String { name ?? String(rawValue) }

  /// The number of that name.
  public init?(name: String) {
    guard let index = Self.names.firstIndex(of: name) else { return nil }
    self.init(rawValue: UInt8(index))
  }
}
