// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// An attribute of a notification (NotificationAttributeID). Unknown numbers are kept.
public struct NotificationAttributeID: NamedNumber {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let appIdentifier = NotificationAttributeID(rawValue: 0)
  public static let title = NotificationAttributeID(rawValue: 1)
  public static let subtitle = NotificationAttributeID(rawValue: 2)
  public static let message = NotificationAttributeID(rawValue: 3)
  public static let messageSize = NotificationAttributeID(rawValue: 4)
  public static let date = NotificationAttributeID(rawValue: 5)
  public static let positiveActionLabel = NotificationAttributeID(rawValue: 6)
  public static let negativeActionLabel = NotificationAttributeID(rawValue: 7)

  /// All eight, in the order of their numbers.
  public static let all = (UInt8(0)..<8).map(NotificationAttributeID.init(rawValue:))

  /// The names on command lines and in JSON.
  public static let names = ["app", "title", "subtitle", "message", "size", "date", "positive", "negative"]

  private static let specificationNames = [
    "AppIdentifier", "Title", "Subtitle", "Message", "MessageSize", "Date",
    "PositiveActionLabel", "NegativeActionLabel",
  ]

  /// Whether a maximum length, two bytes, follows it in a command. After other attributes the phone would
  /// read the length as two more ids.
  public var takesMaximumLength: Bool { self == .title || self == .subtitle || self == .message }

  /// The specification's name, or `reserved(9)`.
  public var description: String {
    rawValue < Self.specificationNames.count ? Self.specificationNames[Int(rawValue)] : "reserved(\(rawValue))"
  }
}

/// An attribute of an app (AppAttributeID). Unknown numbers are kept.
public struct AppAttributeID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The app's name as the user sees it.
  public static let displayName = AppAttributeID(rawValue: 0)

  /// The specification's name, or `reserved(9)`.
  public var description: String { self == .displayName ? "DisplayName" : "reserved(\(rawValue))" }
}

/// The attributes to fetch for every notification, and their maximum lengths.
public struct AttributeSelection: Hashable, Sendable {
  /// The attributes to fetch.
  public var attributes: Set<NotificationAttributeID>
  /// The maximum bytes of each text; 65,535 if not given.
  public var maximumLengths: [NotificationAttributeID: UInt16]

  public init(
    _ attributes: Set<NotificationAttributeID> = Set(NotificationAttributeID.all),
    maximumLengths: [NotificationAttributeID: UInt16] = Self.usualLengths
  ) {
    self.attributes = attributes
    self.maximumLengths = maximumLengths
  }

  /// 1,024 bytes of a message, 256 of a title or subtitle.
  public static let usualLengths: [NotificationAttributeID: UInt16] = [
    .title: 256, .subtitle: 256, .message: 1024,
  ]

  /// All attributes, of the usual lengths.
  public static let all = AttributeSelection()
  /// None: attributes are fetched when they are needed, as Apple advises.
  public static let none = AttributeSelection([])

  /// The order in a command: by number, but the date last. The date has fifteen bytes or none, which makes the end of
  /// a response easy to recognise.
  private static let order: [NotificationAttributeID] = [
    .appIdentifier, .title, .subtitle, .message, .messageSize, .positiveActionLabel,
    .negativeActionLabel, .date,
  ]

  /// What to request for a notification with these flags: an action's label only if it has the action.
  public func requests(for flags: EventFlags) -> [ControlPointCommand.AttributeRequest] {
    Self.order.filter { id in
      switch id {
      case .positiveActionLabel: attributes.contains(id) && flags.contains(.positiveAction)
      case .negativeActionLabel: attributes.contains(id) && flags.contains(.negativeAction)
      default: attributes.contains(id)
      }
    }.map { .init($0, maximumLength: maximumLengths[$0]) }
  }

  /// Reads `all`, `none`, or names such as `app,title,message`; with the usual lengths.
  public init?(_ list: String) {
    switch list {
    case "all": self = .all
    case "none": self = .none
    default:
      var wanted: Set<NotificationAttributeID> = []
      for name in list.split(separator: ",", omittingEmptySubsequences: false) {
        guard let id = NotificationAttributeID(name: String(name)) else { return nil }
        wanted.insert(id)
      }
      self.init(wanted)
    }
  }
}

/// The fetched attributes of a notification. An attribute that was not fetched is nil; one that the phone left empty
/// is an empty text.
///
/// The texts are slices of one buffer, the phone's response itself, and nothing else here is an object: passing a
/// notification on passes one reference, and writing it as JSON creates no strings.
public struct NotificationAttributes: Sendable, Hashable {
  /// The buffer of the texts, in UTF-8.
  private var bytes: [UInt8] = []
  /// The range of each text in `bytes`, by its number; empty if there is none.
  private var places = InlineArray<8, Place>(repeating: Place())
  /// The fetched attributes, by their numbers.
  private var fetched = Numbers()
  /// The texts among title, subtitle and message that the phone truncated to the maximum length.
  private var cut = Numbers()
  /// When the notification arrived. Also nil if the phone sent none, as for calls, or an invalid one.
  public private(set) var date: CivilTime?

  private struct Place {
    var start: UInt32 = 0
    var count: UInt32 = 0

    init() {}

    init(_ range: Range<Int>) { (start, count) = (UInt32(range.lowerBound), UInt32(range.count)) }

    var range: Range<Int> { Int(clamping: start)..<Int(clamping: start + count) }

    /// Not inlined, so that only a reference to the buffer is taken, not a copy of the enclosing struct.
    @inline(never) func part(of bytes: [UInt8]) -> ArraySlice<UInt8> { bytes[range] }
  }

  /// A set of the eight known attributes.
  private struct Numbers: Hashable, Sendable {
    private var bits: UInt8 = 0

    subscript(number: UInt8) -> Bool {
      get { number < 8 && bits >> number & 1 != 0 }
      set { bits = newValue ? bits | 1 << number : bits & ~(1 << number) }
    }

    var isEmpty: Bool { bits == 0 }
  }

  /// No attributes.
  public init() {}

  /// The attributes of a response; `requests` are the requested ones, with their maximum lengths.
  public init(_ response: DataSourceResponse, requested requests: [ControlPointCommand.AttributeRequest]) {
    let encoded = response.encoded
    var places = places
    var (fetched, invalid) = (Numbers(), Numbers())
    response.forEach { number, place in
      guard number < 8, !fetched[number] else { return }
      let id = NotificationAttributeID(rawValue: number)
      let place = place.lowerBound..<place.lowerBound + min(place.count, id.longest ?? .max)
      fetched[number] = true
      places[Int(number)] = Place(place)
      if !UTF8Text.isValid(encoded.span.extracting(place)) { invalid[number] = true }
      if id == .date { date = CivilTime(notificationDate: encoded[place]) }
    }
    (bytes, self.places, self.fetched) = (encoded, places, fetched)
    for request in requests {
      guard let maximum = request.maximumLength else { continue }
      cut[request.id.rawValue] = isCut(request.id, maximum: Int(maximum))
    }
    // Nearly always everything is valid as received.
    if !invalid.isEmpty {
      for id in NotificationAttributeID.all where invalid[id.rawValue] { repair(id) }
    }
  }

  private mutating func repair(_ id: NotificationAttributeID) {
    set(id, utf8(id).map { String(cutUTF8: $0) })
  }

  /// A text as long as its maximum was truncated, unless the message's size shows that it is complete. An iPhone ends
  /// a truncated text with an ellipsis, and omits a character that the maximum would split.
  ///
  /// The size is greater than the length received if the phone has more. It counts bytes; if a phone
  /// counts characters instead, the size of a multi-byte text is below its length.
  private func isCut(_ id: NotificationAttributeID, maximum: Int) -> Bool {
    guard has(id) else { return false }
    let place = place(of: id.rawValue)
    let length = Int(clamping: place.count)
    guard length > 0 else { return false }
    guard id == .message, let size = messageSize else {
      return length >= maximum
        || length > maximum - 4 && place.part(of: bytes).suffix(3).elementsEqual("…".utf8)
    }
    if size >= length { return size > length }
    return length >= maximum
      && size > String(cutUTF8: place.part(of: bytes)).unicodeScalars.count
  }

  /// Through the span, because the compiler would copy the whole struct to subscript the array itself.
  private func place(of number: UInt8) -> Place { places.span[Int(number)] }

  private mutating func set(_ number: UInt8, to place: Range<Int>) {
    places[Int(number)] = Place(place)
  }

  private mutating func set(_ id: NotificationAttributeID, _ text: String?) {
    guard id.rawValue < 8 else { return }
    if place(of: id.rawValue).count > 0 { drop(id) }
    let start = bytes.count
    bytes.append(contentsOf: (text ?? "").utf8)
    set(id.rawValue, to: start..<bytes.count)
    fetched[id.rawValue] = text != nil
  }

  /// Makes a buffer of only the other texts.
  private mutating func drop(_ dropped: NotificationAttributeID) {
    let before = self
    bytes = []
    for id in NotificationAttributeID.all {
      let start = bytes.count
      if id != dropped, let text = before.utf8(id) { bytes.append(contentsOf: text) }
      set(id.rawValue, to: start..<bytes.count)
    }
  }

  /// Adds the attributes of `other`, which replace those here.
  public mutating func merge(_ other: NotificationAttributes) {
    for id in NotificationAttributeID.all where other.has(id) {
      set(id, other[id])
      cut[id.rawValue] = other.cut[id.rawValue]
    }
    if other.has(.date) { date = other.date }
  }

  /// The size of the text buffer in bytes.
  public var size: Int { bytes.count }

  /// The memory of the buffer in bytes: up to twice its size, because a response grows as it arrives.
  var capacity: Int { bytes.capacity }

  /// The attribute's text; nil if it was not fetched.
  public subscript(id: NotificationAttributeID) -> String? {
    get { utf8(id).map { String(decoding: $0, as: UTF8.self) } }
    set { set(id, newValue) }
  }

  /// The attribute's text in UTF-8, which is valid; nil if it was not fetched.
  public func utf8(_ id: NotificationAttributeID) -> ArraySlice<UInt8>? {
    has(id) ? place(of: id.rawValue).part(of: bytes) : nil
  }

  /// Whether the attribute was fetched.
  public func has(_ id: NotificationAttributeID) -> Bool { fetched[id.rawValue] }

  /// The texts that the phone truncated to the maximum length, in the order of their numbers.
  public var truncated: [NotificationAttributeID] {
    get { cut.isEmpty ? [] : NotificationAttributeID.all.filter { cut[$0.rawValue] } }
    set {
      cut = Numbers()
      for id in newValue where NotificationAttributeID.all.contains(id) { cut[id.rawValue] = true }
    }
  }

  public var appIdentifier: String? { self[.appIdentifier] }
  public var title: String? { self[.title] }
  public var subtitle: String? { self[.subtitle] }
  public var message: String? { self[.message] }
  public var positiveActionLabel: String? { self[.positiveActionLabel] }
  public var negativeActionLabel: String? { self[.negativeActionLabel] }

  /// The date: nil if it was not requested, a nested nil if the response has none.
  public var fetchedDate: CivilTime?? {
    get { has(.date) ? .some(date) : nil }
    set {
      self[.date] = newValue.map { $0?.description ?? "" }
      date = newValue ?? nil
    }
  }

  /// The full length of the message in bytes, sent as decimal digits. Also nil if it is not a number.
  public var messageSize: Int? {
    get { utf8(.messageSize).flatMap(Self.size) }
    set { self[.messageSize] = newValue.map { String($0) } }
  }

  private static func size(_ text: ArraySlice<UInt8>) -> Int? {
    var size: Int?
    for byte in text.drop(while: { $0 == 0x20 }) {
      guard (0x30...0x39).contains(byte) else { break }
      let (tens, overflow) = (size ?? 0).multipliedReportingOverflow(by: 10)
      let (sum, over) = tens.addingReportingOverflow(Int(byte - 0x30))
      guard !overflow, !over else { return nil }
      size = sum
    }
    return size
  }

  public static func == (one: NotificationAttributes, other: NotificationAttributes) -> Bool {
    one.fetched == other.fetched && one.cut == other.cut && one.date == other.date
      && NotificationAttributeID.all.allSatisfy { one.utf8($0) == other.utf8($0) }
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(fetched)
    hasher.combine(cut)
    for id in NotificationAttributeID.all { hasher.combine(utf8(id)) }
  }
}

/// ANCS's format of a date (NotificationAttributeID Date): the phone's local time without a time zone.
extension CivilTime {
  /// Reads `yyyyMMdd'T'HHmmss`; nil for anything else. Phones send an empty date for incoming calls, and have been
  /// seen to send partial ones.
  public init?(notificationDate value: [UInt8]) { self.init(notificationDate: value[...]) }

  /// Reads `yyyyMMdd'T'HHmmss` in a slice of a response.
  init?(notificationDate value: ArraySlice<UInt8>) {
    let start = value.startIndex
    guard value.count == 15, value[start + 8] == UInt8(ascii: "T") else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      var sum = 0
      for place in range {
        let byte = value[start + place]
        guard (0x30...0x39).contains(byte) else { return nil }
        sum = sum * 10 + Int(byte - 0x30)
      }
      return sum
    }
    guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8),
      let hour = number(9..<11), let minute = number(11..<13), let second = number(13..<15)
    else { return nil }
    self.init(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
  }

  /// In ANCS's format: `20261121T070000`.
  public var notificationDate: String { description.filter { $0 != "-" && $0 != ":" } }
}
