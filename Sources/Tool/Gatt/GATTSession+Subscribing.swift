// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Arguments
import Control
import GAP
import GATT
import Wire

extension GATTSession {
  /// Subscribes, and prints from then on what comes.
  func subscribe(_ references: [AttributeReference]) async throws(Failure) {
    for reference in references {
      for handle in try await handles(reference) {
        let found = try await characteristic(at: handle)
        guard !subscriptions.contains(where: { $0.handle == found.handle }) else { continue }
        client.setHandler(for: found.handle) { [weak self] value in
          guard let self, !hasEnough else { return }
          printer.notified(value, by: found.handle, found.type, found.kind)
          onValue()
        }
        do throws(Failure) {
          try await att("subscribing to \(hexadecimal(found.handle))") { () throws(ATTFailure) in
            try await client.configure(found.configuration, found.kind)
          }
        } catch {
          client.removeHandler(for: found.handle)
          throw error
        }
        subscriptions.append(found)
        printer.subscribed(found)
      }
    }
  }

  /// The characteristic that an attribute belongs to, its configuration and what it offers.
  private func characteristic(at handle: Handle) async throws(Failure) -> Subscribed {
    let what = "subscribing to \(hexadecimal(handle))"
    let map = try await attributeMap()
    guard let range = map.characteristic(around: handle) else {
      throw Failure(
        .refused, what, "no characteristic is there", remedy: "“tree” shows where they are")
    }
    guard let configuration = map.first(.clientConfiguration, in: range) else {
      throw Failure(.refused, what, "it has no Client Characteristic Configuration to write to")
    }
    let bytes = try await att(what) { () throws(ATTFailure) in
      try await client.readLong(range.start)
    }
    guard let declaration = try? CharacteristicDeclaration(decoding: bytes) else {
      throw Failure(.refused, what, "its declaration has \(bytes.count) bytes")
    }
    let properties = declaration.properties
    guard !properties.isDisjoint(with: [.notify, .indicate]) else {
      throw Failure(
        .refused, what,
        "it neither notifies nor indicates (\(properties.names.joined(separator: ", ")))")
    }
    let indicates = properties.contains(.indicate)
    let kind: ClientConfiguration =
      indicates && (prefersIndications || !properties.contains(.notify))
      ? .indications : .notifications
    return Subscribed(
      handle: declaration.value, type: map.type(at: declaration.value),
      configuration: configuration, kind: kind)
  }

  /// Ends subscriptions; none named: all.
  func unsubscribe(_ references: [AttributeReference] = []) async throws(Failure) {
    var chosen = subscriptions
    if !references.isEmpty {
      var handles: [Handle] = []
      for reference in references { handles += try await self.handles(reference) }
      chosen = chosen.filter { handles.contains($0.handle) }
    }
    for subscription in chosen {
      subscriptions.removeAll { $0 == subscription }
      client.removeHandler(for: subscription.handle)
      try await att("ending the subscription to \(hexadecimal(subscription.handle))") {
        () throws(ATTFailure) in try await client.configure(subscription.configuration, [])
      }
    }
  }
}
