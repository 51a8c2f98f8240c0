// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Capture
import CaptureTools
import Control
import GAP
import GATT
import JSON
import System
import Wire

/// Prints what was found, read and notified, as text or as JSON Lines.
struct GATTPrinter {
  let format: OutputFormat
  /// The form of values if only they are printed; nil: prints everything, in the form of `format`.
  var valueForm: ValueForm?
  /// Prints a line, or lines with their ends between them.
  let write: (String) -> Void
  /// Prints bytes as they are.
  var writeBytes: ([UInt8]) -> Void = { _ in }

  /// Prints an event; JSON has its name as the first member.
  private func print(_ event: String, _ text: @autoclosure () -> String, _ fields: JSONObject) {
    guard valueForm == nil else { return }
    switch format {
    case .text: write(text())
    case .json: write(JSONValue.object(["event": .string(event)] + fields).text)
    }
  }

  /// A service; `whole`: with its contents.
  func service(_ found: DiscoveredService, whole: Bool) {
    print("service", found.text(whole: whole), found.json(whole: whole))
  }

  /// A fault of a discovery.
  func fault(_ fault: DiscoveryFault) {
    let lost = fault.lost.map { JSONObject.range($0) }
    print(
      "fault", "! \(fault)".printable,
      ["what": .string(fault.step.rawValue)] + .range(fault.range) + [
        "error": .string("\(fault.failure)"),
        "att": fault.failure.code.map { .number($0.rawValue) }, "unknown": lost.map { .object($0) },
      ])
  }

  /// A value that was read; `isWhole`: whether it is complete.
  func value(_ bytes: [UInt8], at handle: Handle, _ type: UUID?, isWhole: Bool = true) {
    if let valueForm { return alone(bytes, valueForm) }
    let value = AttributeText(handle: handle, type: type, value: bytes)
    print("value", value.text, value.json + (isWhole ? [:] : ["complete": false]))
  }

  /// A notified or indicated value.
  func notified(_ bytes: [UInt8], by handle: Handle, _ type: UUID?, _ kind: ClientConfiguration) {
    if let valueForm { return alone(bytes, valueForm) }
    let value = AttributeText(handle: handle, type: type, value: bytes)
    print(
      kind == .indications ? "indication" : "notification", value.text,
      ["time": .string(WallTime.now.rfc3339)] + value.json)
  }

  private func alone(_ bytes: [UInt8], _ form: ValueForm) {
    switch form {
    case .hex: write(bytes.hex)
    case .text: write(String(decoding: bytes, as: UTF8.self).printable)
    case .raw: writeBytes(bytes)
    }
  }

  func subscribed(_ characteristic: Subscribed) {
    let value = AttributeText(handle: characteristic.handle, type: characteristic.type, value: nil)
    let kind = characteristic.kind == .indications ? "indications" : "notifications"
    print("subscribed", "subscribed to \(kind) of \(value.text)", value.json + ["kind": .string(kind)])
  }

  func written(_ count: Int, at handle: Handle, withResponse: Bool) {
    let bytes = count.counted("byte")
    print(
      "written",
      withResponse
        ? "wrote \(bytes) to \(hexadecimal(handle))" : "sent \(bytes) to \(hexadecimal(handle))",
      ["handle": .number(handle), "length": .number(count), "answered": .bool(withResponse)])
  }

  func mtu(_ mtu: Int) { print("mtu", "the MTU is \(mtu)", ["mtu": .number(mtu)]) }

  func security(_ text: String) {
    print("security", "the link is \(text)", ["security": .string(text)])
  }

  func connected(_ target: GATTTarget, mtu: Int) {
    print(
      "connected", "connected to \(target), the MTU is \(mtu)", ["target": .string("\(target)"), "mtu": .number(mtu)])
  }

  func disconnected(_ why: String) {
    print("disconnected", "the link was lost: \(why)".printable, ["reason": .string(why)])
  }

  func unpaired(_ device: DeviceAddress) {
    print("unpaired", "the keys of \(device) were removed", ["target": .string("\(device)")])
  }

  func device(_ device: FoundDevice) { print("device", device.text, device.json) }
}

/// An attribute with its value, as text and as JSON.
struct AttributeText {
  var handle: Handle
  /// nil if it is not known.
  var type: UUID?
  /// nil if only the attribute is meant.
  var value: [UInt8]?

  /// Longer values are shown in rows.
  private static let bytesOnALine = 24
  private static let bytesInARow = 16

  private var details: [Detail] {
    guard let type, let value else { return [] }
    return ValueDecoder.details(of: value, type)
  }

  /// `0x0012 Battery Level (2A19): 57  Battery: 87 %`; long values and values with several parts
  /// continue on lines below.
  var text: String {
    var text = hexadecimal(handle)
    if let type { text += " \(AssignedNumbers.title(of: type))" }
    guard let value else { return text }
    let details = details
    guard !value.isEmpty else { return text + ": empty" }
    if value.count > Self.bytesOnALine {
      // A text is shown without the bytes.
      let isText = !details.isEmpty && details.allSatisfy { $0.value.words != nil }
      return text + ": \(value.count) bytes" + (isText ? "" : rows(value))
        + details.linesBelow(indent: 2)
    }
    text += ": \(spaced(value))"
    if details.count == 1, let words = details[0].value.words {
      return text + "  “\(words.printable)”"
    }
    if details.count == 1, details[0].children.isEmpty {
      return text + "  " + "\(details[0].label): \(details[0].value)".printable
    }
    if details.isEmpty, let words = Self.words(value) { return text + "  “\(words)”" }
    return text + details.linesBelow(indent: 2)
  }

  private func spaced(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { [$0].hex }.joined(separator: " ")
  }

  /// Rows as of hexdump: offset, bytes, characters.
  private func rows(_ value: [UInt8]) -> String {
    stride(from: 0, to: value.count, by: Self.bytesInARow).map { start in
      let row = value[start..<min(start + Self.bytesInARow, value.count)]
      let offset = String(start, digits: 3, radix: 16)
      let characters = row.map { (0x20..<0x7F).contains($0) ? Character(Unicode.Scalar($0)) : "." }
      let gap = String(repeating: "   ", count: Self.bytesInARow - row.count)
      return "\n  " + offset + "  " + spaced(row) + gap + "  " + String(characters)
    }.joined()
  }

  /// A value of unknown type as text, if it consists of printable characters.
  private static func words(_ value: [UInt8]) -> String? {
    guard value.count >= 2, let text = String(validating: value, as: UTF8.self),
      text == text.printable, text.unicodeScalars.allSatisfy({ $0.value >= 0x20 })
    else { return nil }
    return text
  }

  /// `handle`, `uuid`, `name`, `value` and, where the type is known, `decoded`, as `trace` has it.
  var json: JSONObject {
    let details = details
    return ["handle": .number(handle)] + (type?.json ?? [:])
      + ["value": value.map { .string($0.hex) }]
      + (details.isEmpty ? [:] : ["decoded": Detail.json(details)])
  }
}

extension Detail.Value {
  /// The text, if the value is one.
  fileprivate var words: String? { if case .text(let text) = self { text } else { nil } }
}

extension DiscoveredService {
  /// The service as text.
  ///
  ///     service 0x0010–0x003F Heart Rate (180D)
  ///       0x0011 includes 0x0040–0x004F Battery (180F)
  ///       0x0012 characteristic 0x0013 Heart Rate Measurement (2A37): notify
  ///         0x0014 Client Characteristic Configuration (2902)
  func text(whole: Bool) -> String {
    let kind = isPrimary ? "service" : "secondary service"
    var lines = ["\(kind) \(service.range) \(AssignedNumbers.title(of: service.uuid))"]
    guard whole else { return lines[0] }
    if !hasContents { lines.append("  (not fully discovered)") }
    lines += includes.map { include in
      "  \(hexadecimal(include.handle)) includes \(include.service.range) "
        + AssignedNumbers.title(of: include.service.uuid)
    }
    for characteristic in characteristics {
      let properties = characteristic.properties.names
      lines.append(
        "  \(hexadecimal(characteristic.declaration)) characteristic "
          + "\(hexadecimal(characteristic.value)) \(AssignedNumbers.title(of: characteristic.uuid)): "
          + (properties.isEmpty ? "no properties" : properties.joined(separator: ", ")))
      lines += descriptors(of: characteristic).map { "    " + $0.text }
    }
    lines += descriptors(of: nil).map { "  \($0.text) (of an unknown characteristic)" }
    return lines.joined(separator: "\n")
  }

  /// The service as JSON.
  func json(whole: Bool) -> JSONObject {
    let header = service.json + ["primary": .bool(isPrimary)]
    guard whole else { return header }
    let unassigned = descriptors(of: nil)
    let characteristics = characteristics.map { characteristic in
      JSONValue.object(
        characteristic.json
          + ["descriptors": .array(descriptors(of: characteristic).map { .object($0.json) })])
    }
    return header + (hasContents ? [:] : ["complete": false]) + [
      "includes": .array(includes.map { .object(["handle": .number($0.handle)] + $0.service.json) }),
      "characteristics": .array(characteristics),
    ] + (unassigned.isEmpty ? [:] : ["unassigned": .array(unassigned.map { .object($0.json) })])
  }
}

extension JSONObject {
  fileprivate static func range(_ range: HandleRange) -> JSONObject {
    ["start": .number(range.start), "end": .number(range.end)]
  }
}

extension Service { fileprivate var json: JSONObject { uuid.json + .range(range) } }

extension Characteristic {
  fileprivate var json: JSONObject {
    uuid.json + [
      "declaration": .number(declaration), "handle": .number(value), "properties": .strings(properties.names),
    ]
  }
}

extension PDU.AttributeInformation {
  fileprivate var json: JSONObject { ["handle": .number(handle)] + type.json }

  /// Handle and type as text.
  fileprivate var text: String { "\(hexadecimal(handle)) \(AssignedNumbers.title(of: type))" }
}

extension UUID {
  /// `uuid`, and `name` if it has one.
  fileprivate var json: JSONObject {
    ["uuid": .string(description), "name": AssignedNumbers.name(of: self).map { .string($0) }]
  }
}

extension FoundDevice {
  /// The name that it advertises.
  var name: String? { AdvertisingData(decoding: data).localName }

  private var advertised: [Detail] { AdvertisingSummary.detail("Data", data[...]).children }

  /// As text: a line, and below it what the device advertises, except its name.
  var text: String {
    var line = "\(address)"
    if let rssi { line += "  \(rssi) dBm" }
    if let name { line += "  “\(name.printable)”" }
    if !isConnectable { line += "  (not connectable)" }
    return line + advertised.filter { !$0.label.hasPrefix("Name") }.linesBelow(indent: 4)
  }

  /// As JSON: `data` are the bytes as they were advertised, `advertised` is their meaning.
  var json: JSONObject {
    [
      "address": .string(address.address.description), "type": address.type == .random ? "random" : "public",
      "rssi": rssi.map { .number($0) }, "name": name.map { .string($0) }, "connectable": .bool(isConnectable),
      "advertised": Detail.json(advertised), "data": .string(data.hex),
    ]
  }
}

extension [Detail] {
  /// The lines below a heading, each after a line end.
  fileprivate func linesBelow(indent: Int) -> String {
    flatMap { $0.lines(indent: indent) }.map { "\n" + $0.printable }.joined()
  }
}
