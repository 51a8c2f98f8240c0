// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Control
import GATT

/// What a phone finds on the board: Generic Access, Generic Attribute, Device Information, and one
/// characteristic that only an encrypted link may read. Reading that is what makes a phone show its
/// pairing prompt.
enum BoardDatabase {
  /// Within Apple's rules for accessories: 30 to 45 ms, three intervals slept through at most, lost
  /// after 6 s.
  private static let preferred = ConnectionParameters(
    minimumInterval: 24, maximumInterval: 36, latency: 3, timeout: 600)

  static func make(name: String, log: Log) -> AttributeDatabase {
    let database = AttributeDatabase()
    let device = StandardServices.DeviceInformation(
      manufacturer: "ancsd", model: "ancsd", software: version)
    let services = [
      StandardServices.genericAccess(name: { name }, preferred: preferred),
      StandardServices.genericAttribute(), StandardServices.deviceInformation(device),
      StandardServices.bonding(),
    ]
    for service in services {
      do {
        _ = try database.add(service)
      } catch {
        log.error("a service of the board's own is left out: \(error)")
      }
    }
    return database
  }
}
