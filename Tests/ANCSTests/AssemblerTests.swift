// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import TestLoop
import Testing
import Wire

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

  @Test("The attributes may come in any order, each once")
  func anyOrder() throws {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      let attributes = Self.response.attributes
      let response = DataSourceResponse(.notification(0x01020304), order.map { attributes[$0] })
      for length in [1, 4, 20, 200] {
        #expect(
          try receive(response.fragments(ofAtMost: length)).last == .complete(response, trailing: 0)
        )
      }
      let texts = NotificationAttributes(response, requested: [.init(.title, maximumLength: 8)])
      #expect(texts.appIdentifier == "com" && texts.title == "" && texts.date != nil)
    }
    let twice = DataSourceResponse(
      .notification(0x01020304), [.init(id: 5, value: []), .init(id: 5, value: [])])
    #expect(try receive([twice.encoded]) == [.failed(.unexpectedAttribute(5))])
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

  @Test("Bytes after a response are counted and not decoded")
  func trailing() throws {
    let bytes = Self.response.encoded
    #expect(try receive([bytes + [1, 2, 3]]) == [.complete(Self.response, trailing: 3)])
  }

  @Test("A response without attributes is complete after its head")
  func nothingAsked() throws {
    let response = DataSourceResponse(.notification(.probe), [])
    #expect(
      try receive([[0, 255, 255], [255, 255]], .probe) == [.more, .complete(response, trailing: 0)])
  }

  @Test("A different command, notification, app or attribute is an error")
  func foreign() throws {
    #expect(try receive([[1]]) == [.failed(.commandMismatch(1))])
    #expect(
      try receive([[0, 4, 3], [2, 2]])
        == [.more, .failed(.uidMismatch(expected: 0x01020304, received: 0x02020304))])
    #expect(
      try receive([[0, 4, 3, 2, 1, 9]]) == [.failed(.unexpectedAttribute(9))])
    #expect(
      try receive([[0, 4, 3, 2, 1, 0, 0, 0, 1, 9, 0]])
        == [.failed(.attributeTooLong(1, length: 9, maximum: 8))])
    let app = ControlPointCommand.getAppAttributes(appIdentifier: "com", [.displayName])
    #expect(
      try receive([[1, 0x63], [0x6E]], app) == [.more, .failed(.appMismatch([0x63, 0x6E]))])
    #expect(try receive([[1, 0]], app) == [.failed(.appMismatch([0]))])
  }

  @Test("After its end an assembler accepts nothing")
  func afterEnd() throws {
    let bytes = Self.response.encoded
    #expect(
      try receive([bytes, bytes])
        == [.complete(Self.response, trailing: 0), .failed(.unexpectedData)])
  }

  @Test("The late rest of an abandoned response is dropped before the right one")
  func lateRest() throws {
    let other = DataSourceResponse(.notification(7), [.init(id: 3, value: Array("late".utf8))])
    let late = other.fragments(ofAtMost: 4)
    let progress = try receive(late + Self.response.fragments(ofAtMost: 6), late: true)
    #expect(progress.last == .complete(Self.response, trailing: 0))
    #expect(
      progress.prefix(late.count).allSatisfy {
        switch $0 {
        case .dropped, .more: true
        case .complete, .failed: false
        }
      })
  }

  @Test("A late byte that could begin the response is harmless")
  func lateByteLikeHead() throws {
    let progress = try receive([[0]] + Self.response.fragments(ofAtMost: 20), late: true)
    #expect(progress.last == .complete(Self.response, trailing: 0))
  }

  @Test("For any bytes in any pieces, the assembler agrees with the plain one")
  func asThePlainOne() throws {
    var random = SeededGenerator(seed: 3)
    let app = ControlPointCommand.getAppAttributes(appIdentifier: "com.apple.x", [.displayName])
    let appResponse = DataSourceResponse(
      .app(identifier: "com.apple.x"), [.init(id: 0, value: Array("X".utf8))])
    var complete = 0
    for round in 0..<20_000 {
      let shuffled = DataSourceResponse(
        .notification(0x01020304), Self.response.attributes.shuffled(using: &random))
      let (command, expected) = round % 3 == 0 ? (app, appResponse) : (Self.command, shuffled)
      let late = round % 5 < 2
      var bytes = round % 7 == 0 ? expected.encoded : random.mutated(expected.encoded)
      if round % 11 == 0 { bytes = random.bytes(upTo: 80) }
      if late, round % 2 == 0 { bytes = random.bytes(upTo: 12) + bytes + expected.encoded }
      var fast = try #require(DataSourceAssembler(for: command, lateBytesPossible: late))
      var plain = try #require(PlainAssembler(for: command, lateBytesPossible: late))
      for piece in random.pieces(of: bytes) {
        let progress = fast.receive(piece)
        #expect(progress == plain.receive(piece))
        guard case .complete(let response, _) = progress else { continue }
        complete += 1
        _ = NotificationAttributes(response, requested: [.init(.title, maximumLength: 8)])
      }
    }
    #expect(complete > 1000)
  }

  @Test("Commands that can be decoded are encoded as they were")
  func commandFuzz() throws {
    var random = SeededGenerator(seed: 2)
    let known: [[UInt8]] = [
      Self.command.encoded,
      ControlPointCommand.getAppAttributes(
        appIdentifier: "com.apple.MobileSMS", [.displayName]
      ).encoded,
      ControlPointCommand.performNotificationAction(7, .negative).encoded,
    ]
    var readable = 0
    for round in 0..<20_000 {
      let bytes = random.mutated(known[round % 3])
      guard let command = try? ControlPointCommand(decoding: bytes) else { continue }
      readable += 1
      // An app id that is not UTF-8 cannot be encoded as it was.
      if case .getAppAttributes(let app, _) = command, app.unicodeScalars.contains("\u{FFFD}") {
        continue
      }
      #expect(command.encoded == bytes)
    }
    #expect(readable > 1000)
  }
}
