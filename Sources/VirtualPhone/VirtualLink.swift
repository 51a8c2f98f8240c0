// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A link without a radio: two ends in one program. PDUs sent at one end arrive at the other on a later turn of the
/// loop, in order; they can be delayed, changed or lost.
///
///     phone ──▶ one.send ──▶ (delay, drop, cut) ──▶ other.receive ──▶ daemon
///
/// An end is used like a socket: `send`, `receive`, `onClose`. Both ends belong to one loop.
public final class VirtualLink {
  /// One end of the link.
  public final class End {
    /// Called with each PDU from the other end.
    public var receive: ([UInt8]) -> Void = { _ in }
    /// Called once, on a later turn, when the link has ended, with the reason. PDUs in flight are received first.
    public var onClose: (String) -> Void = { _ in }
    fileprivate weak var link: VirtualLink?
    fileprivate let isFirst: Bool

    fileprivate init(isFirst: Bool) { self.isFirst = isFirst }

    /// Sends a PDU. After the link's end it is lost silently, as over the air.
    public func send(_ pdu: [UInt8]) { link?.carry(pdu, toFirst: !isFirst) }

    /// Ends the link for both ends.
    public func close(_ reason: String = "closed by the other end") { link?.cut(reason) }
  }

  public let one = End(isFirst: true)
  public let other = End(isFirst: false)
  /// Changes a PDU, or loses it (nil); `toOne` is the direction.
  public var transform: (_ pdu: [UInt8], _ toOne: Bool) -> [UInt8]? = { pdu, _ in pdu }
  /// Whether the link is still up.
  public private(set) var isUp = true

  private let scheduler: any Scheduler
  /// The latency in either direction.
  private let delay: Duration
  /// How often the PDUs in flight were lost.
  private var losses = 0

  public init(scheduler: any Scheduler, delay: Duration = .zero) {
    self.scheduler = scheduler
    self.delay = delay
    one.link = self
    other.link = self
  }

  /// Ends the link at once; PDUs in flight are lost.
  public func drop(_ reason: String = "lost") {
    guard isUp else { return }
    losses += 1
    cut(reason)
  }

  private func cut(_ reason: String) {
    guard isUp else { return }
    isUp = false
    put { link in
      link.one.onClose(reason)
      link.other.onClose(reason)
    }
  }

  private func carry(_ pdu: [UInt8], toFirst: Bool) {
    guard isUp, let pdu = transform(pdu, toFirst) else { return }
    put { link in (toFirst ? link.one : link.other).receive(pdu) }
  }

  /// Equal deadlines are met in the order in which they were set. The timer keeps the link alive while PDUs are in
  /// flight, for owners that hold only an end.
  private func put(_ deliver: @escaping (VirtualLink) -> Void) {
    let losses = losses
    _ = scheduler.schedule(after: delay) { if losses == self.losses { deliver(self) } }
  }
}
