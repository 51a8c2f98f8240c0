// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Capture
import Arguments
import Control
import GATT
import JSON
import System
import Wire

/// Says what was found, read and notified, as text or as JSON Lines.
struct GATTPrinter {
  let format: OutputFormat
  /// How values are printed alone, and nothing besides; nil: everything, as `format` says.
  var valueForm: ValueForm?
  /// Takes each line, or lines with their ends between them.
  let write: (String) -> Void
  /// Takes bytes that are to come out as they are.
  var writeBytes: ([UInt8]) -> Void = { _ in }

  /// Something that happened: JSON has `event` in front.
  private func print(_ event: String, _ text: @autoclosure () -> String, _ fields: JSONObject) {
    guard valueForm == nil else { return }
    switch format {
    case .text: write(text())
    case .json:
      var object: JSONObject = ["event": .string(event)]
      for (name, value) in fields.members { object.add(name, value) }
      write(JSONValue.object(object).text)
    }
  }

  /// A service; `whole`: with what is in it.
  func service(_ found: DiscoveredService, whole: Bool) {
    print("service", found.text(whole: whole), found.json(whole: whole))
  }

  /// What a discovery was refused.
  func fault(_ fault: DiscoveryFault) {
    var fields: JSONObject = ["what": .string(fault.step.rawValue)]
    fields.add("start", .number(fault.range.start))
    fields.add("end", .number(fault.range.end))
    fields.add("error", .string("\(fault.failure)"))
    fields.add("att", fault.failure.code.map { .number($0.rawValue) })
    if let lost = fault.lost {
      fields.add("unknown", ["start": .number(lost.start), "end": .number(lost.end)])
    }
    print("fault", "! \(fault)".printable, fields)
  }

  /// A value that was read; `isWhole`: to its end.
  func value(_ bytes: [UInt8], at handle: Handle, _ type: UUID?, isWhole: Bool = true) {
    if let valueForm { return alone(bytes, valueForm) }
    let value = AttributeText(handle: handle, type: type, value: bytes)
    var fields = value.json
    if !isWhole { fields.add("complete", false) }
    print("value", value.text, fields)
  }

  /// A value that the device sent by itself.
  func notified(
    _ bytes: [UInt8], by handle: Handle, _ type: UUID?, _ kind: ClientConfiguration
  ) {
    if let valueForm { return alone(bytes, valueForm) }
    let value = AttributeText(handle: handle, type: type, value: bytes)
    var fields: JSONObject = ["time": .string(WallTime.now.rfc3339)]
    for (name, value) in value.json.members { fields.add(name, value) }
    print(kind == .indications ? "indication" : "notification", value.text, fields)
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
    var fields = value.json
    let kind = characteristic.kind == .indications ? "indications" : "notifications"
    fields.add("kind", .string(kind))
    print("subscribed", "subscribed to \(kind) of \(value.text)", fields)
  }

  func written(_ count: Int, at handle: Handle, answered: Bool) {
    let bytes = count == 1 ? "1 byte" : "\(count) bytes"
    print(
      "written",
      answered ? "\(hexadecimal(handle)) took \(bytes)" : "sent \(bytes) to \(hexadecimal(handle))",
      ["handle": .number(handle), "length": .number(count), "answered": .bool(answered)])
  }

  func mtu(_ mtu: Int) { print("mtu", "the MTU is \(mtu)", ["mtu": .number(mtu)]) }

  func security(_ text: String) {
    print("security", "the link is \(text)", ["security": .string(text)])
  }

  func connected(_ target: GATTTarget, mtu: Int) {
    print(
      "connected", "connected to \(target), the MTU is \(mtu)",
      ["target": .string("\(target)"), "mtu": .number(mtu)])
  }

  func disconnected(_ why: String) {
    print("disconnected", "the link is gone: \(why)".printable, ["reason": .string(why)])
  }

  func unpaired(_ device: DeviceAddress) {
    print("unpaired", "the keys of \(device) are forgotten", ["target": .string("\(device)")])
  }

  func device(_ device: FoundDevice) { print("device", device.text, device.json) }
}

/// A characteristic that was subscribed to.
struct Subscribed: Hashable, Sendable {
  /// Of its value.
  var handle: Handle
  var type: UUID?
  var configuration: Handle
  var kind: ClientConfiguration
}
