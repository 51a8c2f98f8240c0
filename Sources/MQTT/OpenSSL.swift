// SPDX-License-Identifier: GPL-3.0-or-later
import CMosquitto
import Fleet
import Glibc
import Wire

/// OpenSSL's settings for the connections to one host: the authorities to trust, and this board's own certificate.
final class TLSContext {
  let context: OpaquePointer

  /// - Throws: if a file can't be used.
  init(_ identity: BrokerIdentity) throws(BrokerError) {
    guard let context = SSL_CTX_new(TLS_client_method()) else {
      throw .unusable("OpenSSL can't be initialised")
    }
    self.context = context
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    // A key with a password would prompt for it on the terminal.
    SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
    let host = identity.address.place
    guard tls_expect_host(context, host) else {
      throw .unusable("“\(host)” can't be the host of a certificate")
    }
    try Self.use(identity.authorities) {
      access("\($0)/.", F_OK) == 0 ? SSL_CTX_load_verify_dir(context, $0) : SSL_CTX_load_verify_file(context, $0)
    }
    if let certificate = identity.certificateFile, let key = identity.keyFile {
      try Self.use(certificate) { SSL_CTX_use_certificate_chain_file(context, $0) }
      try Self.use(key) { SSL_CTX_use_PrivateKey_file(context, $0, SSL_FILETYPE_PEM) }
    }
  }

  deinit { SSL_CTX_free(context) }

  private static func use(_ file: String, _ load: (String) -> Int32) throws(BrokerError) {
    guard access(file, R_OK) == 0 else {
      throw .unusable("\(file) can't be read: \(String(cString: strerror(errno)))")
    }
    ERR_clear_error()
    guard load(file) != 1 else { return }
    let reason = ERR_reason_error_string(ERR_peek_last_error()).map { String(cString: $0) }
    throw .unusable("\(file) can't be used: \(reason ?? "OpenSSL gives no reason")")
  }
}

/// The first 16 hexadecimal digits of HMAC-SHA-256 (RFC 2104), with a key that several boards share.
public func keyedDigest(of bytes: [UInt8], key: [UInt8]) -> String {
  var result = [UInt8](repeating: 0, count: 32)
  var count: UInt32 = 0
  HMAC(EVP_sha256(), key, Int32(clamping: key.count), bytes, bytes.count, &result, &count)
  return result.prefix(8).hex
}
