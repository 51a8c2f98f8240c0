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

  @Test("The attributes may come in any order")
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
    #expect(
      try receive([[0, 255, 255], [255, 255]], .probe) == [.more, .complete(response, trailing: 0)])
  }

  @Test("Bytes after a response are counted and not decoded, and nothing is accepted after its end")
  func trailing() throws {
    let bytes = Self.response.encoded
    #expect(
      try receive([bytes + [1, 2, 3], bytes])
        == [.complete(Self.response, trailing: 3), .failed(.unexpectedData)])
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
