// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A link without a radio: two ends in one program, and what is put in at one end comes out at the
/// other on a later turn of the loop, in order, after a delay, or not at all, as told.
///
///     phone ──▶ one.send ──▶ (delay, drop, cut) ──▶ other.receive ──▶ daemon
///
/// An end is handed over like a socket: `send` takes a PDU, `receive` gets one, `onClose` hears of
/// the end. Both ends belong to one loop.
public final class VirtualLink {
  /// One end of the link.
  public final class End {
    /// Gets the PDUs from the other end.
    public var receive: ([UInt8]) -> Void = { _ in }
    /// Called once, on a later turn, when the link is gone; with the reason in words. PDUs that were
    /// under way before are received first.
    public var onClose: (String) -> Void = { _ in }
    fileprivate weak var link: VirtualLink?
    fileprivate let isFirst: Bool

    fileprivate init(isFirst: Bool) { self.isFirst = isFirst }

    /// Puts a PDU in. Once the link is gone it is lost without a word, as on the air.
    public func send(_ pdu: [UInt8]) { link?.carry(pdu, toFirst: !isFirst) }

    /// Ends the link; both ends hear of it.
    public func close(_ reason: String = "closed by the other end") { link?.cut(reason) }
  }

  public let one = End(isFirst: true)
  public let other = End(isFirst: false)
  /// How long a PDU is under way, either way.
  public var delay: Duration = .zero
  /// Says what becomes of a PDU (nil: it is lost); `toOne` tells the direction.
  public var transform: (_ pdu: [UInt8], _ toOne: Bool) -> [UInt8]? = { pdu, _ in pdu }
  /// Whether the link is still there.
  public private(set) var isUp = true
  /// How many PDUs were put in, in both directions.
  public private(set) var carried = 0

  private let scheduler: any Scheduler
  private var underWay: [(due: Instant, deliver: () -> Void)] = []
  private var isScheduled = false
  /// How often what was under way was lost.
  private var losses = 0

  public init(scheduler: any Scheduler, delay: Duration = .zero) {
    self.scheduler = scheduler
    self.delay = delay
    one.link = self
    other.link = self
  }

  /// Ends the link at once: what is under way is lost.
  public func drop(_ reason: String = "lost") {
    guard isUp else { return }
    underWay = []
    losses += 1
    cut(reason)
  }

  private func cut(_ reason: String) {
    guard isUp else { return }
    isUp = false
    put { [one, other] in
      one.onClose(reason)
      other.onClose(reason)
    }
  }

  private func carry(_ pdu: [UInt8], toFirst: Bool) {
    guard isUp else { return }
    carried += 1
    guard let pdu = transform(pdu, toFirst) else { return }
    let end = toFirst ? one : other
    put { end.receive(pdu) }
  }

  private func put(_ deliver: @escaping () -> Void) {
    // A PDU never overtakes another, also when the delay was made shorter meanwhile.
    let due = max(scheduler.now + delay, underWay.last?.due ?? .zero)
    underWay.append((due, deliver))
    scheduleNext()
  }

  private func scheduleNext() {
    guard !isScheduled, let due = underWay.first?.due else { return }
    isScheduled = true
    // The timer holds the link: who holds an end need not hold the link as well while PDUs move.
    _ = scheduler.schedule(at: due) { self.deliverDue() }
  }

  private func deliverDue() {
    isScheduled = false
    let now = scheduler.now
    let ready = underWay.prefix { $0.due <= now }
    underWay.removeFirst(ready.count)
    let losses = self.losses
    for item in ready {
      item.deliver()
      if losses != self.losses { break }
    }
    scheduleNext()
  }
}
