// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// A command for the phone, written to the Control Point (ANCS specification, Control Point and Data
/// Source).
public enum ControlPointCommand: Hashable, Sendable {
  /// Gets attributes of a notification; the response arrives on the Data Source.
  case getNotificationAttributes(NotificationUID, [AttributeRequest])
  /// Gets attributes of an app; the response arrives on the Data Source.
  case getAppAttributes(appIdentifier: String, [AppAttributeID])
  /// Performs an action on a notification; the Write Response is the only response.
  case performNotificationAction(NotificationUID, NotificationAction)

  /// The number of the command (CommandID).
  public enum ID {
    public static let getNotificationAttributes: UInt8 = 0
    public static let getAppAttributes: UInt8 = 1
    public static let performNotificationAction: UInt8 = 2
  }

  /// An attribute to get, and its maximum length.
  public struct AttributeRequest: Hashable, Sendable {
    public let id: NotificationAttributeID
    /// The maximum length in bytes; only for attributes that take one.
    public let maximumLength: UInt16?

    /// Requests `id`, in full if no maximum is given; the maximum is ignored if the attribute takes none.
    public init(_ id: NotificationAttributeID, maximumLength: UInt16? = nil) {
      self.id = id
      self.maximumLength = id.takesMaximumLength ? maximumLength ?? .max : nil
    }
  }

  /// A command that tests whether the session is alive: it requests no attributes of a notification that cannot exist.
  /// A phone that knows the session responds with Invalid Parameter.
  public static let probe = ControlPointCommand.getNotificationAttributes(.probe, [])

  /// Whether it requests nothing, so that no response is to be expected unless the phone refuses it.
  var isProbe: Bool {
    if case .getNotificationAttributes(_, let attributes) = self {
      attributes.isEmpty
    } else {
      false
    }
  }

  /// The value to write. An app id ends at its first NUL.
  public var encoded: [UInt8] {
    var writer = ByteWriter()
    switch self {
    case .getNotificationAttributes(let uid, let attributes):
      // In one step, because nearly all commands are of this kind.
      var bytes: [UInt8] = []
      bytes.append(upTo: 5 + 3 * attributes.count) { out in
        out.append(ID.getNotificationAttributes)
        for place in 0..<4 { out.append(UInt8(truncatingIfNeeded: uid.rawValue >> (8 * place))) }
        for attribute in attributes {
          out.append(attribute.id.rawValue)
          guard let maximum = attribute.maximumLength else { continue }
          out.append(UInt8(truncatingIfNeeded: maximum))
          out.append(UInt8(maximum >> 8))
        }
      }
      return bytes
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

  /// Decodes a written value as the phone does: an unknown command throws Unknown Command, one that is too short or
  /// too long Invalid Command. It does not check whether the parameters exist.
  public init(decoding value: [UInt8]) throws(ErrorCode) {
    var reader = ByteReader(value)
    do {
      switch try reader.u8() {
      case ID.getNotificationAttributes:
        let uid = NotificationUID(rawValue: try reader.u32())
        var attributes: [AttributeRequest] = []
        while !reader.isAtEnd {
          let id = NotificationAttributeID(rawValue: try reader.u8())
          attributes.append(AttributeRequest(id, maximumLength: id.takesMaximumLength ? try reader.u16() : nil))
        }
        self = .getNotificationAttributes(uid, attributes)
      case ID.getAppAttributes:
        let rest = reader.rest()
        guard let end = rest.firstIndex(of: 0) else {
          throw reader.invalid("an unterminated app identifier")
        }
        self = .getAppAttributes(
          appIdentifier: String(decoding: rest[..<end], as: UTF8.self),
          rest[(end + 1)...].map(AppAttributeID.init(rawValue:)))
      case ID.performNotificationAction:
        let uid = NotificationUID(rawValue: try reader.u32())
        let action = NotificationAction(rawValue: try reader.u8())
        try reader.end()
        self = .performNotificationAction(uid, action)
      default: throw ErrorCode.unknownCommand
      }
    } catch let error as ErrorCode {
      throw error
    } catch { throw .malformedCommand }
  }
}

/// An action on a notification (ActionID).
public struct NotificationAction: NamedNumber {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let positive = NotificationAction(rawValue: 0)
  public static let negative = NotificationAction(rawValue: 1)

  public static let names = ["positive", "negative"]

  /// The flag of notifications that have the action; empty for a reserved action.
  public var flag: EventFlags {
    switch self {
    case .positive: .positiveAction
    case .negative: .negativeAction
    default: []
    }
  }
}

/// The reasons for refusing a command on the Control Point (ANCS specification, Error Codes).
extension ErrorCode {
  /// The CommandID is unknown.
  public static let unknownCommand = ErrorCode(0xA0)
  /// The command is malformed.
  public static let malformedCommand = ErrorCode(0xA1)
  /// A parameter names something that does not exist, such as a removed notification.
  public static let invalidParameter = ErrorCode(0xA2)
  /// The action failed.
  public static let actionFailed = ErrorCode(0xA3)

  /// The name in the ANCS specification; nil for codes that ANCS does not define.
  public var nameInANCS: String? {
    switch self {
    case .unknownCommand: "Unknown Command"
    case .malformedCommand: "Invalid Command"
    case .invalidParameter: "Invalid Parameter"
    case .actionFailed: "Action Failed"
    default: nil
    }
  }
}
