// SPDX-License-Identifier: GPL-3.0-or-later
import JSON
import Testing

@Suite("JSON")
struct JSONTests {
  @Test("Members are written in the order in which they were added; objects are equal in any order")
  func order() {
    var object: JSONObject = ["event": "battery", "seq": 7]
    object.add("level", 80)
    object.add("phone", nil)
    object["seq"] = 8
    #expect(JSONValue.object(object).text == #"{"event":"battery","seq":8,"level":80}"#)
    let one: JSONValue = ["a": 1, "b": [nil, true]]
    #expect(one == ["b": [nil, true], "a": 1])
    #expect(one != ["b": [nil, true]])
    #expect(one.hashValue == (["b": [nil, true], "a": 1] as JSONValue).hashValue)
  }

  @Test(
    "Strings escape what RFC 8259 requires, DEL and C1, and nothing else",
    arguments: [
      ("plain / slash", #""plain / slash""#), ("\"\\", #""\"\\""#), ("\u{8}\u{c}\n\r\t", #""\b\f\n\r\t""#),
      ("\0\u{1}\u{1b}[2J\u{1f}", #""\u0000\u0001\u001b[2J\u001f""#),
      ("\u{7f}\u{80}\u{9b}\u{9f}\u{a0}é", "\"\\u007f\\u0080\\u009b\\u009f\u{a0}é\""), ("👩‍👩‍👧‍👦 naïve 日本", "\"👩‍👩‍👧‍👦 naïve 日本\""),
      ("", "\"\""),
    ])
  func escapes(text: String, json: String) throws {
    #expect(JSONValue.string(text).text == json)
    #expect(try JSONValue(parsing: json) == .string(text))
  }

  @Test("Numbers keep 64 bits; non-finite ones are null")
  func numbers() {
    #expect(JSONValue.number(UInt32.max).text == "4294967295")
    #expect(JSONValue.number(Int64.min).text == "-9223372036854775808")
    #expect(JSONValue.number(UInt64.max).text == "1.8446744073709552e+19")
    #expect(JSONValue.double(0.0625).text == "0.0625")
    #expect(JSONValue.double(.nan).text == "null")
    #expect(JSONValue.double(-.infinity).text == "null")
  }

  @Test("A value survives being written and read, with its members in their order and kinds")
  func roundTrip() throws {
    let value: JSONValue = [
      "null": nil, "bools": [true, false], "int": -12, "double": 1.5,
      "nested": [[], [:], [["deep": "ß"]]], "big": 4_294_967_295,
    ]
    let read = try JSONValue(parsing: value.json)
    #expect(read == value && read.text == value.text)
    #expect(read["int"]?.int == -12 && read["double"]?.int == nil && read["double"]?.double == 1.5)
    #expect(JSONValue.double(2).int == 2 && read["bools"]?.string == nil && read["x"] == nil)
  }

  private static let many = "more than 12 values (an array or an object counts as 3)"

  @Test(
    "A text beyond the limits is detected before it is parsed",
    arguments: [
      ("[[[]]]", nil), ("[[[[]]]]", "nested deeper than 3 levels"), (#"{"a":{"b":{}}}"#, nil),
      (#"{"a":{"b":[{}]}}"#, "nested deeper than 3 levels"),
      ("[[],1,2,3,4,5,6,7]", nil), ("[[],1,2,3,4,5,6,7,8]", Self.many),
      (#"{"a":{},"b":{},"c":[]}"#, nil), (#"{"a":{},"b":{},"c":[],"d":[]}"#, Self.many),
      (#"["[[[[[,,,,,,,,,,,,,\"[[[,,,"]"#, nil),
    ] as [(String, String?)])
  func limits(text: String, why: String?) {
    let limits = JSONLimits(depth: 3, cost: 12)
    var found: String?
    do throws(JSONError) {
      try limits.check(Array(text.utf8))
    } catch { found = error.description }
    #expect(found == why)
    #expect((try? JSONValue(parsing: text)) != nil)
  }

  @Test(
    "Invalid JSON gives a one-line error with the position",
    arguments: [
      ("", "1, column 0: unexpected token near end of file"), (" ", "1, column 1: unexpected token near end of file"),
      ("{", "1, column 1: string or '}' expected near end of file"),
      (#"{"ltk":"00112233"#, "1, column 16: premature end of input"),
      ("[1,", "1, column 3: ']' expected near end of file"), ("{a:1}", "1, column 2: string or '}' expected"),
      ("01", "1, column 1: invalid token"), ("1e400", "1, column 5: real number overflow"),
      ("[1] x", "1, column 5: end of file expected"), ("[1,\n 2,,3]", "2, column 4: unexpected token"),
      (#"["é","\ud800"]"#, #"1, column 13: invalid Unicode '\uD800'"#),
      (#"{"a":["\udc00"]}"#, #"1, column 14: invalid Unicode '\uDC00'"#), ("/**/1", "1, column 1: invalid token"),
      ("\u{1b}[2J", "1, column 1: invalid token"), ("\"\n\"", "1, column 1: unexpected newline"),
      ("\"\t\"", "1, column 1: control character 0x9"), (#"{"a":1,"b":2,"a":3}"#, "1, column 16: duplicate object key"),
      (#"{"a\u0000":1}"#, "1, column 10: NUL byte in object key not supported"),
    ])
  func errors(text: String, error: String) {
    let found = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    // It quotes nothing of the text, which may be a truncated key.
    #expect(found?.description == "not valid JSON, line \(error)")
  }

  @Test(
    "A whole number is an integer where 64 bits hold it, and any other is a double",
    arguments: [
      ("2.0", .int(2)), ("1e3", .int(1000)), ("-0", .int(0)), ("-0.0", .int(0)),
      ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
      ("9223372036854775808", .double(0x1p63)), ("18446744073709551615", .double(0x1p64)),
      ("-99999999999999999999", .double(-1e20)), ("[1, 1e20]", [1, .double(1e20)]),
      ("[7, 99999999999999999999]", [7, .double(1e20)]), ("0.5", .double(0.5)),
    ] as [(String, JSONValue)])
  func wholeNumbers(text: String, value: JSONValue) throws {
    #expect(try JSONValue(parsing: text) == value)
  }

  @Test("Deep nesting is read up to a bound, and does not exhaust the stack")
  func depth() throws {
    func nested(_ count: Int) -> String {
      String(repeating: "[", count: count) + String(repeating: "]", count: count)
    }
    #expect(try JSONValue(parsing: nested(64)).text == nested(64))
    for count in [65, 500, 100_000] {
      #expect(throws: JSONError.self) { try JSONValue(parsing: nested(count)) }
    }
  }

  @Test(
    "Bytes that are not Unicode are an error, wherever they are",
    arguments: [
      ("\"", [0xFF], "\""), ("[\"", [0xED, 0xA0, 0x80], "\"]"), ("{a", [0xFD], ":1,'f':[1,],}"),
      ("{\"", [0xFD], "\":1}"), ("[\"", [0xC2], "\"]"), ("// ", [0xFF], "\n1"),
    ] as [(String, [UInt8], String)])
  func noUnicode(before: String, bytes: [UInt8], after: String) {
    let text = Array(before.utf8) + bytes + Array(after.utf8)
    #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
  }

  @Test(
    "The elements of an array are found without parsing them",
    arguments: [
      ("]", [], ""), ("1]}", ["1"], "}"),
      (#"{"a":[1,2],"b":{}},"],",3]x"#, [#"{"a":[1,2],"b":{}}"#, #""],""#, "3"], "x"),
      (#""\"],[\\",[[]]],"next""#, [#""\"],[\\""#, "[[]]"], #","next""#),
    ])
  func elements(text: String, elements: [String], rest: String) throws {
    let found = try #require(JSONValue.elements(ofArray: Array(text.utf8)[...]))
    #expect(found.elements.map { String(decoding: $0, as: UTF8.self) } == elements)
    #expect(found.rest.elementsEqual(rest.utf8))
    // A text cut anywhere before the end has none.
    let array = text.utf8.dropLast(rest.utf8.count)
    for length in 0..<array.count {
      #expect(JSONValue.elements(ofArray: Array(array.prefix(length))[...]) == nil)
    }
  }

  @Test("The elements of an array are found whatever their strings hold")
  func elementsOfAnyText() throws {
    let pieces = ["\"", "\\", "],", "[", "{\"", "é", "abcdefgh", "\n", ""]
    for count in 0..<pieces.count * pieces.count * pieces.count {
      let text = [count, count / pieces.count, count / pieces.count / pieces.count]
        .map { pieces[$0 % pieces.count] }.joined()
      let values: [JSONValue] = [.string(text), .array([.string(text + text)]), .int(1)]
      let json = JSONValue.array(values).json
      let found = try #require(JSONValue.elements(ofArray: json.dropFirst()))
      #expect(found.elements.map { Array($0) } == values.map(\.json))
      #expect(found.rest.isEmpty)
    }
  }
}
