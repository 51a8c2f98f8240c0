// SPDX-License-Identifier: GPL-3.0-or-later
import Board
import Control
import EventLoop
import GAP
import GATT

/// The board's own GATT server: Generic Access, Generic Attribute, Device Information, and one
/// characteristic that requires an encrypted link. A phone that reads it shows its pairing prompt.
@LoopActor enum LocalDatabase {
  /// Within Apple's rules for accessories: an interval of 30 to 45 ms, a latency of 3 at most, a
  /// supervision timeout of 6 s.
  private static let preferred = ConnectionParameters(
    minimumInterval: 24, maximumInterval: 36, latency: 3, timeout: 600)

  static func make(name: String, log: Log) -> AttributeDatabase {
    let database = AttributeDatabase()
    let services = [
      StandardServices.genericAccess(name: { name }, preferred: preferred), StandardServices.genericAttribute(),
      StandardServices.deviceInformation(manufacturer: "ancsd", model: "ancsd", firmware: version, software: version),
      StandardServices.bonding(),
    ]
    for service in services {
      do {
        _ = try database.add(service)
      } catch { log.error("a service of the board is left out: \(error)") }
    }
    return database
  }
}
