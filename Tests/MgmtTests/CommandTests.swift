// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Mgmt
import Testing
import Wire

@Suite("Commands as bytes")
struct CommandTests {
  /// As accepted by a real kernel, or as laid out in mgmt.h.
  static let vectors: [(MgmtCommand, String)] = [
    (.readCommands, "0200 0000 0000"), (.readIndexList, "0300 0000 0000"),
    (.readControllerInformation, "0400 0000 0000"), (.setPowered(true), "0500 0000 0100 01"),
    (.setDiscoverable(true), "0600 0000 0300 01 0000"), (.setConnectable(true), "0700 0000 0100 01"),
    (.setFastConnectable(false), "0800 0000 0100 00"), (.setBondable(true), "0900 0000 0100 01"),
    (.setLinkSecurity(true), "0a00 0000 0100 01"), (.setSecureSimplePairing(true), "0b00 0000 0100 01"),
    (.setLowEnergy(true), "0d00 0000 0100 01"), (.loadLongTermKeys([]), "1300 0000 0200 0000"),
    (
      .loadLongTermKeys([Sample.longTermKey(), Sample.longTermKey(.legacy, diversifier: 0x1234)]),
      "1300 0000 4a00 0200 \(Sample.newLongTermKey.dropFirst().hex)"
        + "\(Sample.phoneWire) 00 00 10 3412 0000000000000000 \(Sample.keyBytes)"
    ), (.disconnect(Sample.phone), "1400 0000 0700 f5f4f3f2f1f002"), (.getConnections, "1500 0000 0000"),
    (.setIOCapability(.noInputNoOutput), "1800 0000 0100 03"),
    (.pairDevice(Sample.phone, .noInputNoOutput), "1900 0000 0800 f5f4f3f2f1f002 03"),
    (.unpairDevice(Sample.phone, disconnect: true), "1b00 0000 0800 f5f4f3f2f1f002 01"),
    (.userConfirmReply(Sample.phone), "1c00 0000 0700 f5f4f3f2f1f002"),
    (.userConfirmNegativeReply(Sample.phone), "1d00 0000 0700 f5f4f3f2f1f002"),
    (
      .userPasskeyReply(Sample.phone, Passkey(value: 0x0102)),
      "1e00 0000 0b00 f5f4f3f2f1f002 02010000"
    ),
    (.userPasskeyNegativeReply(Sample.phone), "1f00 0000 0700 f5f4f3f2f1f002"),
    (.startDiscovery, "2300 0000 0100 06"),
    (.stopDiscovery, "2400 0000 0100 06"),
    (.setAdvertising(false), "2900 0000 0100 00"),
    (.setClassic(false), "2a00 0000 0100 00"),
    (.setStaticAddress(Sample.phone.address), "2b00 0000 0600 f5f4f3f2f1f0"),
    (.setSecureConnections(true), "2d00 0000 0100 01"),
    (.setPrivacyOff, "2f00 0000 1100 00 00000000000000000000000000000000"),
    (
      .setPrivacy(Sample.key), "2f00 0000 1100 01 \(Sample.keyBytes)"
    ),
    (
      .loadIdentityResolvingKeys([Sample.identityResolvingKey()]),
      "3000 0000 1900 0100 \(Sample.phoneWire) \(Sample.keyBytes)"
    ), (.getConnectionInformation(Sample.phone), "3100 0000 0700 f5f4f3f2f1f002"),
    (
      .loadConnectionParameters([Sample.phone: ConnectionParameters(interval: 24, latency: 0, timeout: 72)]),
      "3500 0000 1100 0100 f5f4f3f2f1f002 1800 1800 0000 4800"
    ), (.readAdvertisingFeatures, "3d00 0000 0000"),
    (
      .addAdvertising(instance: 1, flags: [.connectable, .discoverable], data: [0x02, 0x0A, 0x08]),
      "3e00 0000 0e00 01 03000000 0000 0000 03 00 020a08"
    ), (.removeAdvertising(instance: 1), "3f00 0000 0100 01"),
    (
      .setDefaultSystemConfiguration([
        .maximumConnectionInterval: 160, .minimumConnectionInterval: 80,
      ]), "4c00 0000 0a00 1700 02 5000 1800 02 a000"
    ),
    (
      .addAdvertisementMonitor([AdvertisingStructure(.solicitedUUIDs16, [0x05, 0x18])]),
      "5200 0000 2300 01 14 00 02 0518 \(String(repeating: "00", count: 29))"
    ), (.removeAdvertisementMonitors, "5300 0000 0200 0000"),
    (
      .addExtendedAdvertisingParameters(instance: 1, flags: [.connectable, .discoverable], interval: 0x20...0x20),
      "5400 0000 1200 01 03400000 0000 0000 20000000 20000000 7f"
    ),
    (
      .addExtendedAdvertisingData(instance: 1, data: [0x02, 0x0A, 0x08], scanResponse: [0x01, 0xFF]),
      "5500 0000 0800 01 03 02 020a08 01ff"
    ),
  ]

  @Test("Every command has the kernel's layout and a name", arguments: vectors.indices)
  func layout(of number: Int) {
    let (command, hex) = Self.vectors[number]
    #expect(command.packet(index: Sample.hci0).encoded == Sample.bytes(hex), "\(command)")
    #expect(!command.opcode.description.contains("0x"), "no name: \(command)")
  }

  @Test("A list that exceeds a packet is cut")
  func tooMany() throws {
    let keys = Array(repeating: Sample.identityResolvingKey(), count: 3000)
    let packet = MgmtCommand.loadIdentityResolvingKeys(keys).packet(index: Sample.hci0)
    #expect(packet.body.count == 2 + 23 * 2849)
    #expect(Array(packet.body.prefix(2)) == [0x21, 0x0B])
    #expect(try Packet(decoding: packet.encoded) == packet)
  }
}
