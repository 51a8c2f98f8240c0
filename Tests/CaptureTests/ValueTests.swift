// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Testing
import Wire

@Suite("Attribute values")
struct ValueTests {
  @Test(
    "Numbers, choices and texts; invalid values have no meaning",
    arguments: [
      (0x2A00, "4d756d", "Text: Mum"), (0x2A19, "57", "Battery: 87 %"), (0x2A19, "65", ""),
      (0x2A01, "4000", "Appearance: 0x0040"), (0x2A01, "01", ""),
      (0x2A2B, "ea070b150700000600" + "00", "Time: 2026-11-21T07:00:00"), (0x2A0F, "0400", "Zone: 3600 s ahead of UTC"),
      (
        0x2A04, "180028000000f401",
        "Minimum Interval: 30 ms; Maximum Interval: 50 ms; Latency: 0; Supervision Timeout: 5000 ms"
      ),
      (
        0x2A50, "014c0001000200",
        "Vendor Source: Bluetooth SIG (0x01); Vendor: 0x004c; Product: 0x0001; Version: 0x0002"
      ), (0x2B29, "01", "Features: robust caching (0x01)"), (0x2A6E, "6608", "Temperature: 21.5 °C"),
      (0x2A6E, "9cff", "Temperature: -1 °C"), (0x2A6E, "0080", "Temperature: not known"), (0x2A6E, "66", ""),
      (0x2A6D, "cd8b0f00", "Pressure: 101882.9 Pa"), (0x2A6C, "ffffff", "Elevation: -0.01 m"),
      (0x2A98, "c832", "Weight: 65 kg"), (0x2A07, "fc", "Power: -4 dBm"), (0x2A06, "02", "Alert: high (0x02)"),
      (0x2A06, "09", "Alert: 0x09"), (0x2A37, "0648", "Heart Rate: 72 bpm; Contact: yes"), (0x2A37, "01", ""),
      (0x2A37, "012c01", "Heart Rate: 300 bpm"), (0x2A37, "", ""), (0x2ABC, "00", ""),
      (0x2902, "0200", "Subscription: indications (0x0002)"),
    ] as [(UInt16, String, String)])
  func values(type: UInt16, hex: String, wanted: String) {
    let details = ValueDecoder.details(of: [UInt8](hex: hex) ?? [], UUID(type))
    #expect(details.map { "\($0.label): \($0.value)" }.joined(separator: "; ") == wanted)
  }
}
