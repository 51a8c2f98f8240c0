// SPDX-License-Identifier: GPL-3.0-or-later

/// Limits on a phone's notifications (docs/security.md, “Limits”). A real iPhone never reaches them; they protect
/// against anything else.
public enum NotificationLimits {
  /// The maximum number of notifications kept for a session, and the maximum waiting to be fetched.
  public static let notifications = 16_384
  /// The maximum size of a session's kept notifications in bytes, as counted by `NotificationReport.size`.
  public static let bytes = 16 << 20
  /// The maximum length of an app's identifier in bytes. Apple's are reverse domain names of up to 155.
  public static let appIdentifier = 256
  /// The maximum length of an app's name in bytes.
  public static let appName = 256
  /// The maximum length of a date, which has fifteen bytes.
  public static let date = 16
  /// The maximum digits of a message's size: enough for any 64-bit number.
  public static let messageSize = 20
  /// The maximum length in bytes of an action's label, which is a button on the phone.
  public static let label = 64
}

extension NotificationAttributeID {
  /// The maximum bytes kept, beyond which it is truncated; nil if the command itself sets the maximum.
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
  /// The memory of a report besides its texts: the entries in tables, which are half empty at worst, and the buffer's
  /// header.
  static let overhead = 512

  /// Its approximate memory size in bytes.
  public var size: Int {
    Self.overhead + attributes.capacity + (app?.utf8.count ?? 0) + (failure?.utf8.count ?? 0)
  }
}
