// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A whole answer of the Data Source: what it is about, and the attributes in the order they were asked
/// for (ANCS specification, Get Notification Attributes and Get App Attributes).
public struct DataSourceResponse: Hashable, Sendable {
  /// What the answer is about.
  public enum Subject: Hashable, Sendable {
    case notification(NotificationUID)
    case app(identifier: String)
  }

  /// One attribute and its bytes; none where the phone has nothing there.
  public struct Attribute: Hashable, Sendable {
    /// The attribute's number: `NotificationAttributeID` or `AppAttributeID`, by the subject.
    public let id: UInt8
    public let value: [UInt8]

    public init(id: UInt8, value: [UInt8]) {
      self.id = id
      self.value = value
    }
  }

  public var subject: Subject
  public var attributes: [Attribute]

  public init(_ subject: Subject, _ attributes: [Attribute]) {
    self.subject = subject
    self.attributes = attributes
  }

  /// The bytes for the air, before they are cut into notifications: the head of the command, then id,
  /// length (two bytes) and value of each attribute. A value longer than its length can say is cut.
  public var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.bytes(subject.head)
    for attribute in attributes {
      let value = attribute.value.prefix(Int(UInt16.max))
      writer.u8(attribute.id)
      writer.u16(UInt16(truncatingIfNeeded: value.count))
      writer.bytes(value)
    }
    return writer.bytes
  }

  /// The answer as notifications of at most `length` bytes each (the MTU less three).
  public func fragments(ofAtMost length: Int) -> [[UInt8]] {
    let bytes = encoded
    let step = max(1, length)
    return stride(from: 0, to: bytes.count, by: step).map {
      Array(bytes[$0..<min($0 + step, bytes.count)])
    }
  }
}

extension DataSourceResponse.Subject {
  /// The bytes that an answer begins with: those of its command, up to the list of attributes.
  var head: [UInt8] {
    switch self {
    case .notification(let uid):
      ControlPointCommand.getNotificationAttributes(uid, []).encoded
    case .app(let identifier):
      ControlPointCommand.getAppAttributes(appIdentifier: identifier, []).encoded
    }
  }
}
