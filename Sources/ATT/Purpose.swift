// SPDX-License-Identifier: GPL-3.0-or-later

/// The purpose of a request. It determines which waiting request is sent next, and whether one may
/// be cancelled.
public enum Purpose {
  /// For the session with the peer itself, which precedes everything else.
  case session
  /// For a user, who may disconnect before the request is sent.
  case user(Cancellation)
  /// For a user who debugs single attributes, after everything else.
  case debugging(Cancellation)

  /// Whether nobody waits for the response anymore.
  public var isCancelled: Bool { cancellation?.isCancelled ?? false }

  var cancellation: Cancellation? {
    switch self {
    case .session: nil
    case .user(let cancellation), .debugging(let cancellation): cancellation
    }
  }

  /// The place among the requests that wait: the least is sent first.
  var rank: Int {
    switch self {
    case .session: 0
    case .user: 1
    case .debugging: 2
    }
  }
}

/// Tells work in progress that nobody waits for it any more. Used on one loop only.
public final class Cancellation {
  /// Whether the work was given up.
  public private(set) var isCancelled = false
  private var actions: [Int: () -> Void] = [:]
  private var lastNumber = 0

  public init() {}

  /// Gives the work up: what has not begun is not begun any more.
  public func cancel() {
    isCancelled = true
    let actions = actions
    self.actions = [:]
    for number in actions.keys.sorted() { actions[number]?() }
  }

  /// Calls `action` when the work is given up, at once if it was already.
  ///
  /// - Returns: the number for `forget`.
  public func onCancel(_ action: @escaping () -> Void) -> Int {
    lastNumber += 1
    if isCancelled { action() } else { actions[lastNumber] = action }
    return lastNumber
  }

  /// Takes back what `onCancel` has set.
  public func forget(_ number: Int) { actions[number] = nil }
}
