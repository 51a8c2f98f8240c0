// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
public import Capture
public import Daemon
import Wire

/// Lays decoded packets out in the manner of btmon: a line that says what the packet is, with its
/// number, adapter and time on the right, and below it what it says.
///
///     > ACL Data RX: Handle 64 flags 0x02 dlen 15                  #42 [hci0] 3.204511
///           ATT: Handle Value Notification (0x1b) len 11
///             Handle: 0x002a Notification Source (9FBF120D-…)
///
/// What comes from the air is made printable: no packet drives the terminal.
public struct CaptureText: Sendable {
  /// How the time is written.
  public enum Clock: Sendable {
    /// Seconds since the first packet.
    case offset
    case time
    case date
  }

  private let style: TextStyle
  private let zone: Int
  private let clock: Clock
  private var start: CaptureTime?

  /// - Parameter zone: what the zone of the times is ahead of UTC, in seconds.
  public init(_ style: TextStyle, zone: Int = 0, clock: Clock = .offset) {
    self.style = style
    self.zone = zone
    self.clock = clock
  }

  /// Takes the time of a packet that is not shown: the offsets count from the first there was.
  public mutating func note(_ time: CaptureTime) { start = start ?? time }

  /// A packet's lines.
  public mutating func lines(_ frame: Frame) -> [String] {
    note(frame.record.time)
    var lines = [head(frame)]
    for note in frame.notes { lines.append(painted("      \(note)", .faint)) }
    for unit in frame.units { lines += body(unit) }
    return lines
  }

  // MARK: The first line

  private func head(_ frame: Frame) -> String {
    let left = "\(mark(frame.record.opcode)) \(frame.title.printable)"
    let adapter =
      frame.record.adapter == MonitorOpcode.noAdapter ? "" : "[hci\(frame.record.adapter)] "
    let right = "#\(frame.number) \(adapter)\(time(frame.record.time))"
    let width = style.width ?? 80
    let gap = max(1, width - left.displayWidth - right.utf8.count)
    return painted(left, paint(frame.record.opcode)) + String(repeating: " ", count: gap)
      + painted(right, .faint)
  }

  private func mark(_ opcode: MonitorOpcode) -> String {
    switch opcode {
    case .controlOpen, .controlClose, .controlCommand, .controlEvent: "@"
    default:
      switch opcode.direction {
      case .sent: "<"
      case .received: ">"
      case nil: "="
      }
    }
  }

  private func time(_ time: CaptureTime) -> String {
    switch clock {
    case .offset:
      let offset = time.microseconds(since: start ?? time)
      let part = String(1_000_000 + offset.magnitude % 1_000_000).dropFirst()
      return "\(offset < 0 ? "-" : "")\(offset.magnitude / 1_000_000).\(part)"
    case .time: return "\(time.civil(zone: zone).timeText).\(time.fraction)"
    case .date:
      let civil = time.civil(zone: zone)
      return "\(civil.dateText) \(civil.timeText).\(time.fraction)"
    }
  }

  // MARK: What is below

  private func body(_ unit: Unit) -> [String] {
    var lines: [String] = []
    var margin = 8
    switch unit.layer {
    case .att: lines.append(title(unit, "ATT"))
    case .smp: lines.append(title(unit, "SMP"))
    case .signalling: lines.append(title(unit, "L2CAP"))
    case .l2cap: lines.append("      L2CAP: \(unit.name.printable) len \(unit.length)")
    case .adapter, .note, .mgmt, .data:
      // Their first line says it all.
      return unit.problem.map { [painted("        ! \($0.printable)", .bad)] } ?? []
    case .hciCommand, .hciEvent, .linkLayer: margin = 8
    }
    if let problem = unit.problem {
      lines.append(painted("        ! \(problem.printable)", .bad))
    }
    for detail in unit.details { lines += text(detail, margin) }
    for attribute in unit.attributes { lines += text(attribute, nested: unit.isList) }
    return lines
  }

  private func title(_ unit: Unit, _ layer: String) -> String {
    let code = unit.code.map { " (0x" + [UInt8(truncatingIfNeeded: $0)].hex + ")" } ?? ""
    // As btmon counts: what follows the byte that says what it is.
    let length = unit.layer == .signalling ? unit.length : max(0, unit.length - 1)
    return painted("      \(layer): \(unit.name.printable)\(code) len \(length)", .strong)
  }

  private func text(_ attribute: AttributeUse, nested: Bool) -> [String] {
    var lines: [String] = []
    let name = attribute.name.map { " \($0)" } ?? ""
    var margin = 8
    switch (attribute.handle, attribute.end) {
    case (let handle?, let end?):
      lines.append(line("Handles: \(hex(handle))-\(hex(end))\(name)", margin))
    case (let handle?, nil): lines.append(line("Handle: \(hex(handle))\(name)", margin))
    case (nil, _): if !name.isEmpty { lines.append(line("Type:\(name)", margin)) }
    }
    if nested, !lines.isEmpty { margin += 2 }
    if let value = attribute.value { lines += text(Detail("Value", .bytes(value)), margin) }
    for detail in attribute.meaning { lines += text(detail, margin) }
    return lines
  }

  private func text(_ detail: Detail, _ margin: Int) -> [String] {
    var lines: [String] = []
    if case .bytes(let bytes) = detail.value, bytes.count > Self.bytesOnALine {
      lines.append(line("\(detail.label): \(bytes.count) bytes", margin))
      for start in stride(from: 0, to: bytes.count, by: Self.bytesOnALine) {
        let part = bytes[start..<min(start + Self.bytesOnALine, bytes.count)]
        lines.append(line(part.hex, margin + 2))
      }
    } else {
      let value = detail.value == .none ? "" : ": \(detail.value)"
      lines.append(line(detail.label + value, margin))
    }
    for child in detail.children { lines += text(child, margin + 2) }
    return lines
  }

  private static let bytesOnALine = 32

  private func line(_ text: String, _ margin: Int) -> String {
    String(repeating: " ", count: margin) + text.printable
  }

  private func hex(_ handle: Handle) -> String {
    "0x" + [UInt8(handle >> 8), UInt8(truncatingIfNeeded: handle)].hex
  }

  // MARK: Colours (ECMA-48, SGR), by which btmon tells the directions apart

  private enum Paint: String {
    case plain = ""
    case strong = "1"
    case faint = "2"
    case bad = "31"
    case command = "34"
    case event = "35"
    case sent = "36"
    case received = "32"
  }

  private func paint(_ opcode: MonitorOpcode) -> Paint {
    switch opcode {
    case .command: .command
    case .event: .event
    default:
      switch opcode.direction {
      case .sent: .sent
      case .received: .received
      case nil: .plain
      }
    }
  }

  private func painted(_ text: String, _ paint: Paint) -> String {
    style.colour && paint != .plain ? "\u{1b}[\(paint.rawValue)m\(text)\u{1b}[0m" : text
  }
}
