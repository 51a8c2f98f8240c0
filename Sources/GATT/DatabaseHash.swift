// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// The Database Hash over attributes in the order of their handles (Vol 3 Part G, 7.3.1): AES-CMAC
/// with a key of zeros, least significant octet first.
///
/// Declarations and extended properties count with their values, the other descriptors of the
/// generic profile without, and values of characteristics not at all.
func databaseHash(of attributes: some Sequence<Attribute>) -> [UInt8] {
  var message = ByteWriter(capacity: 256)
  for attribute in attributes {
    switch attribute.type {
    case GATTType.primaryService, GATTType.secondaryService, GATTType.include,
      GATTType.characteristic, GATTType.extendedProperties:
      message.u16(attribute.handle)
      message.uuid(attribute.type)
      message.bytes(attribute.stored ?? [])
    case GATTType.userDescription, GATTType.clientConfiguration, GATTType.serverConfiguration,
      GATTType.presentationFormat, GATTType.aggregateFormat:
      message.u16(attribute.handle)
      message.uuid(attribute.type)
    default: break
    }
  }
  return cmac(key: [UInt8](repeating: 0, count: 16), message.bytes).reversed()
}
