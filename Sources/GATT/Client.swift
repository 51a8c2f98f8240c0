// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// A GATT client: the procedures of Vol 3 Part G, 4 over one bearer.
///
/// It holds no state of the server but who takes which values; what it finds, its caller keeps.
/// Every procedure ends with an error when the link is lost, and none trusts the server: handles that
/// do not go up end a discovery with an error instead of going round in it.
public final class Client {
  public let bearer: Bearer

  private var takers: [Handle: ([UInt8]) -> Void] = [:]
  /// Takes values of characteristics that nobody asked for: an older subscription, or a mistake.
  public var onUnclaimedValue: (Handle, [UInt8]) -> Void = { _, _ in }

  /// A client on `bearer`, whose notified and indicated values it takes from now on.
  public init(_ bearer: Bearer) {
    self.bearer = bearer
    bearer.onValue = { [weak self] handle, value in
      guard let self else { return }
      if let taker = takers[handle] { taker(value) } else { onUnclaimedValue(handle, value) }
    }
  }

  /// Hands the values of the characteristic at `handle` to `taker` from now on (nil: to nobody).
  public func take(_ handle: Handle, _ taker: (([UInt8]) -> Void)?) {
    takers[handle] = taker
  }

  /// Gives up everything that was taken within `range`: the characteristics there are gone.
  public func release(_ range: HandleRange) {
    takers = takers.filter { !range.contains($0.key) }
  }

  /// Writes a characteristic's configuration: subscribes to it, or ends that (4.10, 4.11).
  public func configure(_ cccd: Handle, _ subscription: Subscription) async throws(ATTFailure) {
    try await write(cccd, subscription.bytes)
  }
}
