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
    return NotificationAttributes(response, requested: values.map { .init($0.0, maximumLength: maximum) })
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
      Array("a".utf8), Array("é".utf8), Array("…".utf8), Array("😀".utf8), [0xC3], [0xA9], [0xE2, 0x80], [0xF0, 0x9F],
      [0x98, 0x80], [0xFF], [],
    ]
    for _ in 0..<2_000 {
      let values = NotificationAttributeID.all.shuffled(using: &random).prefix(Int.random(in: 1...8, using: &random))
        .map { id in (id, (0..<3).flatMap { _ in pieces.randomElement(using: &random) ?? [] }) }
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
      ("x", 16, "16", false), ("x", 16, "17", true), ("x", 16, "500", true), ("x", 10, "10", false),
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
    #expect(AttributeSelection("date,app,title")?.requests(for: []).map(\.id) == [.appIdentifier, .title, .date])
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
    #expect(ContentSignature(attributes([(.appIdentifier, "com.apple.mobilecal"), (.date, "20261121T070000")])) == nil)
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

@Suite("ANCS: assembling responses")
struct AssemblerTests {
  static let command = ControlPointCommand.getNotificationAttributes(
    0x01020304, [.init(.appIdentifier), .init(.title, maximumLength: 8), .init(.date)])
  static let response = DataSourceResponse(
    .notification(0x01020304),
    [
      .init(id: 0, value: Array("com".utf8)), .init(id: 1, value: []),
      .init(id: 5, value: Array("20261121T070000".utf8)),
    ])

  private func receive(
    _ fragments: [[UInt8]], _ command: ControlPointCommand = command, late: Bool = false
  ) throws -> [DataSourceAssembler.Progress] {
    var assembler = try #require(DataSourceAssembler(for: command, lateBytesPossible: late))
    return fragments.map { assembler.receive($0) }
  }

  @Test("A fragment that looks like a new response continues this one")
  func looksLikeHead() throws {
    let command = ControlPointCommand.getNotificationAttributes(
      1, [.init(.message, maximumLength: 64), .init(.appIdentifier)])
    let head: [UInt8] = [0, 1, 0, 0, 0]
    let response = DataSourceResponse(
      .notification(1), [.init(id: 3, value: head + head), .init(id: 0, value: [])])
    let fragments = response.fragments(ofAtMost: 8) + []
    #expect(try receive(fragments, command, late: true).last == .complete(response, trailing: 0))
  }

  @Test("A response without attributes is complete after its head")
  func nothingAsked() throws {
    let response = DataSourceResponse(.notification(.probe), [])
    #expect(try receive([[0, 255, 255], [255, 255]], .probe) == [.more, .complete(response, trailing: 0)])
  }

  @Test("Late bytes of an abandoned response are harmless, even if the right one could begin so")
  func lateRest() throws {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<2_000 {
      let late = (0..<Int.random(in: 0...12, using: &random)).map { _ in
        [0, 4, 3, 2, 7].randomElement(using: &random) ?? 0 as UInt8
      }
      let fragments = Self.response.fragments(ofAtMost: .random(in: 6...40, using: &random)) + []
      let progress = try receive(random.pieces(of: late) + fragments, late: true)
      #expect(progress.last == .complete(Self.response, trailing: 0), "\(late)")
      #expect(
        progress.dropLast().allSatisfy {
          switch $0 {
          case .dropped, .more: true
          case .complete, .failed: false
          }
        })
    }
  }
}

@Suite("ANCS: values")
struct ValueTests {
  @Test("Categories are known by their names, and unknown names are refused")
  func names() {
    for number in UInt8(0)..<12 {
      let category = Category(rawValue: number)
      #expect(category.name.flatMap { Category($0) } == category)
    }
    #expect(Category("weather") == nil)
    #expect(Category("256") == nil && Category("+4") == nil && EventFlags(name: "0x+1") == nil)
    #expect(EventFlags(name: "loud") == nil)
    #expect(EventFlags(name: "pre-existing") == .preExisting)
    #expect(AttributeSelection("title,nonsense") == nil)
    #expect(AttributeSelection("") == nil)
    #expect(NotificationAction(name: "maybe") == nil)
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
