// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import GATT

extension Session {
  /// Where the session stands and what it waits for; nil once it has ended.
  var wait: Wait? {
    // Encryption may be asked for in the middle of anything.
    if stage != .connecting, stage != .ended, let wait = link.wait { return wait }
    switch stage {
    case .connecting: return .mtu
    case .securing: return .encryption
    case .refused: return .unencrypted
    case .discovering: return .discovery
    case .subscribing: return .subscription
    case .serving: return serviceWait
    case .ended: return nil
    }
  }

  private var serviceWait: Wait {
    guard notifications != nil else {
      return located[.notificationCenter] == nil ? .unpublished : objection ?? .unpublished
    }
    if isAuthorized == false { return .forbidden }
    if let doubt { return .stale(doubt) }
    return isAuthorized == nil ? .permission : .news
  }

  /// The same as a sentence for the one who wonders.
  var why: String { wait?.sentence(name: surroundings.name) ?? "disconnected" }
}
