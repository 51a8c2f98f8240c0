// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Control
import EventLoop
import GAP
import GATT
import Wire

/// The phone's Generic Attribute service: Service Changed indicates that services were added,
/// removed or moved. A phone adds and removes ANCS at any time.
@LoopActor final class ServiceChangedClient: ServiceClient {
  let uuid = UUID.genericAttribute
  let name: PhoneService? = nil
  let title = "Service Changed"
  let phase = ServicePhase.first
  private(set) var isActive = false

  private let client: Client
  private let context: ServiceContext
  private let onChange: (HandleRange) -> Void

  init(_ client: Client, _ context: ServiceContext, onChange: @escaping (HandleRange) -> Void) {
    self.client = client
    self.context = context
    self.onChange = onChange
  }

  func subscribe(to service: LocatedService?, anew: Bool) async throws(SubscriptionFailure) {
    guard let changed = service?[.serviceChanged], let cccd = changed.cccd else {
      return context.log.notice("the phone has no Service Changed to subscribe to")
    }
    client.setHandler(for: changed.value) { [onChange, context] value in
      do {
        onChange(try ServiceChanged(decoding: value).range)
      } catch {
        context.log.warning("dropped a Service Changed: \(error): \(value.hex)")
      }
    }
    do {
      try await client.configure(cccd, .indications)
      isActive = true
    } catch {
      throw .failed(error)
    }
  }

  func end() { isActive = false }
}
