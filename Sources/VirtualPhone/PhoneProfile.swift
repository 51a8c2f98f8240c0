// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import GAP
import GATT
import Wire

/// Which phone the virtual phone plays: its attribute database, and what it does by itself.
public enum PhoneProfile: String, CaseIterable, Hashable, Sendable {
  /// An iPhone with iOS 26.5.1, as captures of its own log show it (docs/virtual-phone.md).
  case iphone
  /// A phone with everything that the specifications offer a client: a Database Hash, robust caching,
  /// silence until it is asked, and texts that are cut at the maximum length exactly.
  case ideal

  /// A service that the phone has from the start.
  enum Resident: Hashable {
    case genericAccess, genericAttribute, deviceInformation
    /// Services of Apple's that an accessory does not use.
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

  /// Whether clients can tell by Database Hash and Client Supported Features what has changed.
  var hasRobustCaching: Bool { self == .ideal }

  /// What the phone does by itself on every link: a step, and how long after encryption it comes.
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
    /// It asks for the MTU.
    case exchangeMTU
    /// It looks for a service of the peer, for an app of its owner.
    case find(UUID)
    /// It reads a characteristic of the peer by its type.
    case read(UUID)
  }

  /// Whether Attribute Not Found in answer to Read By Type names the ending handle of the request.
  var namesEndingHandle: Bool { self == .iphone }

  /// Whether what a bonded peer asks before the link is encrypted waits until it is.
  var holdsRequests: Bool { self == .iphone }

  /// Whether a call has a date.
  var datesCalls: Bool { self == .iphone }

  /// The flags that a notification from before the session has besides its own.
  var preExistingFlags: EventFlags { self == .iphone ? [.preExisting, .silent] : .preExisting }

  /// A text as the phone sends it if at most `maximum` bytes are wanted. An iPhone that cuts it ends it
  /// with an ellipsis, and halves no character.
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
