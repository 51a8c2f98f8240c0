// SPDX-License-Identifier: GPL-3.0-or-later
import Testing

@testable import Control

@Suite("What a client selects")
struct SelectorTests {
  @Test("Without names a subscription has all events but the quiet ones, with names just those")
  func subscription() {
    let all = Subscription()
    let quiet: [EventName] = [.incoming, .why]
    #expect(EventName.allCases.filter { !all.includes($0) } == quiet)
    let one = Subscription(events: [.incoming])
    #expect(EventName.allCases.filter(one.includes) == [.incoming])
  }

  @Test(
    "Patterns match whole names, whatever their case",
    arguments: [
      ("com.apple.*", "com.apple.MobileSMS", true), ("COM.APPLE.*", "com.apple.MobileSMS", true),
      ("*", "", true), ("", "", true), ("", "x", false), ("?", "é", true), ("?", "", false),
      ("a*b*c", "a-b-b-c", true), ("a*b*c", "a-b-b-d", false),
      ("*sms", "com.apple.MobileSMS", true),
      ("com.apple", "com.apple.MobileSMS", false), ("***a", "bba", true), ("a?c", "abbc", false),
    ])
  func globs(pattern: String, text: String, matches: Bool) {
    #expect(Glob(pattern).matches(text) == matches)
  }

  @Test("A pattern full of stars does not take forever")
  func hostileGlob() {
    let pattern = Glob(String(repeating: "*a", count: 500) + "b")
    #expect(!pattern.matches(String(repeating: "a", count: 2_000)))
  }

  @Test("A phone is named by address or name")
  func phones() {
    let phone = Examples.phone
    #expect(PhoneSelector("c0:11:22:33:44:55").matches(phone, name: nil))
    #expect(PhoneSelector("ANNA’S iphone").matches(phone, name: "Anna’s iPhone"))
    #expect(!PhoneSelector("C0:11:22:33:44:56").matches(phone, name: "C0:11:22:33:44:56"))
    #expect(!PhoneSelector("x").matches(nil, name: nil))
  }
}
