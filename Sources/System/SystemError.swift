// SPDX-License-Identifier: GPL-3.0-or-later

/// A call to the kernel that failed: which, on what, and why.
public struct SystemError: Error, Hashable, Sendable {
  /// The name of the call, as in `open`.
  public let call: String
  /// Why it failed.
  public let errno: Errno
  /// What it was called on (a path, an address), where that tells more than the call alone.
  public let subject: String?

  public init(_ call: String, _ errno: Errno, on subject: String? = nil) {
    self.call = call
    self.errno = errno
    self.subject = subject
  }

  /// The same error, saying on what.
  public func on(_ subject: String) -> SystemError { SystemError(call, errno, on: subject) }
}

extension SystemError: CustomStringConvertible {
  /// As in `open /var/lib/ancsd/bonds: Permission denied (EACCES)`.
  public var description: String { "\(call)\(subject.map { " " + $0 } ?? ""): \(errno)" }
}

/// Runs `body`; an error out of it says that it was about `subject`.
package func about<Value: ~Copyable>(
  _ subject: String, _ body: () throws(SystemError) -> Value
) throws(SystemError) -> Value {
  do throws(SystemError) { return try body() } catch { throw error.on(subject) }
}
