// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import GAP
import Wire

/// The phone that the virtual phone imitates: its attribute database, and its own requests.
public enum PhoneProfile: String, CaseIterable, Hashable, Sendable {
  /// An iPhone with iOS 26.5.1, as captures of its own log show it (docs/virtual-phone.md).
  case iphone
  /// A phone with everything that the specifications offer a client: a Database Hash, robust caching, no requests of
  /// its own, and texts cut exactly at the maximum length.
  case ideal

  /// A service that the phone has from the start.
  enum Resident: Hashable {
    case genericAccess, genericAttribute, deviceInformation
    /// Apple's services that an accessory does not use.
    case continuity, nearby, unnamed
    case published(PublishedService)
  }

  /// The services from the start, each with the handle of its declaration.
  var layout: [(service: Resident, handle: Handle)] {
    switch self {
    case .iphone:
      [
        (.genericAccess, 0x0001), (.genericAttribute, 0x0006), (.deviceInformation, 0x000A),
        (.published(.battery), 0x000F), (.published(.time), 0x0013), (.published(.ancs), 0x0019),
        (.published(.ams), 0x0023), (.continuity, 0x002F), (.nearby, 0x0034), (.unnamed, 0x0039),
      ]
    case .ideal:
      [
        (.genericAccess, 0x0001), (.genericAttribute, 0x0006), (.nearby, 0x000F),
        (.published(.battery), 0x0014), (.published(.time), 0x0018),
        (.deviceInformation, 0x001E), (.published(.ancs), 0x0023), (.published(.ams), 0x002D),
      ]
    }
  }

  /// Whether clients can detect changes by Database Hash and Client Supported Features.
  var hasRobustCaching: Bool { self == .ideal }

  /// The steps that the phone takes by itself on every link, each with its delay after encryption.
  var overture: [(step: Overture, after: Duration)] {
    switch self {
    case .iphone:
      [
        (.indicateChange(HandleRange(0x000A, .max)), .zero), (.exchangeMTU, .milliseconds(5)),
        (.find(.heartRate), .milliseconds(63)), (.read(.deviceName), .milliseconds(3010)),
      ]
    case .ideal: []
    }
  }

  /// A step that a phone takes by itself.
  enum Overture: Hashable {
    /// It indicates Service Changed, subscribed to or not.
    case indicateChange(HandleRange)
    /// It exchanges the MTU.
    case exchangeMTU
    /// It looks for a service of the peer on behalf of an app.
    case find(UUID)
    /// It reads a characteristic of the peer by its type.
    case read(UUID)
  }

  /// Whether Attribute Not Found in response to Read By Type names the ending handle of the request.
  var namesEndingHandle: Bool { self == .iphone }

  /// Whether the phone holds a bonded peer's requests back until the link is encrypted.
  var holdsRequests: Bool { self == .iphone }

  /// Whether a call has a date.
  var datesCalls: Bool { self == .iphone }

  /// The flags that are added to a notification from before the session.
  var preExistingFlags: EventFlags { self == .iphone ? [.preExisting, .silent] : .preExisting }

  /// A text as the phone sends it if at most `maximum` bytes are requested. An iPhone ends a truncated text with an
  /// ellipsis, and never splits a character.
  func cut(_ text: [UInt8], to maximum: Int) -> [UInt8] {
    let ellipsis = Array("…".utf8)
    guard text.count > maximum else { return text }
    guard self == .iphone, maximum >= ellipsis.count else { return Array(text.prefix(maximum)) }
    var kept = text.prefix(maximum - ellipsis.count)
    // Octets 10xxxxxx continue a character.
    while text[kept.endIndex] & 0xC0 == 0x80, !kept.isEmpty { kept.removeLast() }
    return kept + ellipsis
  }
}
