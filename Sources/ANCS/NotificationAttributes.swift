// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// An attribute of a notification (NotificationAttributeID). Unknown numbers are kept.
public struct NotificationAttributeID: RawRepresentable, Hashable, Sendable {
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

  private static let names = [
    "app", "title", "subtitle", "message", "size", "date", "positive", "negative",
  ]

  private static let specificationNames = [
    "AppIdentifier", "Title", "Subtitle", "Message", "MessageSize", "Date",
    "PositiveActionLabel", "NegativeActionLabel",
  ]

  /// Whether a maximum length, two bytes, follows it in a command. After other attributes the phone would
  /// read the length as two more ids.
  public var takesMaximumLength: Bool { self == .title || self == .subtitle || self == .message }

  /// The name on command lines and in JSON: `app`, `title`, `subtitle`, `message`, `size`, `date`,
  /// `positive`, `negative`.
  public var name: String? {
    rawValue < Self.names.count ? Self.names[Int(rawValue)] : nil
  }

  /// The attribute of that name.
  public init?(name: String) {
    guard let index = Self.names.firstIndex(of: name) else { return nil }
    self.init(rawValue: UInt8(index))
  }
}

extension NotificationAttributeID: CustomStringConvertible {
  /// The specification's name, or `reserved(9)`.
  public var description: String {
    rawValue < Self.specificationNames.count
      ? Self.specificationNames[Int(rawValue)] : "reserved(\(rawValue))"
  }
}

/// An attribute of an app (AppAttributeID). Unknown numbers are kept.
public struct AppAttributeID: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The app's name as the user sees it.
  public static let displayName = AppAttributeID(rawValue: 0)
}

extension AppAttributeID: CustomStringConvertible {
  /// The specification's name, or `reserved(9)`.
  public var description: String {
    self == .displayName ? "DisplayName" : "reserved(\(rawValue))"
  }
}

/// The attributes to fetch of every notification, and how much of each.
public struct AttributeSelection: Hashable, Sendable {
  /// The attributes to fetch.
  public var attributes: Set<NotificationAttributeID>
  /// The most bytes of each text; 65,535 if not given.
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

  /// The order in a command: by number, but the date last. It is fifteen bytes or none, which makes the
  /// end of an answer easy to recognise.
  private static let order: [NotificationAttributeID] = [
    .appIdentifier, .title, .subtitle, .message, .messageSize, .positiveActionLabel,
    .negativeActionLabel, .date,
  ]

  /// What to get of a notification with these flags: an action's label only if it has the action.
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

/// The attributes that were fetched of a notification. Nil is an attribute that was not fetched; one that
/// the phone left empty is an empty text.
public struct NotificationAttributes: Hashable, Sendable {
  /// A text without a character that was cut at the end. There are eight at most, so a linear search is
  /// enough.
  private struct Text: Hashable, Sendable {
    let id: NotificationAttributeID
    var value: String
  }

  private var texts: [Text] = []
  /// The texts that the phone cut to the maximum length: of title, subtitle and message.
  public var truncated: [NotificationAttributeID] = []
  /// When the notification arrived. Also nil if the phone sent none, as for calls, or an invalid one.
  public private(set) var date: CivilTime?

  /// No attributes.
  public init() {}

  /// The attributes of an answer; `requests` are those that were asked for, with their maximum lengths.
  public init(
    _ response: DataSourceResponse, requested requests: [ControlPointCommand.AttributeRequest]
  ) {
    texts.reserveCapacity(response.attributes.count)
    for attribute in response.attributes {
      let id = NotificationAttributeID(rawValue: attribute.id)
      set(id, String(cutUTF8: attribute.value.prefix(id.longest ?? .max)))
      if id == .date { date = CivilTime(notificationDate: attribute.value) }
    }
    for request in requests {
      guard let maximum = request.maximumLength,
        let answer = response.attributes.first(where: { $0.id == request.id.rawValue }),
        isCut(request.id, answer.value, maximum: Int(maximum))
      else { continue }
      truncated.append(request.id)
    }
  }

  /// A text as long as its maximum was cut, unless the message's size says that it is complete. An iPhone
  /// ends what it cuts with an ellipsis, and leaves out a character that the maximum would halve.
  ///
  /// The size is greater than the length received if the phone has more. It counts bytes; if a phone
  /// counts characters instead, the size of a multi-byte text is below its length.
  private func isCut(
    _ id: NotificationAttributeID, _ value: ArraySlice<UInt8>, maximum: Int
  ) -> Bool {
    let length = value.count
    guard length > 0 else { return false }
    guard id == .message, let size = messageSize else {
      return length >= maximum || length > maximum - 4 && value.suffix(3) == Array("…".utf8)[...]
    }
    if size >= length { return size > length }
    return length >= maximum && size > (message?.unicodeScalars.count ?? 0)
  }

  private mutating func set(_ id: NotificationAttributeID, _ value: String?) {
    guard let value else { return texts.removeAll { $0.id == id } }
    if let index = texts.firstIndex(where: { $0.id == id }) {
      texts[index].value = value
    } else {
      texts.append(Text(id: id, value: value))
    }
  }

  /// Adds the attributes of `other`, which replace those here.
  public mutating func merge(_ other: NotificationAttributes) {
    for text in other.texts { set(text.id, text.value) }
    if other.has(.date) { date = other.date }
    truncated = truncated.filter { !other.has($0) } + other.truncated
    truncated.sort { $0.rawValue < $1.rawValue }
  }

  /// How many bytes the texts have.
  public var size: Int { texts.reduce(0) { $0 + $1.value.utf8.count } }

  /// The attribute's text; nil if it was not fetched.
  public subscript(id: NotificationAttributeID) -> String? {
    get { texts.first { $0.id == id }?.value }
    set { set(id, newValue) }
  }

  /// Whether the attribute was fetched.
  public func has(_ id: NotificationAttributeID) -> Bool { texts.contains { $0.id == id } }

  public var appIdentifier: String? { self[.appIdentifier] }
  public var title: String? { self[.title] }
  public var subtitle: String? { self[.subtitle] }
  public var message: String? { self[.message] }
  public var positiveActionLabel: String? { self[.positiveActionLabel] }
  public var negativeActionLabel: String? { self[.negativeActionLabel] }

  /// The date: nil where it was not asked for, and a nil within where the answer holds none.
  public var fetchedDate: CivilTime?? {
    get { has(.date) ? .some(date) : nil }
    set {
      self[.date] = newValue.map { $0?.description ?? "" }
      date = newValue ?? nil
    }
  }

  /// The full length of the message in bytes, sent as decimal digits. Also nil if it is not a number.
  public var messageSize: Int? {
    get { self[.messageSize].flatMap(Self.size) }
    set { self[.messageSize] = newValue.map { String($0) } }
  }

  private static func size(_ text: String) -> Int? {
    var size: Int?
    for byte in text.utf8.drop(while: { $0 == 0x20 }) {
      guard (0x30...0x39).contains(byte) else { break }
      let (tens, overflow) = (size ?? 0).multipliedReportingOverflow(by: 10)
      let (sum, over) = tens.addingReportingOverflow(Int(byte - 0x30))
      guard !overflow, !over else { return nil }
      size = sum
    }
    return size
  }
}

/// ANCS's format of a date (NotificationAttributeID Date): the phone's local time without a time zone.
extension CivilTime {
  /// Reads `yyyyMMdd'T'HHmmss`; nil for anything else. Phones send an empty date for incoming calls, and
  /// were seen to send parts of one.
  public init?(notificationDate value: [UInt8]) { self.init(notificationDate: value[...]) }

  /// Reads `yyyyMMdd'T'HHmmss` in a part of an answer.
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
