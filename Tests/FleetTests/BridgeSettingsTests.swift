// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
@testable import Fleet
import TOML
import Testing
import Wire

@Suite("Settings of the bridge") struct BridgeSettingsTests {
  /// What a table says, and what is wrong with it.
  private func read(
    _ text: String, after earlier: String? = nil
  ) throws -> (settings: BridgeSettings, faults: [String]) {
    var settings = try earlier.map { try read($0).settings } ?? BridgeSettings()
    var table = TableReader(try TOMLValue(parsing: Array(text.utf8)))
    settings.read(&table)
    return (settings, table.finish().map { "\($0.position): \($0.message)" })
  }

  @Test("Everything can be set")
  func all() throws {
    let (settings, faults) = try read(
      """
      url = "mqtts://ha.lan"
      user = "kitchen"
      password-file = "/etc/ancsd/mqtt.password"
      ca-file = "/etc/ancsd/ca.pem"
      cert-file = "/etc/ancsd/board.pem"
      key-file = "/etc/ancsd/board.key"
      board = "kitchen"
      prefix = "home/ancsd"
      discovery = false
      content = "none"
      allow = ["media", "pairing"]
      max-age = 60
      preexisting = true
      plain-text = true
      dedupe-key-file = "/etc/ancsd/dedupe.key"
      phones = { anna = "C0:11:22:33:44:55" }
      [[rule]]
      app = "com.apple.*"
      category = ["email", "social"]
      phone = "anna"
      content = "full"
      """)
    #expect(faults == [])
    #expect(settings.conflict == nil)
    #expect(settings.broker == BrokerAddress("mqtts://ha.lan:8883"))
    #expect(settings.prefix == "home/ancsd" && settings.digestKeyFile == "/etc/ancsd/dedupe.key")
    #expect(settings.phones.map(\.value.description) == ["anna"])
    let rule = ContentPolicy.Rule(
      apps: [Glob("com.apple.*")], categories: [.email, .social],
      phones: [try #require(TopicName("anna"))], level: .full)
    #expect(
      settings.policy
        == MirrorPolicy(
          content: ContentPolicy(level: .none, rules: [rule]), expiry: 60,
          includesPreExisting: true, discovery: nil, allowed: [.media, .pairing]))
  }

  @Test("A later file overrides settings and adds its rules")
  func merged() throws {
    let (settings, faults) = try read(
      """
      content = "title"
      phones = { anna = "C0:11:22:33:44:56" }
      [[rule]]
      content = "full"
      """,
      after: """
        url = "mqtts://a"
        content = "full"
        phones = { anna = "C0:11:22:33:44:55" }
        [[rule]]
        content = "none"
        """)
    #expect(faults == [])
    #expect(settings.broker == BrokerAddress("mqtts://a:8883"))
    #expect(settings.policy.content.level == .title)
    #expect(settings.policy.content.rules.map(\.level) == [.none, .full])
    // A name that it gives to another phone is no more that of the first.
    #expect(settings.phones == [Address(0xC011_2233_4456): try #require(TopicName("anna"))])
  }

  @Test(
    "What is wrong is said with its place",
    arguments: [
      ("url = \"http://x\"", "1:7: url must be the broker's address"), ("user = 3", "1:8: user must be a string"),
      ("url = \"mqtt://u:p@x\"", "1:7: url must be"), ("board = \"Küche\"", "1:9: board must be a name"),
      ("prefix = \"a/#\"", "1:10: prefix"), ("discovery = true", "1:13: discovery must be"),
      ("allow = [\"gatt\"]", "1:9: “gatt” can't be allowed"),
      ("max-age = 0", "1:11: max-age must be"),
      ("ca-file = \"ca.pem\"", "1:11: ca-file must be an absolute path"),
      ("phones = { Anna = \"C0:11:22:33:44:55\" }", "1:10: phones must be"),
      ("phones = { board = \"C0:11:22:33:44:55\" }", "1:10: phones must be"),
      ("contend = \"app\"", "1:1: there is no setting “contend” here; did you mean content?"),
      ("[[rule]]\napp = \"x\"", "1:1: this rule has no content"),
      ("[[rule]]\ncontent = \"full\"\ntitle = \"x\"", "3:1: there is no setting “title” here"),
      (
        "[[rule]]\ncontent = \"full\"\napp = []",
        "3:7: app must be a pattern of an app's identifier, or an array of them, not an empty array"
      ), ("[[rule]]\ncontent = \"full\"\nphone = []", "3:9: phone must be a phone's name in topics"),
      ("rule = 1", "1:8: rule must be written as [[mqtt.rule]]"),
    ])
  func faults(_ text: String, _ fault: String) throws {
    let faults = try read(text).faults
    #expect(faults.count == 1 && faults.first?.hasPrefix(fault) == true, "\(faults)")
  }

  @Test(
    "Text goes over a network only with TLS, or if it is asked for",
    arguments: [
      ("mqtt://ha.lan", false), ("mqtt://127.evil.example", false), ("mqtt://10.0.0.1", false),
      ("mqtt://127.0.0.+1", false), ("mqtt://127.0.0.1", true), ("mqtt://localhost", true), ("mqtt://[::1]:1884", true),
      ("mqtts://ha.lan", true), ("unix:/run/mosquitto.sock", true),
    ])
  func plainText(_ url: String, _ isPrivate: Bool) throws {
    for level in ["title", "full"] {
      let text = "url = \"\(url)\"\ncontent = \"\(level)\""
      #expect((try read(text).settings.conflict == nil) == isPrivate)
      #expect(try read(text + "\nplain-text = true").settings.conflict == nil)
    }
    let rule = "url = \"\(url)\"\n[[rule]]\ncontent = \"full\""
    #expect((try read(rule).settings.conflict == nil) == isPrivate)
    #expect(try read("url = \"\(url)\"").settings.conflict == nil)
  }

  @Test(
    "What does not go together is said",
    arguments: [
      ("", "url is missing"), ("url = \"mqtts://x\"\ncert-file = \"/c\"", "need each other"),
      ("url = \"mqtts://x\"\npassword-file = \"/p\"", "needs a user"),
      (
        "url = \"unix:/x\"\nresponse-prefixes = [\"ancsd/scripts\"]",
        "“ancsd/scripts” is below “ancsd”"
      ),
      (
        "url = \"unix:/x\"\nprefix = \"house/ancsd\"\nresponse-prefixes = [\"house\"]",
        "“house/ancsd”, where clients read what boards say, is below “house”"
      ),
    ])
  func conflicts(_ text: String, _ why: String) throws {
    #expect(try read(text).settings.conflict?.contains(why) == true)
  }

  @Test(
    "A broker's address",
    arguments: [
      ("mqtt://ha.lan", "mqtt://ha.lan:1883"), ("mqtt://ha.lan:1884/", "mqtt://ha.lan:1884"),
      ("mqtts://10.0.0.1", "mqtts://10.0.0.1:8883"), ("mqtt://[fe80::1]", "mqtt://[fe80::1]:1883"),
      ("unix:/run/x", "unix:/run/x"), ("unix:/" + String(repeating: "x", count: 107), nil),
      ("mqtt://", nil), ("mqtt://a:0", nil), ("mqtt://a:70000", nil), ("mqtt://a:+1883", nil),
      ("mqtt://a/b", nil), ("mqtt://a b", nil), ("mqtt://[::1", nil), ("unix:x", nil), ("a", nil),
    ])
  func address(_ text: String, _ shown: String?) {
    #expect(BrokerAddress(text)?.description == shown)
  }
}
