// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

extension Client {
  /// Subscribes to notifications, and insists on it: phones were seen to refuse it right after a
  /// connection, and to take it a little later.
  ///
  /// - Parameters:
  ///   - tries: how often it is tried.
  ///   - pause: the time after the first try; doubled each time.
  /// - Throws: the last refusal, or the end of the link.
  public func insistOnNotifications(
    _ cccd: Handle, tries: Int = 3, pause: Duration = .seconds(1)
  ) async throws(ATTFailure) {
    var pause = pause
    for _ in 1..<max(1, tries) {
      do {
        return try await configure(cccd, .notifications)
      } catch {
        guard error.code != nil else { throw error }
      }
      try await bearer.sleep(for: pause)
      pause = pause + pause
    }
    try await configure(cccd, .notifications)
  }
}
