// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
public import GATT
public import JSON
public import Wire

/// What the daemon knows of the attributes at both ends of a link, as `gatt.known` answers it: nobody is
/// asked for it. A trace that begins later has the names from here.
public struct KnownLink: Hashable, Sendable {
  /// Nil for a link without a radio.
  public var adapter: String?
  /// The identity address, or the one it is on the air with.
  public var phone: Address?
  /// The phone's services that were located.
  public var services: [LocatedService]
  /// The board's own.
  public var board: [LocatedService]

  public init(
    adapter: String?, phone: Address?, services: [LocatedService], board: [LocatedService]
  ) {
    self.adapter = adapter
    self.phone = phone
    self.services = services
    self.board = board
  }
}

extension KnownLink {
  public var json: JSONValue {
    var object = JSONObject()
    object.add("adapter", adapter)
    object.add("phone", phone.map { .string($0.description) })
    object.add("services", .array(services.map(\.json)))
    object.add("board", .array(board.map(\.json)))
    return .object(object)
  }

  public init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    adapter = try fields.optionalString("adapter")
    phone = try fields.optional("phone", "an address") { $0.string.flatMap { Address($0) } }
    services = try fields.list("services", "services") { try? LocatedService(json: $0) }
    board = try fields.list("board", "services") { try? LocatedService(json: $0) }
  }
}

extension Session {
  /// What is known of the attributes at both ends.
  var known: KnownLink {
    var services = phone.handles?.services ?? []
    services.removeAll { located[$0.service.uuid] != nil }
    return KnownLink(
      adapter: link.adapter, phone: (link.phone ?? phone.identity)?.address,
      services: (services + located.values).sorted {
        $0.service.range.start < $1.service.range.start
      },
      board: surroundings.database.services)
  }
}
