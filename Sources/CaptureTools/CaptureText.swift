// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Control
import Wire

/// Decoded packets as text, in the style of btmon: a line for the packet, with its number, adapter and time on the
/// right, and its content below.
///
///     > ACL Data RX: Handle 64 flags 0x02 dlen 15                  #42 [hci0] 3.204511
///           ATT: Handle Value Notification (0x1b) len 11
///             Handle: 0x002a Notification Source (9FBF120D-…)
///
/// Text from the air is made printable: no packet can control the terminal.
struct CaptureText: Sendable {
  /// How times are shown.
  enum Clock: Sendable {
    /// Seconds since the first packet.
    case offset
    case time
    case date
  }

  let style: TextStyle
  var clock = Clock.offset
  private(set) var start: WallTime?

  /// Sets the time that offsets count from, unless it is already set: the time of the first packet, even if it is
  /// hidden.
  mutating func begin(at time: WallTime) { start = start ?? time }

  /// A packet's lines.
  func lines(_ frame: DecodedFrame) -> [String] {
    var lines = [head(frame)]
    for note in frame.notes { lines.append(painted("      \(note)", .faint)) }
    for unit in frame.units { lines += body(unit) }
    return lines
  }

  // MARK: The first line

  private func head(_ frame: DecodedFrame) -> String {
    let (mark, paint) = look(of: frame.record.opcode)
    let left = "\(mark) \(frame.title.printable)"
    let adapter = frame.record.adapter == MonitorOpcode.noAdapter ? "" : "[hci\(frame.record.adapter)] "
    let right = "#\(frame.number) \(adapter)\(time(frame.record.time))"
    let width = style.width ?? 80
    let gap = max(1, width - left.displayWidth - right.utf8.count)
    return painted(left, paint) + String(spaces: gap) + painted(right, .faint)
  }

  /// What a packet's line begins with, and its colour, as btmon's: sent data is cyan, received green.
  private func look(of opcode: MonitorOpcode) -> (mark: String, paint: Paint) {
    switch opcode {
    case .command: ("<", .command)
    case .event: (">", .event)
    case .controlOpen, .controlClose, .controlCommand, .controlEvent: ("@", .plain)
    default:
      switch opcode.direction {
      case .sent: ("<", .app)
      case .received: (">", .good)
      case nil: ("=", .plain)
      }
    }
  }

  private func time(_ time: WallTime) -> String {
    guard clock == .offset else {
      let civil = time.civil(zone: style.zone)
      let date = clock == .date ? "\(civil.dateText) " : ""
      return "\(date)\(civil.timeText).\(time.fraction)"
    }
    let offset = time.microseconds(since: start ?? time)
    let part = String(offset.magnitude % 1_000_000, digits: 6)
    return "\(offset < 0 ? "-" : "")\(offset.magnitude / 1_000_000).\(part)"
  }

  // MARK: The lines below

  private func body(_ unit: DecodedUnit) -> [String] {
    var lines: [String] = []
    switch unit.layer {
    case .att: lines.append(title(unit, "ATT"))
    case .smp: lines.append(title(unit, "SMP"))
    case .signalling: lines.append(title(unit, "L2CAP"))
    case .l2cap: lines.append("      L2CAP: \(unit.name.printable) len \(unit.length)")
    case .adapter, .note, .mgmt, .data:
      // The first line has everything else.
      return unit.problem.map { [problem($0)] } ?? []
    case .hciCommand, .hciEvent, .linkLayer: break
    }
    if let problem = unit.problem { lines.append(self.problem(problem)) }
    for detail in unit.details { lines += text(detail, 8) }
    for attribute in unit.attributes { lines += text(attribute, nested: unit.isList) }
    return lines
  }

  private func problem(_ text: String) -> String { painted("        ! \(text.printable)", .bad) }

  private func title(_ unit: DecodedUnit, _ layer: String) -> String {
    let code = unit.code.map { " (0x" + [UInt8(truncatingIfNeeded: $0)].hex + ")" } ?? ""
    // As in btmon, the length is that of what follows the opcode.
    let length = unit.layer == .signalling ? unit.length : max(0, unit.length - 1)
    return painted("      \(layer): \(unit.name.printable)\(code) len \(length)", .strong)
  }

  private func text(_ attribute: AttributeUse, nested: Bool) -> [String] {
    var lines: [String] = []
    let name = attribute.name.map { " \($0.printable)" } ?? ""
    switch (attribute.handle, attribute.end) {
    case (let handle?, let end?):
      lines.append("        Handles: \(hexadecimal(handle, 4))-\(hexadecimal(end, 4))\(name)")
    case (let handle?, nil): lines.append("        Handle: \(hexadecimal(handle, 4))\(name)")
    case (nil, _): if !name.isEmpty { lines.append("        Type:\(name)") }
    }
    let indent = nested && !lines.isEmpty ? 10 : 8
    if let value = attribute.value { lines += text(Detail("Value", .bytes(value)), indent) }
    for detail in attribute.meaning { lines += text(detail, indent) }
    return lines
  }

  private func text(_ detail: Detail, _ indent: Int) -> [String] {
    detail.lines(indent: indent, bytesPerLine: 32).map(\.printable)
  }

  private func painted(_ text: String, _ paint: Paint) -> String {
    [StyledRun(text, paint)].text(style)
  }
}
