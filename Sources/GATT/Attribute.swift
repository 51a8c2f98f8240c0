// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// One attribute of a server: a handle, a type, permissions and a value (Vol 3 Part F, 3.2).
public struct Attribute {
  public let handle: Handle
  public let type: UUID
  public let permissions: Permissions
  /// The longest value that may be written, in octets, at most 512 (Vol 3 Part F, 3.2.9).
  public let maximumLength: Int
  var content: Content

  /// Where a value comes from, and where one goes that is written.
  public enum Content {
    /// It lies in the database, the same for all clients; one that is written takes its place.
    case stored([UInt8])
    /// It is asked for and handed over, client by client, once the permissions are checked.
    case handled(read: Reading? = nil, write: Writing? = nil)
    /// A Client Characteristic Configuration: the server keeps one a connection.
    case clientConfiguration
  }

  /// Answers a read with the whole value; the server cuts it as the request asks.
  public typealias Reading = (Server) throws(ErrorCode) -> [UInt8]
  /// Takes a whole value that was written (prepared writes are put together before).
  public typealias Writing = (Server, [UInt8]) throws(ErrorCode) -> Void

  /// An attribute as it will lie in a database.
  public init(
    handle: Handle, type: UUID, permissions: Permissions, content: Content,
    maximumLength: Int = Client.longestValue
  ) {
    self.handle = handle
    self.type = type
    self.permissions = permissions
    self.content = content
    self.maximumLength = min(maximumLength, Client.longestValue)
  }

  /// The value, where it lies in the database.
  var stored: [UInt8]? {
    if case .stored(let value) = content { value } else { nil }
  }
}
