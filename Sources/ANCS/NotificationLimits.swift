// SPDX-License-Identifier: GPL-3.0-or-later

/// How much is kept of a phone's notifications (docs/security.md, “Limits”). None of it is met by an
/// iPhone as it is; all of it holds against one that is not.
public enum NotificationLimits {
  /// The most notifications of a session that are kept, and the most that wait to be fetched.
  public static let notifications = 16_384
  /// The most bytes that the kept notifications of a session may take, as `NotificationReport.size`
  /// counts them.
  public static let bytes = 16 << 20
  /// The most bytes of an app's identifier. Apple's are reverse domain names of up to 155.
  public static let appIdentifier = 256
  /// The most bytes of an app's name.
  public static let appName = 256
  /// The most bytes of a date, which has fifteen.
  public static let date = 16
  /// The most digits of a message's size: what no number of 64 bits has is no size.
  public static let messageSize = 20
  /// The most bytes of an action's label, which is a button on the phone.
  public static let label = 64
}

extension NotificationAttributeID {
  /// The most bytes that are kept of it. A longer one is cut; nil where the command itself says how much
  /// is wanted.
  public var longest: Int? {
    switch self {
    case .appIdentifier: NotificationLimits.appIdentifier
    case .date: NotificationLimits.date
    case .messageSize: NotificationLimits.messageSize
    case .positiveActionLabel, .negativeActionLabel: NotificationLimits.label
    default: nil
    }
  }
}

extension NotificationReport {
  /// What a report takes in memory besides its texts: the places in the tables, which are half empty at worst, and the
  /// head of the buffer.
  static let ownSize = 512

  /// About how many bytes it takes in memory.
  public var size: Int {
    Self.ownSize + attributes.room + (app?.utf8.count ?? 0) + (failure?.utf8.count ?? 0)
  }
}
