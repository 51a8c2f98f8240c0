// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control

extension GATTCommand {
  /// A command as it is typed.
  struct Form: Sendable {
    var name: String
    var operands = ""
    var summary: String
    /// Paragraphs of its help.
    var notes: [String] = []
    /// What is typed behind `ancsd gatt DEVICE`.
    var examples: [String] = []
    /// Whether it makes sense only at the prompt.
    var isForPrompt = false
    let read: @Sendable ([String]) -> GATTCommand?
  }

  private static let attributeNote =
    "A handle is written 0x002A, a UUID 2A19 or with all its digits."

  /// All commands, in the order of the help.
  static let forms: [Form] = [
    Form(
      name: "primary", operands: "[UUID]", summary: "the primary services, or those of a type",
      examples: ["primary", "primary 180F"],
      read: { words in
        guard let first = words.first else { return .primary(nil) }
        guard words.count == 1, case .type(let uuid) = AttributeReference(first) else { return nil }
        return .primary(uuid)
      }),
    Form(
      name: "tree", summary: "services, characteristics and descriptors, with their names",
      notes: [
        "Where the device refuses something on the way, that is said (a line with a “!”, in JSON an "
          + "event “fault”) with what stays unknown by it; the rest is found by other means, and the "
          + "status is 1."
      ],
      examples: ["tree", "tree --format json"],
      read: { $0.isEmpty ? .tree : nil }),
    Form(
      name: "read", operands: "HANDLE|UUID...", summary: "values, whole; of a UUID every one",
      notes: [
        attributeNote + " A UUID stands for every attribute of that type.",
        "A long value is read to its end. --print writes the value alone: hex, a line of digits as "
          + "“write” takes them; text; or raw, its bytes as they are.",
      ],
      examples: ["read 0x002A", "read 2A00 --print text", "read 2A19 2A29 --format json"],
      read: { references($0).map { .read($0) } }),
    Form(
      name: "write", operands: "HANDLE|UUID VALUE", summary: "writes, and waits for the answer",
      notes: [
        attributeNote + " A UUID has to be that of one attribute.",
        "VALUE is \(WrittenValue.forms).",
        "A value that one request has no room for is written in parts (prepared, then executed).",
      ],
      examples: [
        "write 0x002A 0102ff", "write 2A06 u8:2", "write 0x002A 'text:hello there'",
      ],
      read: { write($0, answered: true) }),
    Form(
      name: "write-command", operands: "HANDLE|UUID VALUE", summary: "writes without an answer",
      notes: [
        attributeNote + " A UUID has to be that of one attribute.",
        "VALUE is \(WrittenValue.forms).",
        "The device does not say whether it took it; a value has to fit into the MTU less 3.",
      ],
      examples: ["write-command 2A06 u8:2"],
      read: { write($0, answered: false) }),
    Form(
      name: "subscribe", operands: "HANDLE|UUID...",
      summary: "prints what is notified or indicated",
      notes: [
        attributeNote, "Of a characteristic its value may be named, its descriptors, or its type.",
        "It goes on until -n values have come, the time of --timeout is over (status 0; 75 where -n "
          + "wanted more), the device leaves (69) or Ctrl-C; then it is unsubscribed.",
      ],
      examples: [
        "subscribe 2A37 --timeout 60", "subscribe 0x0012 -n 1 --print hex",
        "--indicate subscribe 2A1C",
      ],
      read: { references($0).map { .subscribe($0) } }),
    Form(
      name: "unsubscribe", operands: "[HANDLE|UUID...]", summary: "ends that",
      isForPrompt: true,
      read: { $0.isEmpty ? .unsubscribe([]) : references($0).map { .unsubscribe($0) } }),
    Form(
      name: "mtu", summary: "the MTU that was agreed on", read: { $0.isEmpty ? .mtu : nil }),
    Form(
      name: "scan", summary: "the devices that advertise",
      notes: [
        "It takes ten seconds, or those of --timeout; -n leaves after so many devices. A device is "
          + "told again when it tells more (its name comes with the scan response)."
      ],
      examples: ["scan", "scan --timeout 3 --format json"],
      read: { $0.isEmpty ? .scan : nil }),
    Form(
      name: "unpair", summary: "forgets the keys of a pairing with the device",
      notes: [
        "The kernel keeps them until it is started anew; a device that has forgotten its side cannot "
          + "be paired with before."
      ],
      examples: ["unpair"],
      read: { $0.isEmpty ? .unpair : nil }),
    Form(
      name: "security", operands: "[low|medium|high]",
      summary: "encrypts the link, or says how it is", isForPrompt: true,
      read: { words in
        guard let first = words.first else { return .security(nil) }
        guard words.count == 1, let level = GATTSecurity(rawValue: first) else { return nil }
        return .security(level)
      }),
    Form(
      name: "connect", operands: "[ADDRESS[/random]|unix:PATH]",
      summary: "to this device, or to the last one", isForPrompt: true,
      read: { words in
        guard let first = words.first else { return .connect(nil) }
        guard words.count == 1, let target = GATTTarget(first) else { return nil }
        return .connect(target)
      }),
    Form(
      name: "disconnect", summary: "ends the link", isForPrompt: true,
      read: { $0.isEmpty ? .disconnect : nil }),
    Form(
      name: "help", operands: "[COMMAND]", summary: "this list, or more of a command",
      isForPrompt: true, read: { $0.count < 2 ? .help($0.first) : nil }),
    Form(
      name: "quit", summary: "leaves; so does Ctrl-D", isForPrompt: true,
      read: { $0.isEmpty ? .quit : nil }),
  ]

  private static func references(_ words: [String]) -> [AttributeReference]? {
    let references = words.compactMap { AttributeReference($0) }
    return references.isEmpty || references.count < words.count ? nil : references
  }

  private static func write(_ words: [String], answered: Bool) -> GATTCommand? {
    guard let first = words.first, let reference = AttributeReference(first),
      let value = WrittenValue.bytes(Array(words.dropFirst()))
    else { return nil }
    return .write(reference, value, answered: answered)
  }
}

extension GATTCommand.Form {
  /// Name and operands.
  var usage: String { operands.isEmpty ? name : "\(name) \(operands)" }

  /// How the help lists it.
  var entry: Help.Entry { Help.Entry(name: usage, text: summary) }

  /// Its own help.
  ///
  /// - Parameters:
  ///   - usage: what stands before the command where it is typed.
  ///   - example: the same in an example.
  func help(behind usage: String, _ example: String, width: Int) -> String {
    Help.page(
      usage: [usage + self.usage], summary: summary, notes: notes,
      examples: examples.map { example + $0 }, width: width)
  }
}
