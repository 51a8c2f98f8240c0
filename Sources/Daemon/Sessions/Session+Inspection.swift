// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import EventLoop
import GATT
import JSON
import System
import Wire

// The live link for debugging: what the control socket's gatt.* methods do.

extension Session {
  /// Every service of the phone with its characteristics.
  func discoverAll() async throws(ATTFailure) -> [LocatedService] {
    var all: [LocatedService] = []
    for service in try await client.primaryServices() {
      all.append(try await client.locate(service))
    }
    return all
  }

  /// A value, whole.
  func read(_ handle: Handle) async throws(ATTFailure) -> [UInt8] {
    try await client.readLong(handle)
  }

  /// Writes a value: as a command, in one request, or in parts where it is long.
  func write(_ handle: Handle, _ value: [UInt8], command: Bool) async throws(ATTFailure) {
    if command {
      try client.writeCommand(handle, value)
    } else if value.count <= bearer.mtu - 3 {
      try await client.write(handle, value)
    } else {
      try await client.writeLong(handle, value)
    }
  }

  /// A notification with whose it is.
  func active(_ record: NotificationRecord) -> ActiveNotification {
    ActiveNotification(
      record, adapter: link.adapter, phone: (link.phone ?? phone.identity)?.address)
  }

  /// An event of this link that nobody was told yet: it has no number of its own.
  func event(_ content: Event.Content, at time: WallTime) -> NumberedEvent {
    NumberedEvent(
      seq: surroundings.journal.ring.lastSeq, time: time,
      Event(content, adapter: link.adapter, phone: (link.phone ?? phone.identity)?.address))
  }
}

extension LocatedService {
  /// The service as `gatt.discover` answers it.
  var report: JSONValue {
    var object: JSONObject = ["uuid": .string(service.uuid.description)]
    object.add("start", .number(service.range.start))
    object.add("end", .number(service.range.end))
    object.add(
      "characteristics",
      .array(
        characteristics.map { characteristic in
          var object: JSONObject = ["uuid": .string(characteristic.uuid.description)]
          object.add("handle", .number(characteristic.value))
          object.add("properties", .strings(characteristic.properties.names))
          object.add("cccd", characteristic.cccd.map { .number($0) })
          return .object(object)
        }))
    return .object(object)
  }
}
