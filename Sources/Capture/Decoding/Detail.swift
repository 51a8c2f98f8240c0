// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// One thing that was read out of a packet: what it is called, what it is, and what belongs to it.
///
/// People read `label: value`; programs find it under `key`, and where it has children, its own value
/// among them under `valueKey`.
public struct Detail: Hashable, Sendable {
  public var label: String
  public var key: String
  public var value: Value
  public var children: [Detail]
  public var valueKey: String
  /// Whether there may be several with this key: for programs they are an array, be it of one.
  public var repeats = false

  /// What was read.
  public enum Value: Hashable, Sendable {
    /// Only a heading.
    case none
    /// A text; it may come from the air, control characters and all.
    case text(String)
    case number(Int64)
    /// A number with its unit.
    case measure(Double, String)
    /// A number that has a name, or might have; it is shown with so many hexadecimal digits.
    case named(String?, UInt64, digits: Int)
    /// Bits by their names, and all of them as a number.
    case flags([String], UInt64, digits: Int)
    case bytes([UInt8])
    case flag(Bool)
    case list([String])
  }

  /// - Parameter key: nil: the label in lower case, its blanks underscores.
  public init(
    _ label: String, _ value: Value = .none, key: String? = nil, valueKey: String = "value",
    _ children: [Detail] = []
  ) {
    self.label = label
    self.value = value
    self.children = children
    self.key = key ?? Self.key(label)
    self.valueKey = valueKey
  }

  private static func key(_ label: String) -> String {
    var key = ""
    for scalar in label.unicodeScalars {
      if scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) {
        key += scalar.properties.lowercaseMapping
      } else if !key.hasSuffix("_"), !key.isEmpty {
        key += "_"
      }
    }
    while key.hasSuffix("_") { key.removeLast() }
    return key
  }
}

extension Detail {
  static func number(_ label: String, _ value: some BinaryInteger, key: String? = nil) -> Detail {
    Detail(label, .number(Int64(clamping: value)), key: key)
  }

  /// One of several of its kind.
  static func several(
    _ label: String, _ value: Value = .none, key: String, _ children: [Detail]
  ) -> Detail {
    var detail = Detail(label, value, key: key, children)
    detail.repeats = true
    return detail
  }

  static func text(_ label: String, _ value: String, key: String? = nil) -> Detail {
    Detail(label, .text(value), key: key)
  }

  static func named<Number: FixedWidthInteger & UnsignedInteger>(
    _ label: String, _ name: String?, _ value: Number, key: String? = nil
  ) -> Detail {
    Detail(label, .named(name, UInt64(value), digits: Number.bitWidth / 4), key: key)
  }

  static func flags<Number: FixedWidthInteger & UnsignedInteger>(
    _ label: String, _ names: [String], _ value: Number, key: String? = nil
  ) -> Detail {
    Detail(label, .flags(names, UInt64(value), digits: Number.bitWidth / 4), key: key)
  }
}

extension Detail.Value: CustomStringConvertible {
  /// As people read it; nothing is done about control characters.
  public var description: String {
    switch self {
    case .none: ""
    case .text(let text): text
    case .number(let number): String(number)
    case .measure(let number, ""): Self.short(number)
    case .measure(let number, let unit): "\(Self.short(number)) \(unit)"
    case .named(let name?, let number, let digits): "\(name) (\(hexadecimal(number, digits)))"
    case .named(nil, let number, let digits): hexadecimal(number, digits)
    case .flags(let names, let number, let digits):
      names.isEmpty
        ? hexadecimal(number, digits)
        : "\(names.joined(separator: ", ")) (\(hexadecimal(number, digits)))"
    case .bytes(let bytes): bytes.hex
    case .flag(let flag): flag ? "yes" : "no"
    case .list(let list): list.joined(separator: ", ")
    }
  }

  /// A number without the zeros behind it.
  static func short(_ number: Double) -> String {
    let text = number.description
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }
}

/// A number with `0x` and at least so many digits, in the case that btmon writes them.
func hexadecimal(_ number: some BinaryInteger, _ digits: Int) -> String {
  let text = String(number, radix: 16)
  return "0x" + String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
}
