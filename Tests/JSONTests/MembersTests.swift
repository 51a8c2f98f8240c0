// SPDX-License-Identifier: GPL-3.0-or-later
import JSON
import Testing

private enum Paint: String, JSONNamed {
  case red, green
  static var jsonKind: String { "a colour" }
}

private struct Wheel: JSONObjectCodable, Equatable {
  var size = 0
  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("size", &size)
  }
}

private struct Car: JSONObjectCodable, Equatable {
  var name = ""
  var paint = Paint.red
  var owner: String?
  var speed: Double?
  var isNew = false
  var wheels: [Wheel] = []
  var spare = Wheel()

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("name", &name)
    try json.required("paint", &paint)
    try json.optional("owner", &owner)
    try json.nullable("speed", &speed, places: 3)
    try json.flag("new", &isNew)
    try json.list("wheels", &wheels)
    try json.required("spare", &spare)
  }
}

@Suite("Members that are declared once")
struct MembersTests {
  @Test("What is written is read back, members in the order of their declaration")
  func roundTrip() throws {
    var car = Car()
    let bare = #"{"name":"","paint":"red","speed":null,"wheels":[],"spare":{"size":0}}"#
    #expect(String(decoding: car.json, as: UTF8.self) == bare)
    #expect(try Car(reading: JSONValue(parsing: bare)) == car)

    car = Car(
      name: "“Fünf” \"\u{1b}\n", paint: .green, owner: "Anna", speed: 67.00049, isNew: true,
      wheels: [Wheel(size: 1), Wheel(size: 2)])
    let text = String(decoding: car.json, as: UTF8.self)
    #expect(
      text == #"{"name":"“Fünf” \"\u001b\n","paint":"green","owner":"Anna","speed":67,"new":true,"#
        + #""wheels":[{"size":1},{"size":2}],"spare":{"size":0}}"#)
    car.speed = 67
    #expect(try Car(reading: JSONValue(parsing: text)) == car)
  }

  @Test(
    "A reader names the member of the wrong kind",
    arguments: [
      ("[]", "not an object"), ("{}", "name is missing"), (#"{"name":null}"#, "name is missing"),
      (#"{"name":1}"#, "name is not a string"), (#"{"name":"x","paint":"blue"}"#, "paint is not a colour"),
      (#"{"name":"x","paint":"red","owner":1}"#, "owner is not a string"),
      (#"{"name":"x","paint":"red","speed":"1"}"#, "speed is not a number"),
      (#"{"name":"x","paint":"red","wheels":{}}"#, "wheels is not an array"),
      (#"{"name":"x","paint":"red","wheels":[{"size":1},{}]}"#, "wheels[1].size is missing"),
      (
        #"{"name":"x","paint":"red","spare":{"size":1.5}}"#,
        "spare.size is not a whole number in range"
      ),
    ])
  func shape(text: String, error: String) throws {
    let value = try JSONValue(parsing: text)
    let found = #expect(throws: JSONError.self) { try Car(reading: value) }
    #expect(found?.description == error)
  }
}
