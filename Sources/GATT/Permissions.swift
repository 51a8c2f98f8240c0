// SPDX-License-Identifier: GPL-3.0-or-later
import ATT

/// The security of a link (Vol 3 Part C, 10.3.1).
public struct LinkSecurity: Hashable, Sendable {
  /// Whether the link is encrypted.
  public var encrypted: Bool
  /// Whether its key has protection against a man in the middle.
  public var authenticated: Bool
  /// The size of its key in octets, 7 to 16; 0 without encryption.
  public var keySize: Int
  /// Whether the user has authorized this client.
  public var authorized: Bool
  /// Whether both ends have a key, so that the link only needs to be encrypted.
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

  /// An unencrypted link.
  public static let none = LinkSecurity()
  /// The link of a bond made by Just Works.
  public static let encrypted = LinkSecurity(encrypted: true, keySize: 16, bonded: true)
  /// The link of a bond made by Numeric Comparison or Passkey Entry.
  public static let authenticated = LinkSecurity(encrypted: true, authenticated: true, keySize: 16, bonded: true)
}

/// What reading or writing an attribute requires.
public struct Access: Hashable, Sendable {
  public var encryption: Bool
  /// Implies encryption: only an encrypted link is authenticated.
  public var authentication: Bool
  public var authorization: Bool
  /// The minimum size of the key in octets; 0 for any.
  public var keySize: Int

  public init(encryption: Bool = false, authentication: Bool = false, authorization: Bool = false, keySize: Int = 0) {
    self.encryption = encryption
    self.authentication = authentication
    self.authorization = authorization
    self.keySize = keySize
  }

  /// Allowed for every client.
  public static let open = Access()
  /// The link must be encrypted.
  public static let encrypted = Access(encryption: true)
  /// The link must be encrypted with an authenticated key.
  public static let authenticated = Access(encryption: true, authentication: true)

  /// The error for a client on `link`; nil if the link's security is sufficient.
  ///
  /// The order is that of Vol 3 Part C, 10.3.1: without a key it is Insufficient Authentication (0x05),
  /// which makes the client pair; with a key that is not in use, Insufficient Encryption (0x0F).
  public func refusal(on link: LinkSecurity) -> ErrorCode? {
    if encryption || authentication || keySize > 0, !link.encrypted {
      return link.bonded ? .insufficientEncryption : .insufficientAuthentication
    }
    if authentication, !link.authenticated { return .insufficientAuthentication }
    if link.keySize < keySize { return .encryptionKeySizeTooShort }
    return authorization && !link.authorized ? .insufficientAuthorization : nil
  }
}

/// What clients may do with an attribute (Vol 3 Part F, 3.2.5); nil: not permitted.
public struct Permissions: Hashable, Sendable {
  public var read: Access?
  public var write: Access?

  public init(read: Access? = nil, write: Access? = nil) {
    self.read = read
    self.write = write
  }

  public static let readable = Permissions(read: .open)
}
