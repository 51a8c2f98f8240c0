// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A command for the phone, written to the Control Point (ANCS specification, Control Point and Data
/// Source).
public enum ControlPointCommand: Hashable, Sendable {
  /// Asks for attributes of a notification; the Data Source answers.
  case getNotificationAttributes(NotificationUID, [AttributeRequest])
  /// Asks for attributes of an app; the Data Source answers.
  case getAppAttributes(appIdentifier: String, [AppAttributeID])
  /// Acts on a notification; the Write Response is the answer.
  case performNotificationAction(NotificationUID, Action)

  /// The number of the command (CommandID).
  public enum ID {
    public static let getNotificationAttributes: UInt8 = 0
    public static let getAppAttributes: UInt8 = 1
    public static let performNotificationAction: UInt8 = 2
  }

  /// One attribute that is asked for, and how much of it.
  public struct AttributeRequest: Hashable, Sendable {
    public let id: NotificationAttributeID
    /// The greatest number of bytes wanted; only where the attribute takes one.
    public let maximumLength: UInt16?

    /// Asks for `id`, for all of it where no maximum is given; a maximum is dropped where the attribute
    /// takes none.
    public init(_ id: NotificationAttributeID, maximumLength: UInt16? = nil) {
      self.id = id
      self.maximumLength = id.takesMaximumLength ? maximumLength ?? .max : nil
    }
  }

  /// The question that tells whether the session is alive: about a notification that can't exist, for
  /// nothing. A phone that still knows the session answers Invalid Parameter.
  public static let probe = ControlPointCommand.getNotificationAttributes(.probe, [])

  /// A question without content that a phone answers once it lets this side read: what its messages
  /// app is called.
  public static let authorizationProbe = ControlPointCommand.getAppAttributes(
    appIdentifier: "com.apple.MobileSMS", [.displayName])

  /// The bytes for the air. An app id ends at its first NUL, as it would there.
  public var encoded: [UInt8] {
    var writer = ByteWriter()
    switch self {
    case .getNotificationAttributes(let uid, let attributes):
      writer.u8(ID.getNotificationAttributes)
      writer.u32(uid.rawValue)
      for attribute in attributes {
        writer.u8(attribute.id.rawValue)
        if let maximum = attribute.maximumLength { writer.u16(maximum) }
      }
    case .getAppAttributes(let app, let attributes):
      writer.u8(ID.getAppAttributes)
      writer.bytes(app.utf8.prefix { $0 != 0 })
      writer.u8(0)
      for attribute in attributes { writer.u8(attribute.rawValue) }
    case .performNotificationAction(let uid, let action):
      writer.u8(ID.performNotificationAction)
      writer.u32(uid.rawValue)
      writer.u8(action.rawValue)
    }
    return writer.bytes
  }

  /// Reads a command as the phone does: one that is not known is refused with Unknown Command, one
  /// that is cut short or too long with Invalid Command. Whether what it names exists is not looked at.
  public init(decoding value: [UInt8]) throws(ControlPointError) {
    var reader = ByteReader(value)
    do {
      switch try reader.u8() {
      case ID.getNotificationAttributes:
        let uid = NotificationUID(rawValue: try reader.u32())
        var attributes: [AttributeRequest] = []
        while !reader.isAtEnd {
          let id = NotificationAttributeID(rawValue: try reader.u8())
          attributes.append(
            AttributeRequest(id, maximumLength: id.takesMaximumLength ? try reader.u16() : nil))
        }
        self = .getNotificationAttributes(uid, attributes)
      case ID.getAppAttributes:
        let rest = reader.rest()
        guard let end = rest.firstIndex(of: 0) else {
          throw reader.invalid("an app id without end")
        }
        self = .getAppAttributes(
          appIdentifier: String(decoding: rest[..<end], as: UTF8.self),
          rest[(end + 1)...].map(AppAttributeID.init(rawValue:)))
      case ID.performNotificationAction:
        let uid = NotificationUID(rawValue: try reader.u32())
        let action = Action(rawValue: try reader.u8())
        try reader.end()
        self = .performNotificationAction(uid, action)
      default:
        throw ControlPointError.unknownCommand
      }
    } catch let error as ControlPointError {
      throw error
    } catch {
      throw .invalidCommand
    }
  }
}
