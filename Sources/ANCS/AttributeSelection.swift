// SPDX-License-Identifier: GPL-3.0-or-later

/// Which attributes of a notification are asked for without being told to, and how much of each.
public struct AttributeSelection: Hashable, Sendable {
  /// The attributes that are wanted.
  public var attributes: Set<NotificationAttributeID>
  /// The greatest number of bytes of each text; 65,535 where nothing is said.
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
  /// None: what is wanted is asked for when it is looked at, as Apple advises.
  public static let none = AttributeSelection([])

  /// The order they are asked in: by number, but the date last. It is fifteen bytes or none, so the end
  /// of an answer is seen for what it is.
  private static let order: [NotificationAttributeID] = [
    .appIdentifier, .title, .subtitle, .message, .messageSize, .positiveActionLabel,
    .negativeActionLabel, .date,
  ]

  /// What is asked about a notification with these flags: the actions' labels only where it has the
  /// actions.
  public func requests(for flags: EventFlags) -> [ControlPointCommand.AttributeRequest] {
    Self.order.filter { id in
      switch id {
      case .positiveActionLabel: attributes.contains(id) && flags.contains(.positiveAction)
      case .negativeActionLabel: attributes.contains(id) && flags.contains(.negativeAction)
      default: attributes.contains(id)
      }
    }.map { .init($0, maximumLength: maximumLengths[$0]) }
  }

  /// Reads `all`, `none`, or names such as `app,title,message`; the lengths are the usual ones.
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
