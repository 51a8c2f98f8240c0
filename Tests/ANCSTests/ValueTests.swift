// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Testing
import Wire

@Suite("ANCS: values")
struct ValueTests {
  @Test("Categories are known by their names, and unknown names are refused")
  func names() {
    for number in UInt8(0)..<12 {
      let category = Category(rawValue: number)
      #expect(category.name.flatMap { Category($0) } == category)
    }
    #expect(Category("weather") == nil)
    #expect(Category("256") == nil)
    #expect(EventFlags(name: "loud") == nil)
    #expect(EventFlags(name: "pre-existing") == .preExisting)
    #expect(AttributeSelection("title,nonsense") == nil)
    #expect(AttributeSelection("") == nil)
    #expect(NotificationAction(name: "maybe") == nil)
  }

  @Test("Only title, subtitle and message take a maximum length")
  func maximumLengths() {
    let all = NotificationAttributeID.all.map {
      ControlPointCommand.AttributeRequest($0, maximumLength: 16)
    }
    #expect(
      ControlPointCommand.getNotificationAttributes(1, all).encoded.hex
        == "0001000000000110000210000310000405" + "0607")
    #expect(
      ControlPointCommand.getNotificationAttributes(1, [.init(.title)]).encoded.hex
        == "000100000001ffff")
  }

  @Test("A date is written as it was read", arguments: ["20261121T070000", "20240229T235959"])
  func dates(text: String) {
    #expect(CivilTime(notificationDate: Array(text.utf8))?.notificationDate == text)
  }

  @Test(
    "Only a cut or invalid character at the end of a text is dropped",
    arguments: [
      ("e29c93", "✓"), ("41e29c", "A"), ("41e2", "A"), ("41f09f8e", "A"), ("41c3", "A"),
      ("4180", "A"), ("80808080", ""), ("41ff42", "A\u{FFFD}B"), ("", ""), ("c3", ""), ("f0", ""),
      ("41c080", "A"), ("c3a9c3", "é"), ("fffe", ""), ("41eda080", "A"), ("41f4908080", "A"),
      ("41e2822042", "A\u{FFFD} B"), ("41efbfbd", "A\u{FFFD}"), ("f09f8e89", "🎉"),
    ])
  func texts(hex: String, text: String) throws {
    let bytes = try #require([UInt8](hex: hex))
    #expect(String(cutUTF8: bytes) == text)
  }
}
