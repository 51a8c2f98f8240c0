// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import LineEditor
import Wire

/// Completion at the prompt: commands, the attributes of this device, and the devices that were
/// found.
struct GATTCompletion {
  /// The attributes, if they were discovered already.
  var map: AttributeMap?
  var subscribed: [Handle] = []
  /// The devices that were found, as they are written.
  var devices: [String] = []

  /// - Parameter text: the line up to the cursor.
  func complete(_ text: String) -> Completion {
    let (words, typed) = CommandLineWords.beforeCursor(text)
    let candidates = words.first.map { operands(of: $0, words.count) } ?? GATTCommand.forms.map(\.name)
    let fitting = candidates.filter { $0.lowercased().hasPrefix(typed.lowercased()) }
    // Differences in case are corrected only if nothing matches exactly.
    let exact = fitting.filter { $0.hasPrefix(typed) }
    let found = exact.isEmpty ? fitting : exact
    let titles = titles.filter { [found = Set(found)] in found.contains($0.key) }
    return Completion(typed: typed.count, words: found, titles: titles)
  }

  /// The names of the attributes, shown next to their handles and types.
  private var titles: [String: String] {
    var titles: [String: String] = [:]
    for attribute in map?.attributes ?? [] {
      guard let name = AssignedNumbers.name(of: attribute.type) else { continue }
      titles[hexadecimal(attribute.handle)] = name
      titles[attribute.type.description] = name
    }
    return titles
  }

  private func operands(of command: String, _ place: Int) -> [String] {
    switch command {
    case "read", "subscribe": attributes
    case "write", "write-command": place == 1 ? attributes : []
    case "unsubscribe": subscribed.map { hexadecimal($0) }
    case "security": GATTSecurity.allCases.map(\.rawValue)
    case "connect": place == 1 ? devices : []
    case "help": place == 1 ? GATTCommand.forms.map(\.name) : []
    default: []
    }
  }

  /// The handles of values and descriptors, and their types, each once, by number and by name; all names that are known
  /// as long as there is no tree.
  private var attributes: [String] {
    guard let map else { return AssignedNumbers.attributeNames }
    let declarations: Set<UUID> = [.primaryService, .secondaryService, .include, .characteristic]
    let values = map.attributes.filter { !declarations.contains($0.type) }
    var seen: Set<UUID> = []
    let types = values.map(\.type).filter { seen.insert($0).inserted }.map(\.description)
    let names = values.compactMap {
      AssignedNumbers.name(of: $0.type).map(AssignedNumbers.typedName)
    }
    return values.map { hexadecimal($0.handle) } + types + Set(names).sorted()
  }
}
