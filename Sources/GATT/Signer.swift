// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// Signs writes for a server that has the key (Vol 3 Part H, 2.4.5; Part C, 10.4.1).
///
/// A counter value must not be used twice with one key: store the signer with the bond.
public struct Signer: Hashable, Sendable {
  /// The Connection Signature Resolving Key, 16 octets, least significant first as SMP sends it.
  public let key: [UInt8]
  /// The number of signatures made.
  public private(set) var counter: UInt32

  public init(key: [UInt8], counter: UInt32 = 0) {
    self.key = key
    self.counter = counter
  }

  /// The signature of a write: the counter, and half of an AES-CMAC over opcode, handle, value and
  /// counter.
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
