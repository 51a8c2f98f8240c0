// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Arguments
import Control
import GAP
import Wire

/// A command of `ancsd gatt`, on its command line or at its prompt.
enum GATTCommand: Hashable, Sendable {
  /// The services, or those of a type.
  case primary(UUID?)
  /// Everything there is.
  case tree
  case read([AttributeReference])
  /// `withResponse`: with a response from the device.
  case write(AttributeReference, [UInt8], withResponse: Bool)
  case subscribe([AttributeReference])
  /// An empty list: from everything.
  case unsubscribe([AttributeReference])
  case mtu
  case scan
  /// Forgets the device's keys.
  case unpair
  /// nil: prints the current level.
  case security(GATTSecurity?)
  /// nil: the last device.
  case connect(GATTTarget?)
  case disconnect
  /// nil: the list of commands.
  case help(String?)
  case quit

  /// Whether the radio may be pairing for it.
  var mayPair: Bool { if case .security = self { true } else { false } }

  /// Reads a command from its words; the first is its name.
  ///
  /// - Parameter prompt: whether it was typed at the prompt.
  init(_ words: [String], prompt: Bool) throws(Failure) {
    let name = words.first ?? ""
    let known = Self.forms.filter { prompt || !$0.isForPrompt }
    let canonical = ["exit", "q"].contains(name) ? "quit" : name
    guard let form = known.first(where: { $0.name == canonical }) else {
      let near = nearest(to: name, among: known.map(\.name))
      throw Failure(
        usage: "unknown command “\(name)”",
        remedy: Self.inGatttool[name].map { "it is “\($0)” here" }
          ?? near.map { "did you mean “\($0)”?" } ?? (prompt ? "“help” lists them" : nil))
    }
    let operands = Array(words.dropFirst())
    guard let command = form.read(operands) else {
      let (why, near) = Self.complaint(form, operands)
      throw Failure(
        .usage, words.joined(separator: " "), why, remedy: near.map { "did you mean \($0)?" } ?? "usage: \(form.usage)")
    }
    self = command
  }

  /// gatttool's commands, and their equivalents here.
  private static let inGatttool = [
    "characteristics": "tree", "char-desc": "tree", "included": "tree", "char-read-hnd": "read HANDLE",
    "char-read-uuid": "read UUID", "char-write-req": "write HANDLE VALUE",
    "char-write-cmd": "write-command HANDLE VALUE", "sec-level": "security LEVEL",
  ]

  /// Why the operands are not understood, and the name that may be meant.
  private static func complaint(_ form: Form, _ operands: [String]) -> (why: String, near: String?) {
    let wanted = form.operands.split { !$0.isLetter }
    guard wanted.contains("HANDLE") else { return ("not understood", nil) }
    if operands.isEmpty { return ("name an attribute", nil) }
    let references = wanted.contains("VALUE") ? operands.prefix(1) : operands[...]
    if let wrong = references.first(where: { AttributeReference($0) == nil }) {
      let near = nearest(to: AssignedNumbers.typedName(wrong), among: AssignedNumbers.attributeNames)
      return ("“\(wrong)” is neither a handle (0x002A), nor a UUID (2A19), nor a name (battery-level)", near)
    }
    return (operands.count == 1 ? "give a value" : "the value is not \(WrittenValue.forms)", nil)
  }

  // MARK: How commands are typed

  /// The syntax of a command.
  struct Form: Sendable {
    var name: String
    var operands = ""
    var summary: String
    /// Paragraphs of its help.
    var notes: [String] = []
    /// What is typed after `ancsd gatt DEVICE`.
    var examples: [String] = []
    /// Whether it exists only at the prompt.
    var isForPrompt = false
    let read: @Sendable ([String]) -> GATTCommand?
  }

  private static let attributeNote =
    "Write a handle as 0x002A, a UUID as 2A19, with all its digits, or by name: battery-level."
  private static let writingNotes = [
    attributeNote + " A UUID must be unique on the device.", "VALUE is \(WrittenValue.forms).",
  ]

  /// All commands, in the order of the help.
  static let forms: [Form] = [
    Form(
      name: "primary", operands: "[UUID]", summary: "lists the primary services, or those of a type",
      examples: ["primary", "primary 180F"],
      read: {
        atMostOne($0, { AssignedNumbers.service(named: $0) ?? AttributeReference($0)?.type })
          .map { .primary($0) }
      }),
    Form(
      name: "tree", summary: "lists services, characteristics and descriptors, with their names",
      notes: [
        "If the device refuses a request, the output says so (a line with “!”, in JSON an "
          + "event “fault”) and what stays unknown; the rest is found by other means, and the "
          + "status is 1."
      ], examples: ["tree", "tree --format json"], read: { $0.isEmpty ? .tree : nil }),
    Form(
      name: "read", operands: "HANDLE|UUID|NAME...", summary: "reads full values; for a UUID, all of them",
      notes: [
        attributeNote + " A UUID stands for every attribute of that type.",
        "A long value is read in full. --print prints only the value: hex, a line of digits as "
          + "“write” takes them; text; or raw, its bytes as they are.",
      ], examples: ["read 0x002A", "read 2A00 --print text", "read 2A19 2A29 --format json"],
      read: { references($0).map { .read($0) } }),
    Form(
      name: "write", operands: "HANDLE|UUID|NAME VALUE", summary: "writes, and waits for the response",
      notes: writingNotes + [
        "A value that does not fit into one request is written in parts (prepared, then executed)."
      ], examples: ["write 0x002A 0102ff", "write 2A06 u8:2", "write 0x002A 'text:hello there'"],
      read: { write($0, withResponse: true) }),
    Form(
      name: "write-command", operands: "HANDLE|UUID|NAME VALUE", summary: "writes without a response",
      notes: writingNotes + ["The device does not confirm it; the value must fit into the MTU minus 3."],
      examples: ["write-command 2A06 u8:2"], read: { write($0, withResponse: false) }),
    Form(
      name: "subscribe", operands: "HANDLE|UUID|NAME...", summary: "prints notified and indicated values",
      notes: [
        attributeNote, "Name a characteristic by its value, one of its descriptors, or its type.",
        "It continues until -n values have arrived, --timeout ends it (status 0; 75 if -n "
          + "wanted more), the device disconnects (69) or you press Ctrl-C; then it unsubscribes.",
      ], examples: ["subscribe 2A37 --timeout 60", "subscribe 0x0012 -n 1 --print hex", "--indicate subscribe 2A1C"],
      read: { references($0).map { .subscribe($0) } }),
    Form(
      name: "unsubscribe", operands: "[HANDLE|UUID|NAME...]", summary: "ends subscriptions", isForPrompt: true,
      read: { $0.isEmpty ? .unsubscribe([]) : references($0).map { .unsubscribe($0) } }),
    Form(name: "mtu", summary: "prints the negotiated MTU", read: { $0.isEmpty ? .mtu : nil }),
    Form(
      name: "scan", summary: "lists the devices that advertise",
      notes: [
        "It takes ten seconds, or --timeout; -n N stops after N devices. A device is "
          + "printed again when it sends more (its name comes with the scan response)."
      ], examples: ["scan", "scan --timeout 3 --format json"], read: { $0.isEmpty ? .scan : nil }),
    Form(
      name: "unpair", summary: "forgets the keys of a pairing with the device",
      notes: [
        "The kernel keeps them until a reboot; until you remove them, you can't pair with a device "
          + "that has forgotten its side."
      ], examples: ["unpair"], read: { $0.isEmpty ? .unpair : nil }),
    Form(
      name: "security", operands: "[low|medium|high]", summary: "encrypts the link, or shows its security",
      isForPrompt: true, read: { atMostOne($0, { GATTSecurity(rawValue: $0) }).map { .security($0) } }),
    Form(
      name: "connect", operands: "[ADDRESS[/random]|unix:PATH]",
      summary: "connects to this device, or to the last one", isForPrompt: true,
      read: { atMostOne($0, { GATTTarget($0) }).map { .connect($0) } }),
    Form(
      name: "disconnect", summary: "ends the link", isForPrompt: true,
      read: { $0.isEmpty ? .disconnect : nil }),
    Form(
      name: "help", operands: "[COMMAND]", summary: "shows this list, or help for a command",
      isForPrompt: true, read: { $0.count < 2 ? .help($0.first) : nil }),
    Form(
      name: "quit", summary: "exits; so does Ctrl-D", isForPrompt: true,
      read: { $0.isEmpty ? .quit : nil }),
  ]

  /// The operand, or nil if there is none; nil as a whole if it can't be read, or is not the only
  /// one.
  private static func atMostOne<Value>(_ words: [String], _ read: (String) -> Value?) -> Value?? {
    guard let first = words.first else { return .some(nil) }
    guard words.count == 1, let value = read(first) else { return nil }
    return value
  }

  private static func references(_ words: [String]) -> [AttributeReference]? {
    let references = words.compactMap { AttributeReference($0) }
    return references.isEmpty || references.count < words.count ? nil : references
  }

  private static func write(_ words: [String], withResponse: Bool) -> GATTCommand? {
    guard let first = words.first, let reference = AttributeReference(first),
      let value = WrittenValue.bytes(Array(words.dropFirst()))
    else { return nil }
    return .write(reference, value, withResponse: withResponse)
  }
}

extension GATTCommand.Form {
  /// Name and operands.
  var usage: String { operands.isEmpty ? name : "\(name) \(operands)" }

  /// Its own help.
  ///
  /// - Parameters:
  ///   - usage: what precedes the command where it is typed.
  ///   - example: the same in an example.
  func help(behind usage: String, _ example: String, width: Int) -> String {
    Help.page(
      usage: [usage + self.usage], summary: summary, notes: notes,
      examples: examples.map { example + $0 }, width: width)
  }
}

// MARK: - Operands

/// The attributes that a command refers to: one handle, or all of a type.
enum AttributeReference: Hashable, Sendable, LosslessStringConvertible {
  case handle(Handle)
  case type(UUID)

  /// The type; nil for a handle.
  fileprivate var type: UUID? { if case .type(let type) = self { type } else { nil } }

  /// Reads a handle (`0x002A`), a UUID (`2A19`, or 32 digits with or without hyphens) or its name
  /// (`battery-level`).
  init?(_ description: String) {
    if description.hasPrefix("0x") || description.hasPrefix("0X"), description.utf8.count <= 6 {
      guard let handle = Handle(digits: description.dropFirst(2), radix: 16), handle != 0 else {
        return nil
      }
      self = .handle(handle)
    } else if description.utf8.count >= 4, let uuid = UUID(description) {
      self = .type(uuid)
    } else if let uuid = AssignedNumbers.attributeType(named: description) {
      self = .type(uuid)
    } else {
      return nil
    }
  }

  var description: String {
    switch self {
    case .handle(let handle): hexadecimal(handle)
    case .type(let uuid): uuid.description
    }
  }
}

extension GATTTarget {
  /// Reads `AA:BB:CC:DD:EE:FF`, with `/random` or `/public` behind it, or `unix:PATH`.
  init?(_ description: String) {
    let socket = String(unixAddress: description).map { GATTTarget.socket($0) }
    guard let target = socket ?? DeviceAddress(description).map({ .device($0) }) else { return nil }
    self = target
  }
}

/// A typed value: hexadecimal bytes, a text, or a number.
enum WrittenValue {
  /// The forms, for errors and help.
  static let forms = "hexadecimal bytes (0102ff, 01 02 ff), text:…, or u8: u16: u32: i8: i16: i32: and a number"

  /// Reads `01 02 ff`, `0102ff`, `0x0102ff` (the bytes in the order written), `text:hello`,
  /// `u16:300` and the like (little endian); nil for anything else.
  ///
  /// - Parameter words: blanks between them are part of a text, but are ignored between bytes.
  static func bytes(_ words: [String]) -> [UInt8]? {
    guard let first = words.first else { return nil }
    if first.hasPrefix("text:") { return Array(words.joined(separator: " ").utf8.dropFirst(5)) }
    if let colon = first.firstIndex(of: ":") {
      guard words.count == 1 else { return nil }
      return number(first[..<colon], String(first[first.index(after: colon)...]))
    }
    let parts = words.map { [UInt8](hex: $0.hasPrefix("0x") ? String($0.dropFirst(2)) : $0) }
    return parts.contains(nil) ? nil : parts.flatMap { $0 ?? [] }
  }

  /// A decimal number, or a hexadecimal one after `0x`, of the type `u8` to `i32`.
  private static func number(_ type: Substring, _ text: String) -> [UInt8]? {
    guard let bits = ["8": 8, "16": 16, "32": 32][type.dropFirst()],
      let number = text.hasPrefix("0x") ? Int64(digits: text.dropFirst(2), radix: 16) : Int64(text, radix: 10)
    else { return nil }
    switch type.first {
    case "u": guard (0..<1 << bits).contains(number) else { return nil }
    case "i": guard (-1 << (bits - 1)..<1 << (bits - 1)).contains(number) else { return nil }
    default: return nil
    }
    return (0..<bits / 8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }
}

/// The words of a typed line: separated by blanks, except within quotation marks.
enum CommandLineWords {
  /// The words before the cursor's, and the beginning of that one, for completion.
  ///
  /// - Parameter text: the line up to the cursor.
  static func beforeCursor(_ text: String) -> (words: [String], typed: String) {
    var words = split(text)
    let typed = text.last == " " || words.isEmpty ? "" : words.removeLast()
    return (words, typed)
  }

  /// As in `write 0x0003 text:"hello world"`. An unclosed quotation mark extends to the end.
  static func split(_ line: String) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    for character in line {
      if let open = quote {
        if character == open { quote = nil } else { word?.append(character) }
      } else if character == "\"" || character == "'" {
        quote = character
        word = word ?? ""
      } else if character == " " || character == "\t" {
        if let ended = word { words.append(ended) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    if let last = word { words.append(last) }
    return words
  }
}

/// Names and texts in two columns.
func columns(_ rows: [(name: String, text: String)]) -> [String] {
  let width = (rows.map(\.name.count).max() ?? 0) + 2
  return rows.map { $0.name + String(spaces: width - $0.name.count) + $0.text }
}
