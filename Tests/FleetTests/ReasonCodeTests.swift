// SPDX-License-Identifier: GPL-3.0-or-later
import Testing

@testable import Fleet

@Suite("Reason codes") struct ReasonCodeTests {
  /// All reason codes of MQTT 5 (2.4) from 0x80 on.
  private static let refusals = Array<UInt8>(0x80...0xA2)

  @Test("Each code of a refusal has a name, and its number for a search", arguments: refusals)
  func names(_ code: UInt8) {
    let sentence = ReasonCode(code).sentence(.connecting, as: "kitchen")
    #expect(ReasonCode.table[code] != nil)
    #expect(sentence.hasPrefix("the broker refuses the connection: "))
    #expect(sentence.contains("(0x\(String(code, radix: 16, uppercase: true)))"))
    #expect(!sentence.contains("reason code"))
    #expect(ReasonCode(code).isRefusal)
  }

  @Test("What only the user can change has a remedy")
  func remedies() {
    for code in Self.refusals where ReasonCode(code).isPersistent {
      #expect(ReasonCode.table[code]?.remedy != nil, "\(code)")
    }
    #expect(ReasonCode.table.count == Self.refusals.count)
    #expect(!ReasonCode(0x10).isRefusal && !ReasonCode(0).isRefusal)
  }

  @Test("A refused topic is named, with the line for the broker's ACL")
  func topics() {
    let denied = ReasonCode(0x87)
    #expect(
      denied.sentence(.publishing("ancsd/kitchen/state"), as: "kitchen")
        == "the broker does not let “kitchen” publish ancsd/kitchen/state: not authorized (0x87); "
        + "its ACL has to allow that (mosquitto: topic write ancsd/kitchen/state)")
    #expect(
      denied.sentence(.subscribing("a/+"), as: "k").hasSuffix("(mosquitto: topic read a/+)"))
    #expect(
      denied.sentence(.removing("a/b"), as: "k").hasSuffix("mosquitto_pub -r -n -t a/b"))
    #expect(
      ReasonCode(0x97).sentence(.publishing("a"), as: "k")
        == "the broker does not let “k” publish a: quota exceeded (0x97); raise the broker's limit "
        + "for this user")
  }

  @Test("The broker's own words are quoted; an unknown code is a number")
  func remarks() {
    #expect(
      ReasonCode(0x9D).sentence(.staying, as: "k", remark: "b.lan")
        == "the broker has ended the connection: server moved (0x9D), “b.lan”; change url in [mqtt]"
    )
    #expect(
      ReasonCode(0xF0).sentence(.connecting, as: "k")
        == "the broker refuses the connection: reason code 0xF0")
  }

  @Test(
    "The return codes of MQTT 3.1.1 mean the same",
    arguments: [(1, 0x84), (2, 0x85), (3, 0x88), (4, 0x86), (5, 0x87), (0x97, 0x97)])
  func older(_ code: UInt8, _ reason: UInt8) {
    #expect(ReasonCode(connack: code) == ReasonCode(reason))
  }
}
