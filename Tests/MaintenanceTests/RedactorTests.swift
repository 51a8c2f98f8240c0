// SPDX-License-Identifier: GPL-3.0-or-later
import JSON
import Testing
import Wire

@testable import Maintenance

@Suite("What a report replaces")
struct RedactorTests {
  @Test(
    "Sentences lose addresses and keys, and nothing else",
    arguments: [
      ("C4:11:22:33:44:55 left", "address-1 left"), ("“C4:11:22:33:44:55” left", "“address-1” left"),
      ("c4-11-22-33-44-55, C4:11:22:33:44:55", "address-1, address-1"), ("dev_C4_11", "dev_C4_11"),
      ("state of c41122334455.", "state of address-1."), ("0123456789abcdef0123456789ABCDEF", "hex-1"),
      ("00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff", "hex-1"),
      (
        "service 7905F431-B5CE-4E99-A40F-4B1E122D00D0",
        "service 7905F431-B5CE-4E99-A40F-4B1E122D00D0"
      ),
      ("/var/lib/ancsd/C4:11:22:33:44:55.bond.json", "/var/lib/ancsd/address-1.bond.json"),
      ("kernel 6.1.0-56-amd64, 0x1f, 5.3 bytes, e.g. and/or", "kernel 6.1.0-56-amd64, 0x1f, 5.3 bytes, e.g. and/or"),
      ("systemctl disable --now bluetooth", "systemctl disable --now bluetooth"), ("", ""),
    ])
  func sentences(sentence: String, redacted: String) {
    var redactor = Redactor()
    #expect(redactor.sentence(sentence) == redacted)
  }

  @Test("Equal texts get the same replacement, similar ones another")
  func consistency() {
    var redactor = Redactor()
    let one = Address(0xC411_2233_4455)
    #expect(redactor.address(one) == "address-1")
    #expect(redactor.address(Address(1)) == "address-2")
    #expect(redactor.sentence("\(one) and \(Address(1))") == "address-1 and address-2")
    #expect(redactor.value(.text, "Dinner?") == "text-1 (7 bytes)")
    #expect(redactor.value(.text, "Ü") == "text-2 (2 bytes)")
    #expect(redactor.value(.text, "Dinner?") == "text-1 (7 bytes)")
    #expect(redactor.count(of: .address) == 2)
  }

  @Test("With texts kept, addresses and keys are still replaced")
  func kept() {
    var redactor = Redactor(keepsText: true)
    #expect(redactor.value(.phone, "Jürgens iPhone") == "Jürgens iPhone")
    #expect(redactor.value(.text, "key 0123456789abcdef0123456789abcdef") == "key hex-1")
    #expect(redactor.sentence("C4:11:22:33:44:55") == "address-1")
  }

  /// What a report leaves out is ReportTests'.
  @Test("Of an event the interface's own words remain")
  func events() throws {
    var redactor = Redactor()
    func redact(_ event: String) throws -> String {
      redactor.event(try JSONValue(parsing: Array(event.utf8)))
    }
    #expect(
      try redact(
        #"{"event":"notification","seq":7,"phone":"C4:11:22:33:44:55","change":"added","uid":7,"#
          + #""category":"social","flags":["silent"],"subtitle":"","message":"Dinner?","#
          + #""truncated":["message"]}"#)
        == #"{"event":"notification","seq":7,"phone":"address-1","category":"social","#
        + #""change":"added","flags":["silent"],"message":"text-1 (7 bytes)","subtitle":"","#
        + #""truncated":["message"],"uid":7}"#)
    let pairing = try redact(#"{"event":"pairing","method":"confirm","passkey":"123456","phone":"C4:11:22:33:44:55"}"#)
    #expect(pairing.contains("confirm") && pairing.contains("address-1"))
  }
}
