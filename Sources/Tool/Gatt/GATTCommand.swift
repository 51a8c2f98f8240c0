// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
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
  /// Forgets the device's keys.
  case unpair
  /// nil: what there is now.
  case security(GATTSecurity?)
  /// nil: the device that was named last.
  case connect(GATTTarget?)
  case disconnect
  /// nil: what commands there are.
  case help(String?)
  case quit
}

extension GATTCommand {
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
        remedy: Self.inGatttool[name].map { "it is written “\($0)” here" }
          ?? near.map { "did you mean “\($0)”?" } ?? (prompt ? "“help” lists them" : nil))
    }
    let operands = Array(words.dropFirst())
    guard let command = form.read(operands) else {
      throw Failure(
        .usage, words.joined(separator: " "), Self.complaint(form, operands),
        remedy: "it is written “\(form.usage)”")
    }
    self = command
  }

  /// The names of gatttool's commands, and what they are here.
  private static let inGatttool = [
    "characteristics": "tree", "char-desc": "tree", "included": "tree",
    "char-read-hnd": "read HANDLE", "char-read-uuid": "read UUID",
    "char-write-req": "write HANDLE VALUE", "char-write-cmd": "write-command HANDLE VALUE",
    "sec-level": "security LEVEL",
  ]

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
}

extension GATTTarget {
  /// Reads `AA:BB:CC:DD:EE:FF`, with `/random` or `/public` behind it, or `unix:PATH`.
  init?(_ description: String) {
    if let path = String(unixAddress: description) {
      self = .socket(path)
    } else if let device = DeviceAddress(description) {
      self = .device(device)
    } else {
      return nil
    }
  }
}
