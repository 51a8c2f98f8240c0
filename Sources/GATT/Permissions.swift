// SPDX-License-Identifier: GPL-3.0-or-later
import ATT

/// What a link offers at this moment, as permissions ask for it (Vol 3 Part C, 10.3.1).
public struct LinkSecurity: Hashable, Sendable {
  /// Whether the link is encrypted.
  public var encrypted: Bool
  /// Whether its key was made with protection against a man in the middle.
  public var authenticated: Bool
  /// The size of its key in octets, 7 to 16; 0 where it is not encrypted.
  public var keySize: Int
  /// Whether the user lets this client at what needs authorization.
  public var authorized: Bool
  /// Whether both ends have a key, so that encrypting is all that it takes.
  public var bonded: Bool

  public init(
    encrypted: Bool = false, authenticated: Bool = false, keySize: Int = 0,
    authorized: Bool = false, bonded: Bool = false
  ) {
    self.encrypted = encrypted
    self.authenticated = authenticated
    self.keySize = keySize
    self.authorized = authorized
    self.bonded = bonded
  }

  /// A link in the clear.
  public static let none = LinkSecurity()
  /// A link as a bond by just works makes it.
  public static let encrypted = LinkSecurity(encrypted: true, keySize: 16, bonded: true)
  /// A link as a bond by comparing or typing a passkey makes it.
  public static let authenticated = LinkSecurity(
    encrypted: true, authenticated: true, keySize: 16, bonded: true)
}

/// What reading, or writing, an attribute takes.
public struct Access: Hashable, Sendable {
  public var encryption: Bool
  /// Implies encryption: only an encrypted link is an authenticated one.
  public var authentication: Bool
  public var authorization: Bool
  /// The least size of the key in octets; 0 for any.
  public var keySize: Int

  public init(
    encryption: Bool = false, authentication: Bool = false, authorization: Bool = false,
    keySize: Int = 0
  ) {
    self.encryption = encryption
    self.authentication = authentication
    self.authorization = authorization
    self.keySize = keySize
  }

  /// Everybody may.
  public static let open = Access()
  /// The link must be encrypted.
  public static let encrypted = Access(encryption: true)
  /// The link must be encrypted by an authenticated key.
  public static let authenticated = Access(encryption: true, authentication: true)

  /// Why `link` is not enough; nil where it is.
  ///
  /// The order is that of Vol 3 Part C, 10.3.1: no key at all is a want of authentication (0x05),
  /// which makes the client pair; a key that is not in use is a want of encryption (0x0F).
  public func refusal(on link: LinkSecurity) -> ErrorCode? {
    if encryption || authentication || keySize > 0, !link.encrypted {
      return link.bonded ? .insufficientEncryption : .insufficientAuthentication
    }
    if authentication, !link.authenticated { return .insufficientAuthentication }
    if link.keySize < keySize { return .encryptionKeySizeTooShort }
    return authorization && !link.authorized ? .insufficientAuthorization : nil
  }
}

/// What clients may do with an attribute (Vol 3 Part F, 3.2.5); nil: they may not at all.
public struct Permissions: Hashable, Sendable {
  public var read: Access?
  public var write: Access?

  public init(read: Access? = nil, write: Access? = nil) {
    self.read = read
    self.write = write
  }

  public static let readable = Permissions(read: .open)
  public static let writable = Permissions(write: .open)
  public static let readableAndWritable = Permissions(read: .open, write: .open)
}
