// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// A descriptor that the loop watches.
public final class Watch {
  let number: Int32
  let token: UInt64
  private unowned let loop: Loop
  private let handler: (Readiness) -> Void
  private var isCancelled = false

  /// What it is watched for.
  public private(set) var wanted: Readiness

  init(
    _ loop: Loop, _ number: Int32, _ token: UInt64, _ wanted: Readiness,
    _ handler: @escaping (Readiness) -> Void
  ) {
    self.loop = loop
    self.number = number
    self.token = token
    self.wanted = wanted
    self.handler = handler
  }

  /// Watches for `wanted` from now on; nothing: only for errors and the other end's hanging up.
  public func modify(for wanted: Readiness) {
    guard !isCancelled, wanted != self.wanted else { return }
    // Fails only for a descriptor that is not watched (any more).
    do throws(SystemError) { try loop.change(self, to: wanted) } catch { return }
    self.wanted = wanted
  }

  /// Watches no more: the handler is not called again, not even for what was ready already.
  public func cancel() {
    guard !isCancelled else { return }
    isCancelled = true
    loop.forget(self)
  }

  func dispatch(_ ready: Readiness) { handler(ready) }
}

/// The watch over the loop's signals.
final class SignalWatch {
  private let descriptor: SignalDescriptor
  private let handler: (Signal) -> Void
  private var watch: Watch?

  init(_ loop: Loop, _ signals: [Signal], _ handler: @escaping (Signal) -> Void) throws(SystemError)
  {
    descriptor = try SignalDescriptor(signals)
    self.handler = handler
    watch = try loop.watch(descriptor.descriptor, for: .readable) { [unowned self] _ in deliver() }
  }

  func cancel() {
    watch?.cancel()
    watch = nil
  }

  /// A handler may put another in its place: the next signal is that one's.
  private func deliver() {
    while watch != nil, let signal = descriptor.next() { handler(signal) }
  }
}
