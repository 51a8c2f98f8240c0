// SPDX-License-Identifier: GPL-3.0-or-later
import TestLoop
import Testing
import Wire

@Suite("Wire: cursors, UUIDs, addresses")
struct WireTests {
  @Test("A field that is cut short is an error with its offset, and consumes nothing")
  func truncated() throws {
    var reader = ByteReader([0xAA, 0x01, 0x02])
    _ = try reader.u8()
    #expect(throws: DecodeError(offset: 1, .truncated(needed: 4, available: 2))) {
      try reader.bytes(4)
    }
    #expect(throws: DecodeError(offset: 1, .truncated(needed: 4, available: 2))) {
      try reader.u32()
    }
    #expect(throws: DecodeError(offset: 1, .truncated(needed: 8, available: 2))) {
      try reader.u64()
    }
    #expect(try reader.u16() == 0x0201)
  }

  @Test("Bytes after the end of a packet are an error")
  func trailing() {
    let reader = ByteReader([1, 2])
    #expect(throws: DecodeError(offset: 0, .trailing(2))) { try reader.end() }
  }

  @Test(
    "A UUID is read in every usual spelling and printed in the shortest",
    arguments: [
      ("180D", "180D"), ("0x180d", "180D"), ("0000180D-0000-1000-8000-00805F9B34FB", "180D"),
      ("7905f431b5ce4e99a40f4b1e122d00d0", "7905F431-B5CE-4E99-A40F-4B1E122D00D0"),
    ])
  func uuid(spelling: String, canonical: String) throws {
    #expect(try #require(UUID(spelling)).description == canonical)
  }

  @Test("A UUID's bytes are least significant first, and two if it has a short form")
  func uuidBytes() throws {
    #expect((0x1801 as UUID).littleEndian == [0x01, 0x18])
    let ancs = try #require(UUID("7905F431-B5CE-4E99-A40F-4B1E122D00D0"))
    #expect(ancs.littleEndian.hex == "d0002d121e4b0fa4994ece b531f40579".filter { $0 != " " })
    #expect(UUID(littleEndian: ancs.littleEndian) == ancs)
    #expect(UUID(littleEndian: (0x1801 as UUID).littleEndian128) == 0x1801)
  }

  @Test("Invalid UUIDs are refused", arguments: ["", "18", "180G", "180D0", "180D180D180D"])
  func notUUID(text: String) { #expect(UUID(text) == nil) }

  @Test("Addresses are read and printed")
  func address() throws {
    let address = try #require(Address("c0:11:22:33:44:0f"))
    #expect(address.description == "C0:11:22:33:44:0F")
    #expect(address.littleEndian == [0x0F, 0x44, 0x33, 0x22, 0x11, 0xC0])
    #expect(Address("C0:11:22:33:44") == nil)
    #expect(Address("C0:11:22:33:44:0") == nil)
    // The spaces are no digits.
    #expect(Address("C0:11:22:33:4 : 0") == nil && Address("  :  :  :  :  :  ") == nil)
    let device = try #require(DeviceAddress("4A:11:22:33:44:55/random"))
    #expect(device.description == "4A:11:22:33:44:55/random")
    #expect(DeviceAddress("4A:11:22:33:44:55/other") == nil)
  }

  @Test("Text is cut to a number of bytes at a character boundary")
  func text() {
    #expect("Büro".utf8(atMost: 5) == Array("Büro".utf8))
    #expect("Büro".utf8(atMost: 2) == Array("B".utf8))
    #expect("a\0b".utf8(atMost: 9) == Array("ab".utf8))
  }

  @Test("UTF-8 is valid where the library says so, wherever in it the faults are")
  func validUTF8() {
    let pieces: [[UInt8]] = [
      Array("a".utf8), Array("eight...".utf8), Array("é".utf8), Array("…".utf8), Array("😀".utf8),
      [0xC3], [0xA9], [0xE2, 0x80], [0xF0, 0x9F, 0x98], [0xC0, 0x80], [0xFF], [0],
    ]
    var random = SeededGenerator(seed: 6)
    var valid = 0
    for round in 0..<20_000 {
      let text = (0..<Int.random(in: 0...9, using: &random)).flatMap { _ in
        // Half of the rounds have faults.
        pieces[Int.random(in: 0..<(round % 2 == 0 ? 5 : pieces.count), using: &random)]
      }
      let isValid = String(validating: text, as: UTF8.self) != nil
      #expect(UTF8Text.isValid(text.span) == isValid, "\(text)")
      valid += isValid ? 1 : 0
    }
    #expect(10_000..<19_000 ~= valid)
  }

  @Test("A text is printable ASCII if each byte is, in every place of a word and behind the last")
  func printableASCII() {
    let letters = Array("printable ASCII, 24 long".utf8)
    for length in 0...letters.count {
      let text = Array(letters.prefix(length))
      let isPrintable = UTF8Text.isPrintableASCII(text.span)
      #expect(isPrintable)
      for place in text.indices {
        for byte in UInt8.min...UInt8.max {
          var other = text
          other[place] = byte
          let isPrintable = UTF8Text.isPrintableASCII(other.span)
          #expect(isPrintable == (0x20..<0x7F).contains(byte), "\(other)")
        }
      }
    }
    #expect(String(spaces: 0).isEmpty && String(spaces: 3) == "   ")
  }

  @Test("A stable hash tells texts apart by each byte, where one ends, and whether it is there")
  func stableHash() {
    func hash(_ texts: String?...) -> UInt64 {
      var hash = StableHash()
      for text in texts { hash.combine(text.map { Array($0.utf8)[...] }) }
      return hash.value
    }
    let text = "com.apple.MobileSMS, and more"
    var values: Set<UInt64> = [hash(nil), hash(""), hash("\0"), hash("ab", "c"), hash("a", "bc")]
    for length in 0...text.utf8.count { values.insert(hash(String(text.prefix(length)), "")) }
    for place in text.indices { values.insert(hash(text.replacingCharacters(at: place))) }
    #expect(values.count == 5 + text.utf8.count + 1 + text.utf8.count)
    // What is on a disk was written by an earlier run, perhaps on another machine.
    #expect(hash("com.apple.MobileSMS", nil, "") == 12_001_738_985_797_226_613)
  }

  @Test(
    "A text is found in another, byte by byte",
    arguments: [
      ("abcabd", "abd", true), ("abc", "abd", false), ("ab", "abc", false), ("", "", true),
      ("日本", "本", true),
    ])
  func occurrence(text: String, part: String, isFound: Bool) {
    #expect(text.contains(text: part) == isFound)
  }

  @Test(
    "A number of digits has no sign",
    arguments: [("12", 12), ("0", 0), ("+12", nil), ("-0", nil), ("", nil), ("256", nil)] as [(String, UInt8?)])
  func digits(text: String, number: UInt8?) {
    #expect(UInt8(digits: text) == number)
    #expect(UInt8(digits: "+f", radix: 16) == nil && UInt8(digits: "ff", radix: 16) == 255)
  }

  @Test(
    "The name that was meant is found by its beginning, despite errors, abbreviated, and by a part",
    arguments: [
      ("vol", "volume-down"), ("volmue-up", "volume-up"), ("vol-up", "volume-up"),
      ("calls", "incoming-call"), ("call", "incoming-call"), ("fast-up", nil), ("cat", nil),
      ("--call", nil),
    ] as [(String, String?)])
  func meant(word: String, name: String?) {
    let names = ["play", "volume-down", "volume-up", "incoming-call"]
    #expect(nearest(to: word, among: names) == name)
  }

  @Test("Time saturates at the clock's limits")
  func time() {
    let end = Instant(nanoseconds: .max)
    #expect(end + .seconds(5) == end)
    #expect(Instant.zero + .milliseconds(3) - .zero == .milliseconds(3))
    #expect(Duration.seconds(Int64.max).nanoseconds == .max)
  }
}

extension String {
  /// The text with another character in this place.
  fileprivate func replacingCharacters(at place: Index) -> String {
    String(self[..<place]) + "#" + self[index(after: place)...]
  }
}

@Suite("Queues")
struct QueueTests {
  @Test("It behaves as an array does, whatever the order of operations")
  func model() {
    var (queue, model) = (FIFO<Int>(limit: 50), [Int]())
    var seed: UInt64 = 7
    for number in 0..<10_000 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      switch seed >> 60 {
      case 0...8:
        model.append(number)
        #expect(queue.append(number) == (model.count > 50 ? model.removeFirst() : nil))
      case 9:
        queue.removeAll { $0 % 7 == 0 }
        model.removeAll { $0 % 7 == 0 }
      case 10 where model.count < 50:
        queue.prepend(number)
        model.insert(number, at: 0)
      default: #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
      }
      #expect(queue.elementsEqual(model) && queue.first == model.first)
    }
    queue.removeAll()
    #expect(queue.isEmpty && queue.limit == 50)
  }

  @Test("An element that was removed is released")
  func release() {
    final class Object {}
    var queue = FIFO<Object>()
    weak var first: Object?
    do {
      let object = Object()
      first = object
      queue.append(object)
    }
    queue.append(Object())
    #expect(first != nil)
    _ = queue.popFirst()
    #expect(first == nil)
  }

  @Test("A closed mailbox returns what it has, and then nil")
  func mailbox() async {
    let mailbox = Mailbox<Int>()
    mailbox.post(1)
    mailbox.post(2)
    mailbox.close()
    mailbox.post(3)
    #expect(await mailbox.next() == 1)
    #expect(await mailbox.next() == 2)
    #expect(await mailbox.next() == nil)
  }
}

@Suite("Dates and times")
struct CivilTimeTests {
  @Test(
    "Seconds since 1970 and the calendar agree",
    arguments: [
      (0, "1970-01-01T00:00:00"), (-1, "1969-12-31T23:59:59"), (951_782_400, "2000-02-29T00:00:00"),
      (951_868_800, "2000-03-01T00:00:00"), (1_795_244_400, "2026-11-21T07:00:00"),
      (4_107_542_399, "2100-02-28T23:59:59"), (4_107_542_400, "2100-03-01T00:00:00"),
      (-2_203_891_200, "1900-03-01T00:00:00"), (2_147_483_648, "2038-01-19T03:14:08"),
      (253_402_300_799, "9999-12-31T23:59:59"), (-62_167_219_200, "0000-01-01T00:00:00"),
    ] as [(Int64, String)])
  func calendar(seconds: Int64, text: String) throws {
    #expect(CivilTime(secondsSince1970: seconds).description == text)
    let civil = try #require(CivilTime(text))
    #expect(civil.secondsSince1970 == seconds)
  }

  @Test("Consecutive days of 400 years have consecutive dates")
  func everyDay() throws {
    var expected = try #require(CivilTime(year: 1900, month: 1, day: 1))
    for day in 0..<146_097 {
      let civil = CivilTime(secondsSince1970: (Int64(day) - 25_567) * 86_400)
      guard civil == expected else {
        Issue.record("\(civil) instead of \(expected)")
        return
      }
      let next =
        CivilTime(year: civil.year, month: civil.month, day: civil.day + 1) ?? CivilTime(
          year: civil.year, month: civil.month + 1, day: 1) ?? CivilTime(year: civil.year + 1, month: 1, day: 1)
      expected = try #require(next)
    }
  }

  @Test(
    "Invalid dates are refused",
    arguments: [
      "", "2026-11-21", "2026-11-21 07:00:00", "2026-13-21T07:00:00", "2026-02-29T07:00:00",
      "2026-11-21T24:00:00", "2026-11-21T07:60:00", "2026-11-21T07:00:60", "2026-11-21T07:00:0x",
      "20261121T070000", "2026-11-21T07:00:00Z", "2026-00-21T07:00:00", "+026-11-21T07:00:00",
    ])
  func noDate(text: String) {
    #expect(CivilTime(text) == nil)
  }

  @Test("Seconds outside the calendar are clamped")
  func extremes() {
    #expect(CivilTime(secondsSince1970: .max).year == 9999)
    #expect(CivilTime(secondsSince1970: .min).year == 0)
  }
}
