// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import LineEditor
import Wire

/// What may stand at the cursor of the prompt: commands, and what this device, or the scan, has.
struct GATTCompletion {
  /// The attributes, where they were asked for already.
  var map: AttributeMap?
  var subscribed: [Handle] = []
  /// The devices that were found, as they are written.
  var devices: [String] = []

  /// - Parameter text: the line up to the cursor.
  func complete(_ text: String) -> Completion {
    var words = CommandLineWords.split(text)
    let typed = text.last == " " || words.isEmpty ? "" : words.removeLast()
    let candidates =
      words.first.map { operands(of: $0, words.count) }
      ?? GATTCommand.forms.map(\.name)
    let fitting = candidates.filter { $0.lowercased().hasPrefix(typed.lowercased()) }
    // What was typed in another case is replaced only where that is not needed.
    let exact = fitting.filter { $0.hasPrefix(typed) }
    return Completion(typed: typed.count, words: exact.isEmpty ? fitting : exact)
  }

  private func operands(of command: String, _ place: Int) -> [String] {
    switch command {
    case "read", "subscribe": return attributes
    case "write", "write-command": return place == 1 ? attributes : []
    case "unsubscribe": return subscribed.map { hexadecimal($0) }
    case "security": return GATTSecurity.allCases.map(\.rawValue)
    case "connect": return place == 1 ? devices : []
    case "help": return place == 1 ? GATTCommand.forms.map(\.name) : []
    default: return []
    }
  }

  /// The handles of values and descriptors, and their types, each once.
  private var attributes: [String] {
    let declarations: Set<UUID> = [
      .primaryService, .secondaryService, .include,
      .characteristic,
    ]
    let values = (map?.attributes ?? []).filter { !declarations.contains($0.type) }
    var types: [String] = []
    for value in values where !types.contains(value.type.description) {
      types.append(value.type.description)
    }
    return values.map { hexadecimal($0.handle) } + types
  }
}

extension GATTCompletion {
  init(session: GATTSession?, devices: [FoundDevice]) {
    self.init(
      map: session?.map, subscribed: session?.subscriptions.map(\.handle) ?? [],
      devices: devices.map { $0.address.description })
  }
}
