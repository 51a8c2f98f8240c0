// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// Signs writes for a server that was given the key (Vol 3 Part H, 2.4.5; Part C, 10.4.1).
///
/// The counter must never go back under one key: keep the signer with the bond.
public struct Signer: Hashable, Sendable {
  /// The Connection Signature Resolving Key, 16 octets, least significant first as SMP sends it.
  public let key: [UInt8]
  /// Counts the signatures.
  public private(set) var counter: UInt32

  public init(key: [UInt8], counter: UInt32 = 0) {
    self.key = key
    self.counter = counter
  }

  /// The signature of a write: the counter and half an AES-CMAC over everything that goes before it.
  mutating func signature(of value: [UInt8], at handle: Handle) -> [UInt8] {
    var signed = ByteWriter()
    signed.u8(Opcode.signedWriteCommand.rawValue)
    signed.u16(handle)
    signed.bytes(value)
    signed.u32(counter)
    var signature = ByteWriter()
    signature.u32(counter)
    counter &+= 1
    let code = cmac(key: key.reversed(), signed.bytes.reversed())
    signature.bytes(code.prefix(8).reversed())
    return signature.bytes
  }
}

extension Client {
  /// Signed Write Without Response (Vol 3 Part G, 4.9.2). On an encrypted link, where a signature
  /// says nothing new, it is a plain Write Command (Part C, 10.4.1).
  public func writeSigned(
    _ handle: Handle, _ value: [UInt8], by signer: inout Signer, on link: LinkSecurity = .none
  ) throws(ATTFailure) {
    guard !link.encrypted else { return try writeCommand(handle, value) }
    let signature = signer.signature(of: value, at: handle)
    try bearer.command(.signedWriteCommand(handle, value: value, signature: signature))
  }
}
