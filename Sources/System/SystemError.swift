// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc

/// A failed call to the kernel: which call, on what, and why.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the call, as in `open`.
  public let call: String
  /// Why it failed.
  public let errno: Errno
  /// What the call was about (a path, an address), if the call alone does not tell.
  public let subject: String?

  public init(_ call: String, _ errno: Errno, on subject: String? = nil) {
    self.call = call
    self.errno = errno
    self.subject = subject
  }

  /// The same error with a subject.
  public func on(_ subject: String) -> SystemError { SystemError(call, errno, on: subject) }

  /// As in `open /var/lib/ancsd/bonds: Permission denied (EACCES)`.
  public var description: String { "\(call)\(subject.map { " " + $0 } ?? ""): \(errno)" }
}

/// Runs `body`, and adds `subject` to an error that it throws.
package func about<Value: ~Copyable>(
  _ subject: String, _ body: () throws(SystemError) -> Value
) throws(SystemError) -> Value {
  do throws(SystemError) { return try body() } catch { throw error.on(subject) }
}

/// An error number of the kernel (errno(3)).
public struct Errno: RawRepresentable, Hashable, Sendable, Error, CustomStringConvertible {
  public let rawValue: Int32
  public init(rawValue: Int32) { self.rawValue = rawValue }

  private init(_ number: Int32) { rawValue = number }

  // The numbers of x86, ARM and RISC-V (asm-generic/errno.h). MIPS and SPARC have others.
  public static let notPermitted = Errno(1)  // EPERM
  public static let noSuchFile = Errno(2)  // ENOENT
  public static let interrupted = Errno(4)  // EINTR
  public static let inputOutput = Errno(5)  // EIO
  public static let wouldBlock = Errno(11)  // EAGAIN
  public static let permissionDenied = Errno(13)  // EACCES
  public static let fileExists = Errno(17)  // EEXIST
  public static let noSuchDevice = Errno(19)  // ENODEV
  public static let notDirectory = Errno(20)  // ENOTDIR
  public static let invalidArgument = Errno(22)  // EINVAL
  public static let fileTooLarge = Errno(27)  // EFBIG
  public static let noSpace = Errno(28)  // ENOSPC
  public static let brokenPipe = Errno(32)  // EPIPE
  public static let outOfRange = Errno(34)  // ERANGE
  public static let nameTooLong = Errno(36)  // ENAMETOOLONG
  public static let notImplemented = Errno(38)  // ENOSYS
  public static let tooManyLinks = Errno(40)  // ELOOP
  public static let messageTooLong = Errno(90)  // EMSGSIZE
  public static let protocolNotSupported = Errno(93)  // EPROTONOSUPPORT
  public static let addressFamilyNotSupported = Errno(97)  // EAFNOSUPPORT
  public static let addressInUse = Errno(98)  // EADDRINUSE
  public static let networkDown = Errno(100)  // ENETDOWN
  public static let connectionAborted = Errno(103)  // ECONNABORTED
  public static let connectionReset = Errno(104)  // ECONNRESET
  public static let noBufferSpace = Errno(105)  // ENOBUFS
  public static let notConnected = Errno(107)  // ENOTCONN
  public static let timedOut = Errno(110)  // ETIMEDOUT
  public static let connectionRefused = Errno(111)  // ECONNREFUSED
  public static let hostDown = Errno(112)  // EHOSTDOWN
  public static let noRoute = Errno(113)  // EHOSTUNREACH
  public static let inProgress = Errno(115)  // EINPROGRESS

  /// The symbolic name, as in `ECONNRESET`; `errno 999` for an unknown number.
  public var name: String {
    strerrorname_np(rawValue).map { String(cString: $0) } ?? "errno \(rawValue)"
  }

  /// The C library's text, as in `Connection reset by peer`.
  public var text: String { strerror(rawValue).map { String(cString: $0) } ?? "unknown error" }

  /// Text and name, as in `Connection reset by peer (ECONNRESET)`.
  public var description: String { "\(text) (\(name))" }
}
