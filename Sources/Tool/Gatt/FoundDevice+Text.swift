// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Arguments
import Control
import GAP
import JSON
import Mgmt
import Wire

extension FoundDevice {
  /// The name that it advertises.
  var name: String? { AdvertisingData(decoding: data).localName }

  private var advertised: [Detail] { AdvertisingSummary.detail("Data", data[...]).children }

  /// As text: a line, and below it what it advertises but its name.
  var text: String {
    var line = "\(address)"
    if let rssi { line += "  \(rssi) dBm" }
    if let name { line += "  “\(name.printable)”" }
    if !isConnectable { line += "  (takes no connections)" }
    return line + advertised.filter { !$0.label.hasPrefix("Name") }.linesBelow(indent: 4)
  }

  /// As JSON: `data` are the bytes as they were advertised, `advertised` is what they say.
  var json: JSONObject {
    var object: JSONObject = ["address": .string(address.address.description)]
    object.add("type", address.type == .random ? "random" : "public")
    object.add("rssi", rssi.map { .number($0) })
    object.add("name", name.map { .string($0) })
    object.add("connectable", .bool(isConnectable))
    object.add("advertised", Detail.json(advertised))
    object.add("data", .string(data.hex))
    return object
  }
}
