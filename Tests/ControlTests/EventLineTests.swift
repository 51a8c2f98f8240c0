// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import JSON
import System
import TestLoop
import Testing
import Wire

/// The lines of events, byte for byte as a program printed them that wrote each member plainly, one after the other.
@Suite("Lines of events")
struct EventLineTests {
  private static let file = "Tests/Vectors/event-lines.jsonl"

  @Test("The lines are those that were recorded")
  func recorded() throws {
    let lines = EventCorpus.events.map { String(decoding: $0.json, as: UTF8.self) }
    if Host.variable("ANCSD_RECORD_LINES") != nil {
      // Only after a change of the contract (docs/interface.md): scripts rely on what is recorded.
      let text = lines.joined(separator: "\n") + "\n"
      try AtomicFile.save(Array(text.utf8), to: Repository.path(of: Self.file), mode: 0o644)
    }
    let recorded = try Repository.text(Self.file).split(separator: "\n").map(String.init)
    #expect(lines.count == recorded.count)
    for (line, expected) in zip(lines, recorded) { #expect(line == expected) }
  }

  @Test("A line is read back as the event that it was made of")
  func readBack() throws {
    for event in EventCorpus.events {
      let read = try #require(NumberedEvent(line: event.line))
      #expect(read.seq == event.seq && read.json == event.json)
    }
    #expect(Set(Examples.all.map { Event($0).name }) == Set(EventName.allCases), "one of each kind")
  }

}

/// Events with everything that a line may have, and with texts as nobody would write them.
enum EventCorpus {
  /// Texts with each character that is escaped at each place in a word, and those that only look like it.
  private static let texts: [String] = {
    let escaped = (0..<0x20).map { $0 } + [0x22, 0x5C] + (0x7E..<0xA2).map { $0 }
    var texts = escaped.compactMap { Unicode.Scalar($0).map { "a\($0)b" } }
    for length in 0..<26 {
      let plain = String(repeating: "x", count: length)
      texts += [plain, plain + "\"", plain + "\u{85}y", plain + "ü\u{1}", "\\" + plain]
    }
    texts += [
      "🎂", "e\u{301}", "\u{FFFD}", "\u{2028}\u{2029}", "\u{202E}drawkcab", "\u{FEFF}", "\u{A0}°§ÂÃ", "漢字\t仮名", "👩‍👩‍👧‍👦",
      "</script>", "\u{10FFFF}", "\u{C2}\u{80}", String(repeating: "🎂 \"quoted\" \\ ", count: 60),
    ]
    return texts
  }()

  private static func report(_ number: Int, _ text: String) -> NotificationReport {
    var report = NotificationReport(
      NotificationEvent(
        [.added, .modified, .removed][number % 3], NotificationUID(rawValue: UInt32(number) &* 0x9E37_79B1),
        category: Category(rawValue: UInt8(number % 15)), categoryCount: UInt8(number % 256),
        flags: EventFlags(rawValue: UInt8(number % 256))))
    // Each text in the place of another attribute.
    let id = NotificationAttributeID.all[number % 8]
    if id != .date && id != .messageSize { report.attributes[id] = text }
    if number % 4 != 0 {
      report.attributes[.appIdentifier] = "com.apple.MobileSMS"
      report.app = number % 8 == 1 ? text : "Messages"
      report.attributes[.message] = text + text
    }
    if number % 5 < 3 { report.attributes.messageSize = [0, 9, 1_234_567_890][number % 3] }
    switch number % 7 {
    case 0: report.attributes.fetchedDate = .some(nil)
    case 1: report.attributes.fetchedDate = CivilTime(secondsSince1970: -62_167_219_200)
    case 2: report.attributes.fetchedDate = CivilTime(secondsSince1970: 253_402_300_799)
    case 3: report.attributes.fetchedDate = CivilTime(secondsSince1970: 1_795_244_399)
    default: break
    }
    if number % 11 == 0 { report.sent = WallTime(seconds: 1_795_244_400, nanoseconds: 5_000_000) }
    report.attributes.truncated = [[], [.title], [.title, .subtitle, .message]][number % 13 % 3]
    report.isRepeat = number % 6 == 0
    report.isStale = number % 9 == 0
    report.display = number % 10 == 0 ? .urgent : .usual
    if number % 17 == 0 { report.failure = text }
    return report
  }

  private static let contents: [Event.Content] =
    texts.enumerated().map { .notification(report($0.offset, $0.element)) }
    + (0..<64).map { .incoming(report(4 * $0 + 3, "").event) }
    + texts.prefix(40).flatMap { text -> [Event.Content] in
      [.disconnected(reason: text), .error(what: text, code: text.count, message: text)]
    } + Examples.all

  static var events: [NumberedEvent] {
    contents.enumerated().map { number, content in
      let seconds: [Int64] = [0, 1_795_244_400, 253_402_300_799, 951_826_154, 1_795_244_401]
      return NumberedEvent(
        seq: number == 0 ? UInt64(Int64.max) : UInt64(number &* number),
        time: WallTime(
          seconds: seconds[number % 5],
          nanoseconds: Int32(Int64(number) * 7_654_321 % 1_000_000_000)),
        Event(
          content, adapter: number % 3 == 0 ? nil : "hci\(number % 20)",
          phone: number % 4 == 0 ? nil : Address(UInt64(number) &* 0x1234_5678_9ABC & 0xFFFF_FFFF_FFFF)))
    }
  }
}
