// SPDX-License-Identifier: GPL-3.0-or-later

/// Names and layouts by number, read from a text: a line each, `NUMBER NAME | FIELDS | RESULTS`, the
/// number in hexadecimal, fields and results where there are any.
struct HCITable: Sendable {
  struct Entry: Hashable, Sendable {
    var name: String
    /// What the command or the event carries.
    var fields: ParameterList
    /// What a command's Command Complete brings.
    var results: ParameterList
  }

  let entries: [UInt16: Entry]

  init(_ text: String) {
    var entries: [UInt16: Entry] = [:]
    for line in text.split(separator: "\n") {
      let columns = line.split(separator: "|", omittingEmptySubsequences: false)
      let head = columns[0].split(separator: " ", maxSplits: 1)
      guard head.count == 2, let number = UInt16(head[0], radix: 16) else { continue }
      entries[number] = Entry(
        name: head[1].split(separator: " ").joined(separator: " "),
        fields: ParameterList(columns.count > 1 ? columns[1] : ""),
        results: ParameterList(columns.count > 2 ? columns[2] : "status"))
    }
    self.entries = entries
  }

  subscript(number: some BinaryInteger) -> Entry? {
    UInt16(exactly: number).flatMap { entries[$0] }
  }
}

/// How a packet's parameters lie one behind the other: fields with commas between them, each a kind
/// and a label (`status`, `reason` and `handle` have one of their own).
struct ParameterList: Hashable, Sendable {
  struct Field: Hashable, Sendable {
    var kind: Kind
    var label: String
  }

  enum Kind: String, CaseIterable, Sendable {
    case status, reason, handle, role, encryption
    case u8, u16, hex8, hex16, hex24, hex32, hex64, bool
    /// A signed byte in dBm.
    case dbm
    /// Two bytes in units of 1.25 ms, 0.625 ms and 10 ms.
    case ms125, ms0625, ms10
    /// Three bytes in units of 0.625 ms.
    case slots24
    case addr, addrtype, ownaddr, advtype
    /// One PHY by its number, and several as bits.
    case phy, phys
    /// A length and advertising data of that length.
    case ad
    /// Text up to a zero or the end.
    case text
  }

  let fields: [Field]

  init(_ text: some StringProtocol) {
    fields = text.split(separator: ",").compactMap { field in
      let words = field.split(separator: " ")
      guard let first = words.first, let kind = Kind(rawValue: String(first)) else { return nil }
      let label = words.dropFirst().joined(separator: " ")
      return Field(kind: kind, label: label.isEmpty ? kind.rawValue.capitalizedFirst : label)
    }
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
