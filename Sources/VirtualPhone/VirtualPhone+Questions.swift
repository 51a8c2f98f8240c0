// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

/// What a phone asks the server at the other end: it is the link's central, and a GATT client too.
public enum PhoneQuestion: Hashable, Sendable {
  /// Tells the MTU that the phone takes, and takes the smaller of both.
  case exchangeMTU
  /// Looks for all services.
  case discover
  /// Reads the characteristics of a type, as phones read the device's name.
  case read(UUID)
}

extension VirtualPhone {
  /// Asks the other end's server, and tells the answer as an event.
  public func ask(_ question: PhoneQuestion) async {
    guard let link else { return onEvent(.failed("\(question)", .closed("nobody is connected"))) }
    do throws(ATTFailure) {
      switch question {
      case .exchangeMTU:
        try await link.bearer.exchangeMTU()
        tellMTU()
      case .discover:
        onEvent(.discovered(try await link.client.primaryServices()))
      case .read(let type):
        // Not by `Client.read(_:in:)`, for which an error and nothing found are one.
        let pdu = PDU.readByTypeRequest(.all, type: type)
        guard case .readByTypeResponse(let values) = try await link.bearer.request(pdu) else {
          return
        }
        for value in values {
          onEvent(.read(type, handle: value.handle, value: value.value))
        }
      }
    } catch {
      onEvent(.failed("\(question)", error))
    }
  }
}

extension PhoneQuestion: CustomStringConvertible {
  public var description: String {
    switch self {
    case .exchangeMTU: "exchange-mtu"
    case .discover: "discover"
    case .read(let type): "read \(type)"
    }
  }
}
