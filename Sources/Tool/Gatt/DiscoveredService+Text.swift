// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import JSON
import Wire

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
    if !hasContents { lines.append("  (not looked into to its end)") }
    for include in includes {
      lines.append(
        "  \(hexadecimal(include.handle)) includes \(include.service.range) "
          + AssignedNumbers.title(of: include.service.uuid))
    }
    for found in characteristics {
      let characteristic = found.characteristic
      let properties = characteristic.properties.names
      lines.append(
        "  \(hexadecimal(characteristic.declaration)) characteristic "
          + "\(hexadecimal(characteristic.value)) \(AssignedNumbers.title(of: characteristic.uuid)): "
          + (properties.isEmpty ? "no properties" : properties.joined(separator: ", ")))
      for descriptor in found.descriptors {
        lines.append(
          "    \(hexadecimal(descriptor.handle)) \(AssignedNumbers.title(of: descriptor.type))")
      }
    }
    for attribute in unassigned {
      lines.append(
        "  \(hexadecimal(attribute.handle)) \(AssignedNumbers.title(of: attribute.type)) "
          + "(of a characteristic that stays unknown)")
    }
    return lines.joined(separator: "\n")
  }

  /// The service as JSON.
  func json(whole: Bool) -> JSONObject {
    var object = service.json
    object.add("primary", .bool(isPrimary))
    guard whole else { return object }
    if !hasContents { object.add("complete", false) }
    object.add(
      "includes",
      .array(
        includes.map { include in
          var object: JSONObject = ["handle": .number(include.handle)]
          for (name, value) in include.service.json.members { object.add(name, value) }
          return .object(object)
        }))
    object.add("characteristics", .array(characteristics.map { .object($0.json) }))
    if !unassigned.isEmpty {
      object.add("unassigned", .array(unassigned.map { .object($0.json) }))
    }
    return object
  }
}

extension Service {
  fileprivate var json: JSONObject {
    var object = uuid.json
    object.add("start", .number(range.start))
    object.add("end", .number(range.end))
    return object
  }
}

extension DiscoveredCharacteristic {
  fileprivate var json: JSONObject {
    var object = characteristic.uuid.json
    object.add("declaration", .number(characteristic.declaration))
    object.add("handle", .number(characteristic.value))
    object.add("properties", .strings(characteristic.properties.names))
    object.add(
      "descriptors",
      .array(descriptors.map { .object($0.json) }))
    return object
  }
}

extension PDU.AttributeInformation {
  fileprivate var json: JSONObject {
    var object: JSONObject = ["handle": .number(handle)]
    for (name, value) in type.json.members { object.add(name, value) }
    return object
  }
}

extension UUID {
  /// `uuid`, and `name` where it has one.
  fileprivate var json: JSONObject {
    var object: JSONObject = ["uuid": .string(description)]
    object.add("name", AssignedNumbers.name(of: self).map { .string($0) })
    return object
  }
}
