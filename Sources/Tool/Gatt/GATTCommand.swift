// SPDX-License-Identifier: GPL-3.0-or-later
import Daemon
import Wire

/// One thing that `ancsd gatt` does, on its command line or at its prompt.
enum GATTCommand: Hashable, Sendable {
  /// The services, or those of a type.
  case primary(UUID?)
  /// Everything there is.
  case tree
  case read([AttributeReference])
  /// `answered`: the device says whether it took it.
  case write(AttributeReference, [UInt8], answered: Bool)
  case subscribe([AttributeReference])
  /// None named: from everything.
  case unsubscribe([AttributeReference])
  case mtu
  case scan
  /// nil: what there is now.
  case security(GATTSecurity?)
  /// nil: the device that was named last.
  case connect(GATTTarget?)
  case disconnect
  case help
  case quit
}

extension GATTCommand {
  /// A command as it is typed.
  struct Form: Sendable {
    var name: String
    var operands = ""
    var summary: String
    /// Whether it makes sense only at the prompt.
    var isForPrompt = false
    let read: @Sendable ([String]) -> GATTCommand?
  }

  /// All commands, in the order of the help.
  static let forms: [Form] = [
    Form(
      name: "primary", operands: "[UUID]", summary: "the primary services, or those of a type",
      read: { words in
        guard let first = words.first else { return .primary(nil) }
        guard words.count == 1, case .type(let uuid) = AttributeReference(first) else { return nil }
        return .primary(uuid)
      }),
    Form(
      name: "tree", summary: "services, characteristics and descriptors, with their names",
      read: { $0.isEmpty ? .tree : nil }),
    Form(
      name: "read", operands: "HANDLE|UUID...", summary: "values, whole; of a UUID every one",
      read: { references($0).map { .read($0) } }),
    Form(
      name: "write", operands: "HANDLE|UUID VALUE", summary: "writes, and waits for the answer",
      read: { write($0, answered: true) }),
    Form(
      name: "write-command", operands: "HANDLE|UUID VALUE", summary: "writes without an answer",
      read: { write($0, answered: false) }),
    Form(
      name: "subscribe", operands: "HANDLE|UUID...",
      summary: "prints what is notified or indicated",
      read: { references($0).map { .subscribe($0) } }),
    Form(
      name: "unsubscribe", operands: "[HANDLE|UUID...]", summary: "ends that",
      isForPrompt: true,
      read: { $0.isEmpty ? .unsubscribe([]) : references($0).map { .unsubscribe($0) } }),
    Form(
      name: "mtu", summary: "the MTU that was agreed on", read: { $0.isEmpty ? .mtu : nil }),
    Form(
      name: "scan", summary: "the devices that advertise", read: { $0.isEmpty ? .scan : nil }),
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
      name: "help", summary: "this list", isForPrompt: true, read: { _ in .help }),
    Form(
      name: "quit", summary: "leaves; so does Ctrl-D", isForPrompt: true,
      read: { $0.isEmpty ? .quit : nil }),
  ]

  /// Reads a command out of its words; the first is its name.
  ///
  /// - Parameter prompt: whether it was typed at the prompt.
  init(_ words: [String], prompt: Bool) throws(Failure) {
    let name = words.first ?? ""
    let known = Self.forms.filter { prompt || !$0.isForPrompt }
    let form = known.first { $0.name == name } ?? (prompt ? Self.synonym(name) : nil)
    guard let form else {
      let near = nearest(to: name, among: known.map(\.name))
      throw Failure(
        .usage, name, "unknown command",
        remedy: near.map { "did you mean “\($0)”?" } ?? (prompt ? "“help” lists them" : nil))
    }
    let operands = Array(words.dropFirst())
    guard let command = form.read(operands) else {
      throw Failure(
        .usage, words.joined(separator: " "), Self.complaint(form, operands),
        remedy: "it is written “\(form.usage)”")
    }
    self = command
  }

  private static func synonym(_ name: String) -> Form? {
    ["exit", "q"].contains(name) ? forms.first { $0.name == "quit" } : nil
  }

  private static func complaint(_ form: Form, _ operands: [String]) -> String {
    guard form.operands.contains("HANDLE") else { return "not understood" }
    guard let first = operands.first else { return "no attribute is named" }
    if AttributeReference(first) == nil {
      return "“\(first)” is neither a handle (0x002A) nor a UUID (2A19)"
    }
    guard form.operands.contains("VALUE") else {
      let wrong = operands.first { AttributeReference($0) == nil } ?? ""
      return "“\(wrong)” is neither a handle (0x002A) nor a UUID (2A19)"
    }
    return operands.count == 1 ? "no value is given" : "the value is not \(WrittenValue.forms)"
  }

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
}

extension GATTTarget {
  /// Reads `AA:BB:CC:DD:EE:FF`, with `/random` or `/public` behind it, or `unix:PATH`.
  init?(_ description: String) {
    if description.hasPrefix("unix:"), description.utf8.count > 5 {
      self = .socket(String(description.dropFirst(5)))
    } else if let device = DeviceAddress(description) {
      self = .device(device)
    } else {
      return nil
    }
  }
}
