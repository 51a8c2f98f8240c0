// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// The name of a board or a phone in topics: 1 to 32 of the characters `a` to `z`, `0` to `9` and `-`, so it can be
/// one level of a topic and a part of Home Assistant's ids.
public struct TopicName: Hashable, Sendable, LosslessStringConvertible {
  public let description: String

  /// The maximum length in characters.
  static let longest = 32

  /// Nil if the text is not a valid name.
  public init?(_ text: String) {
    let isName = text.utf8.allSatisfy(Self.isPart) && (1...Self.longest).contains(text.utf8.count)
    guard isName else { return nil }
    description = text
  }

  /// Makes a name from any text: `Anna’s Küche` becomes `anna-s-k-che`. A text without such letters or digits becomes
  /// `fallback`.
  public init(from text: String, or fallback: TopicName) {
    var bytes: [UInt8] = []
    for byte in text.lowercased().utf8 {
      // The first byte of a multi-byte character stands for all.
      if byte & 0xC0 == 0x80 { continue }
      let letter = Self.isPart(byte) ? byte : UInt8(ascii: "-")
      if letter != UInt8(ascii: "-") || bytes.last.map({ $0 != letter }) ?? false {
        bytes.append(letter)
      }
    }
    bytes = Array(bytes.prefix(Self.longest))
    while bytes.last == UInt8(ascii: "-") { bytes.removeLast() }
    self = TopicName(String(decoding: bytes, as: UTF8.self)) ?? fallback
  }

  /// A name that the program itself assigns.
  init(known text: StaticString) { description = text.description }

  private static func isPart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// A board whose host has no name. No phone may have this name, because it stands for the board next to the phones'
  /// names.
  public static let board = TopicName(known: "board")
  /// A phone without a configured name.
  static let phone = TopicName(known: "iphone")
}

/// The phones' names in topics. No topic or payload contains an address.
public struct PhoneNames: Hashable, Sendable {
  /// The names from the settings.
  private let given: [Address: TopicName]
  /// The names of other phones: the first is `iphone`, the next `iphone-2`. They are stored, so a phone keeps its
  /// name.
  public private(set) var found: [Address: TopicName]

  public init(given: [Address: TopicName] = [:], found: [Address: TopicName] = [:]) {
    self.given = given
    // A name that the settings give to another phone is that one's now.
    self.found = found.filter { phone, name in
      !given.contains { $0.value == name && $0.key != phone }
    }
  }

  /// The name of a phone; nil if it has none yet.
  ///
  /// - Parameter phone: its identity address; nil if the link has none (`--att`, `--virtual-phone`).
  public func name(of phone: Address?) -> TopicName? {
    guard let phone else { return .phone }
    return given[phone] ?? found[phone]
  }

  /// All known names.
  var all: Set<TopicName> { Set(given.values).union(found.values) }

  /// The phone of a name; nil if no phone has it. A phone without an address is `.some(nil)`.
  func phone(named name: TopicName) -> Address?? {
    if let (phone, _) = given.first(where: { $0.value == name }) { return .some(phone) }
    if let (phone, _) = found.first(where: { $0.value == name }) { return .some(phone) }
    return name == .phone ? .some(nil) : nil
  }

  /// Gives a name to a phone that has none.
  ///
  /// - Returns: whether it is new.
  mutating func add(_ phone: Address?) -> Bool {
    guard let phone, name(of: phone) == nil else { return false }
    let taken = all
    var number = 1
    var name = TopicName.phone
    while taken.contains(name) {
      number += 1
      name = TopicName("\(TopicName.phone)-\(number)") ?? .phone
    }
    found[phone] = name
    return true
  }

  /// Forgets the assigned name of a phone.
  mutating func remove(_ phone: Address) { found[phone] = nil }

  /// A text in which the addresses of phones are replaced by their names, and others by `a phone`.
  func redact(_ text: String) -> String {
    guard text.utf8.count >= Self.addressLength, text.utf8.contains(UInt8(ascii: ":")) else {
      return text
    }
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    var place = 0
    while place < bytes.count {
      let candidate = bytes[place...].prefix(Self.addressLength)
      if candidate.count == Self.addressLength,
        let address = Address(String(decoding: candidate, as: UTF8.self))
      {
        result += (name(of: address)?.description ?? "a phone").utf8
        place += Self.addressLength
      } else {
        result.append(bytes[place])
        place += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// The length of `C0:11:22:33:44:55`.
  private static let addressLength = 17
}
