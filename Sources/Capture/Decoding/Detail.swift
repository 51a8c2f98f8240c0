// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A piece of decoded information: a labelled value, and details below it.
///
/// In text it is `label: value`. In JSON it is a member with the name `key`; with children it is an
/// object, in which its own value has the name `valueKey`.
public struct Detail: Hashable, Sendable {
  public var label: String
  public var value: Value
  public var children: [Detail]
  public var valueKey: String
  /// Whether there may be several with this key: in JSON they are an array, even a single one.
  public var repeats = false
  /// The bytes that it was read from, as indices into `DecodedUnit.bytes`; below an attribute, into its value. Nil if
  /// they are not all in this unit, or unknown.
  public var place: Range<Int>?
  private let ownKey: String?

  /// Its name in JSON; not used in text.
  public var key: String { ownKey ?? Self.key(label) }

  public enum Value: Hashable, Sendable {
    /// None: only a heading.
    case none
    /// Text. If it comes from the air, it may contain control characters.
    case text(String)
    case number(Int64)
    /// A number with a unit.
    case measure(Double, String)
    /// A number that may have a name; it is shown with this many hexadecimal digits.
    case named(String?, UInt64, digits: Int)
    /// The names of the bits that are set, and all bits as a number.
    case flags([String], UInt64, digits: Int)
    case bytes([UInt8])
    case flag(Bool)
    case list([String])
  }

  /// - Parameter key: by default the words of the label, which are ASCII, in lower case, with underscores between.
  public init(
    _ label: String, _ value: Value = .none, key: String? = nil, valueKey: String = "value", _ children: [Detail] = []
  ) {
    self.label = label
    self.value = value
    self.children = children
    ownKey = key
    self.valueKey = valueKey
  }

  private static func key(_ label: String) -> String {
    var key: [UInt8] = []
    var beginsWord = false
    for character in label.utf8 {
      switch character {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        if beginsWord, !key.isEmpty { key.append(UInt8(ascii: "_")) }
        beginsWord = false
        key.append(character | 0x20)  // digits have this bit
      default: beginsWord = true
      }
    }
    return String(decoding: key, as: UTF8.self)
  }

  /// The same, read from these bytes.
  package func at(_ place: Range<Int>?) -> Detail {
    var detail = self
    detail.place = place
    return detail
  }

  static func text(_ label: String, _ value: String, key: String? = nil) -> Detail {
    Detail(label, .text(value), key: key)
  }

  static func number(_ label: String, _ value: some BinaryInteger) -> Detail {
    Detail(label, .number(Int64(clamping: value)))
  }

  static func measure(_ label: String, _ value: Double, _ unit: String) -> Detail {
    Detail(label, .measure(value, unit))
  }

  static func flag(_ label: String, _ value: Bool) -> Detail { Detail(label, .flag(value)) }

  static func list(_ label: String, _ values: [some CustomStringConvertible]) -> Detail {
    Detail(label, .list(values.map { "\($0)" }))
  }

  /// Bytes that are not decoded.
  static func data(_ bytes: some Sequence<UInt8>) -> Detail { Detail("Data", .bytes(Array(bytes))) }

  static func named<Number: FixedWidthInteger & UnsignedInteger>(
    _ label: String, _ name: String?, _ value: Number
  ) -> Detail {
    Detail(label, .named(name, UInt64(value), digits: Number.bitWidth / 4))
  }

  static func flags<Number: FixedWidthInteger & UnsignedInteger>(
    _ label: String, _ names: [String], _ value: Number
  ) -> Detail {
    Detail(label, .flags(names, UInt64(value), digits: Number.bitWidth / 4))
  }

  /// A number with its name among `names`.
  static func choice(_ label: String, _ names: [String], _ value: UInt8) -> Detail {
    .named(label, names.name(of: value), value)
  }

  /// Bits, with the names of those that are set; the lowest bit has the first name.
  static func bits(_ label: String, _ names: [String], _ value: UInt8) -> Detail {
    .flags(label, names.indices.filter { value >> $0 & 1 == 1 }.map { names[$0] }, value)
  }

  /// One of several with the same key.
  static func several(_ label: String, _ value: Value = .none, key: String, _ children: [Detail]) -> Detail {
    var detail = Detail(label, value, key: key, children)
    detail.repeats = true
    return detail
  }

  /// The detail and those below it as lines of text, indented by two spaces a level. They may contain
  /// control characters.
  ///
  /// - Parameter bytesPerLine: longer byte values get lines of their own; nil: none do.
  public func lines(indent: Int, bytesPerLine: Int? = nil) -> [String] {
    var lines: [String] = []
    addLines(to: &lines, margin: String(spaces: indent), bytesPerLine)
    return lines
  }

  private func addLines(to lines: inout [String], margin: String, _ bytesPerLine: Int?) {
    switch value {
    case .none: lines.append(margin + label)
    case .bytes(let bytes) where bytes.count > bytesPerLine ?? .max:
      lines.append("\(margin)\(label): \(bytes.count) bytes")
      let step = bytesPerLine ?? bytes.count
      for start in stride(from: 0, to: bytes.count, by: step) {
        lines.append("\(margin)  \(bytes[start...].prefix(step).hex)")
      }
    default: lines.append("\(margin)\(label): \(value)")
    }
    guard !children.isEmpty else { return }
    let below = margin + "  "
    for child in children { child.addLines(to: &lines, margin: below, bytesPerLine) }
  }
}

extension [String] {
  /// The name of a number in this list of names; nil where it is empty or the list ends before.
  func name(of number: some UnsignedInteger) -> String? {
    let place = Int(clamping: number)
    return place < count && !self[place].isEmpty ? self[place] : nil
  }
}

extension Detail.Value: CustomStringConvertible {
  /// The value as text, which may contain control characters.
  public var description: String {
    switch self {
    case .none: ""
    case .text(let text): text
    case .number(let number): String(number)
    case .measure(let number, ""): Self.short(number)
    case .measure(let number, let unit): "\(Self.short(number)) \(unit)"
    case .named(nil, let number, let digits), .flags([], let number, let digits):
      hexadecimal(number, digits)
    case .named(let name?, let number, let digits): "\(name) (\(hexadecimal(number, digits)))"
    case .flags(let names, let number, let digits):
      "\(names.joined(separator: ", ")) (\(hexadecimal(number, digits)))"
    case .bytes(let bytes): bytes.hex
    case .flag(let flag): flag ? "yes" : "no"
    case .list(let list): list.joined(separator: ", ")
    }
  }

  /// A number without a trailing “.0”.
  private static func short(_ number: Double) -> String {
    let text = number.description
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }
}

/// A number with `0x` and at least this many digits, in lower case as btmon writes it.
package func hexadecimal(_ number: some BinaryInteger, _ digits: Int) -> String {
  "0x" + String(number, digits: digits, radix: 16)
}
