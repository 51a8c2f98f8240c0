// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Capture
public import Control
import Wire

extension SessionPicture {
  /// Adds the daemon's timeline of its links. It contains no values, so the page has no bytes and
  /// no texts of notifications; sentences pass through `redact`.
  ///
  /// - Parameters:
  ///   - name: the name of the attribute that a PDU of this link concerns, if it is known.
  ///   - redact: replaces whatever identifies people or devices in a sentence.
  public mutating func add(
    _ timeline: TimelineReport, name: (Handle, PDUHead, LinkTimeline) -> String?, redact: (String) -> String
  ) {
    var rows: [PictureRow] = []
    for (place, link) in ([timeline.board] + timeline.links).enumerated() {
      for (index, row) in Self.rows(of: link, name).enumerated() {
        var row = row
        // The board's own entries belong to no link.
        row.link = place == 0 ? 0 : PictureRow.link(adapter: 0, handle: UInt16(clamping: place))
        row.label = redact(row.label)
        if place > 0, index == 0 {
          row.facts.append(.init(key: "begins", value: .number(1)))
          if let phone = link.phone {
            row.facts.append(.init(key: "peer", value: .text(redact("\(phone)"))))
          }
        }
        rows.append(row)
      }
    }
    rows.sort { $0.time < $1.time }
    var open: [Int: OpenRequests] = [:]
    for (index, row) in rows.enumerated() {
      var row = row
      row.number = index + 1
      if row.code >= 0 {
        let asked = open[row.link, default: OpenRequests()].request(
          of: Opcode(rawValue: UInt8(row.code)).role, isSent: row.direction == 1, packet: row.number)
        if let asked { row.facts.append(.init(key: "asked", value: .number(Int64(asked)))) }
      }
      add(row)
    }
  }

  private static func rows(of link: LinkTimeline, _ name: (Handle, PDUHead, LinkTimeline) -> String?) -> [PictureRow] {
    func row(_ entry: TimelineEntry) -> PictureRow {
      var row = PictureRow()
      row.time = link.started.microseconds &+ entry.time
      switch entry.moment {
      case .att(let pdu): row.read(pdu) { name($0, pdu, link) }
      case .step(let layer, let name, let detail):
        row.layer = layer.rawValue
        row.name = name
        row.label = detail
      }
      return row
    }
    var rows = link.beginning.map(row)
    if link.omitted > 0 {
      var gap = PictureRow()
      gap.time = rows.last?.time ?? link.started.microseconds
      gap.layer = "note"
      gap.name = "\(link.omitted) entries were dropped"
      rows.append(gap)
    }
    return rows + link.latest.map(row)
  }
}

extension PictureRow {
  /// Reads a PDU of which only the beginning is known.
  fileprivate mutating func read(_ pdu: PDUHead, name attribute: (Handle) -> String?) {
    layer = "att"
    direction = pdu.isSent ? 1 : 2
    name = "\(pdu.opcode)"
    code = Int(pdu.opcode.rawValue)
    length = Int(pdu.length)
    role = Self.number(of: pdu.opcode.role)
    tree.title = pdu.text(name: attribute)
    if let handle = pdu.handle {
      let name = pdu.end == nil ? attribute(handle) : pdu.parameter.map { Self.short(UUID($0)) }
      label = name ?? hexadecimal(handle, 4)
      facts.append(.init(key: "handle", value: .number(Int64(handle))))
    }
    if let error = pdu.error { facts.append(.init(key: "error", value: .text("\(error)"))) }
    switch (pdu.opcode, pdu.parameter) {
    case (.exchangeMTURequest, let mtu?), (.exchangeMTUResponse, let mtu?):
      facts.append(.init(key: "mtu", value: .number(Int64(mtu))))
    case (.errorResponse, let request?):
      let request = Opcode(rawValue: UInt8(truncatingIfNeeded: request))
      facts.append(.init(key: "request", value: .text("\(request)")))
    default: break
    }
  }
}
