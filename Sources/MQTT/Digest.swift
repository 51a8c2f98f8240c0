// SPDX-License-Identifier: GPL-3.0-or-later
import CMosquitto
import Wire

/// Digests with a key that several boards share.
public enum KeyedDigest {
  /// The first 16 hexadecimal digits of HMAC-SHA-256 (RFC 2104).
  public static func of(_ bytes: [UInt8], key: [UInt8]) -> String {
    var result = [UInt8](repeating: 0, count: 32)
    var count: UInt32 = 0
    HMAC(EVP_sha256(), key, Int32(clamping: key.count), bytes, bytes.count, &result, &count)
    return result.prefix(8).hex
  }
}
