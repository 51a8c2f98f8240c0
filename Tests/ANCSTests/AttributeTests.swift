// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import TestLoop
import Testing
import Wire

@Suite("ANCS: attributes")
struct AttributeTests {
  /// The attributes of a response with these texts.
  private func attributes(
    _ values: [(NotificationAttributeID, String)], maximum: UInt16 = 16
  ) -> NotificationAttributes {
    let response = DataSourceResponse(
      .notification(1), values.map { .init(id: $0.0.rawValue, value: Array($0.1.utf8)) })
    return NotificationAttributes(
      response, requested: values.map { .init($0.0, maximumLength: maximum) })
  }

  @Test(
    "The leading digits of the message size are decoded",
    arguments: [
      ("113", 113), (" 7", 7), ("12 bytes", 12), ("", nil), ("-3", nil), ("many", nil),
      (String(repeating: "9", count: 40), nil),
    ] as [(String, Int?)])
  func sizes(text: String, size: Int?) {
    #expect(attributes([(.messageSize, text)]).messageSize == size)
  }

  @Test("Each text is decoded by itself, whatever bytes surround it")
  func anyBytes() {
    var random = SeededGenerator(seed: 3)
    let pieces: [[UInt8]] = [
      Array("a".utf8), Array("é".utf8), Array("…".utf8), Array("😀".utf8), [0xC3], [0xA9],
      [0xE2, 0x80],
      [0xF0, 0x9F], [0x98, 0x80], [0xFF], [],
    ]
    for _ in 0..<2_000 {
      let values = NotificationAttributeID.all.shuffled(using: &random)
        .prefix(Int.random(in: 1...8, using: &random)).map { id in
          (id, (0..<3).flatMap { _ in pieces.randomElement(using: &random) ?? [] })
        }
      let fetched = NotificationAttributes(
        DataSourceResponse(
          .notification(1), values.map { .init(id: $0.0.rawValue, value: $0.1) }), requested: [])
      for id in NotificationAttributeID.all {
        let value = values.first { $0.0 == id }?.1
        #expect(fetched[id] == value.map { String(cutUTF8: $0) }, "\(values)")
      }
    }
  }

  @Test("What is set, replaced and removed leaves the other texts as they are")
  func setting() {
    var random = SeededGenerator(seed: 4)
    var fetched = NotificationAttributes()
    var plain: [NotificationAttributeID: String] = [:]
    for round in 0..<2_000 {
      let id = NotificationAttributeID(rawValue: UInt8.random(in: 0..<8, using: &random))
      let text = ["", "x", "une été", "\(round)", nil].randomElement(using: &random) ?? nil
      if round % 3 == 0 {
        var other = NotificationAttributes()
        other[id] = text
        fetched.merge(other)
        if let text { plain[id] = text }
      } else {
        fetched[id] = text
        plain[id] = text
      }
      #expect(NotificationAttributeID.all.allSatisfy { fetched[$0] == plain[$0] })
      #expect(fetched.size == plain.values.reduce(0) { $0 + $1.utf8.count })
    }
    let reserved = NotificationAttributeID(rawValue: 8)
    fetched[reserved] = "nothing keeps this"
    #expect(fetched[reserved] == nil && !fetched.has(reserved))
  }

  @Test(
    "The message size, in bytes or in characters, shows whether the message was cut",
    arguments: [
      ("x", 16, "16", false), ("x", 16, "17", true), ("x", 16, "500", true),
      ("x", 10, "10", false),
      ("x", 14, "500", true),  // cut between characters, below the maximum
      ("x", 0, "500", false),  // previews are off: nothing was cut
      ("x", 16, "", true),
      ("é", 8, "12", true), ("é", 8, "8", false),  // eight of two bytes fill the maximum of 16
    ])
  func cutBySize(character: String, count: Int, size: String, isCut: Bool) {
    let text = String(repeating: character, count: count)
    let fetched = attributes([(.message, text), (.messageSize, size)])
    #expect(fetched.truncated == (isCut ? [.message] : []))
  }

  @Test("Labels are fetched only if there are actions, and the date last")
  func selection() {
    let all = AttributeSelection.all
    #expect(all.requests(for: []).map(\.id.rawValue) == [0, 1, 2, 3, 4, 5])
    #expect(all.requests(for: [.negativeAction]).map(\.id.rawValue) == [0, 1, 2, 3, 4, 7, 5])
    #expect(
      all.requests(for: [.positiveAction, .negativeAction]).map(\.maximumLength)
        == [nil, 256, 256, 1024, nil, nil, nil, nil])
    #expect(AttributeSelection.none.requests(for: [.positiveAction]).isEmpty)
    #expect(
      AttributeSelection("date,app,title")?.requests(for: []).map(\.id)
        == [.appIdentifier, .title, .date])
  }

  @Test("Attributes of a later response replace earlier ones; one as long as its maximum was cut")
  func merge() {
    var first = attributes([(.title, String(repeating: "x", count: 16)), (.subtitle, "s")])
    first.merge(attributes([(.title, "whole"), (.message, String(repeating: "y", count: 16))]))
    #expect(first.title == "whole")
    #expect(first.subtitle == "s")
    #expect(first.truncated == [.message])
  }

  @Test("A signature needs a date and an app, and not that of a calendar")
  func signatures() {
    let one = attributes([(.appIdentifier, "a"), (.date, "20261121T070000"), (.title, "t")])
    let other = attributes([(.appIdentifier, "a"), (.date, "20261121T070000"), (.message, "t")])
    #expect(ContentSignature(one) == ContentSignature(one))
    #expect(ContentSignature(one) != ContentSignature(other))
    #expect(ContentSignature(attributes([(.appIdentifier, "a"), (.date, "")])) == nil)
    #expect(
      ContentSignature(
        attributes([(.appIdentifier, "com.apple.mobilecal"), (.date, "20261121T070000")])) == nil)
  }

  @Test("The number of signatures is bounded")
  func seen() {
    var seen = SeenContents()
    for number in 0..<(UInt64(SeenContents.capacity) + 10) {
      seen.insert(ContentSignature(rawValue: number))
      seen.insert(ContentSignature(rawValue: number))
    }
    #expect(seen.order.count == SeenContents.capacity)
    #expect(!seen.contains(ContentSignature(rawValue: 9)))
    #expect(seen.contains(ContentSignature(rawValue: 10)))
    #expect(SeenContents(seen.order) == seen)
  }
}
