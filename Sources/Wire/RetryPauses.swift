// SPDX-License-Identifier: GPL-3.0-or-later

/// The pauses between attempts at something that fails: 1, 2, 4 … seconds, each with up to half of it more or less.
public struct RetryPauses: Sendable {
  private let longest: Duration
  /// Random jitter from 0 to 1, so the boards of a site do not all connect at once.
  private let jitter: @Sendable () -> Double

  public init(longest: Duration, jitter: @escaping @Sendable () -> Double) {
    self.longest = longest
    self.jitter = jitter
  }

  /// - Parameter failures: the number of consecutive failed attempts, at least 1.
  public func pause(after failures: Int) -> Duration {
    let usual = min(.seconds(1 << min(max(failures - 1, 0), 16)), longest)
    return min(usual * (0.5 + jitter()), longest)
  }
}
