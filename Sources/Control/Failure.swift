// SPDX-License-Identifier: GPL-3.0-or-later

/// The exit statuses. Their numbers are those of sysexits.h where it has one.
public enum ExitStatus: Int32, Sendable {
  case done = 0
  /// The phone or the peer refused; also `list` and `count` without a match, as with grep.
  case refused = 1
  /// The command line is wrong.
  case usage = 64
  /// A file can't be read.
  case noInput = 66
  /// No daemon, no phone, no Bluetooth in this kernel.
  case unavailable = 69
  /// A bug in the program itself.
  case software = 70
  /// A file can't be written.
  case cannotCreate = 73
  /// Try again later.
  case tryAgain = 75
  case noPermission = 77
  /// A settings file is wrong.
  case badSettings = 78
  /// A clean end upon SIGINT, of which the process dies in the end.
  case interrupted = 130
  /// A clean exit upon SIGTERM.
  case terminated = 143

  /// The status after a signal, by the shell's convention: 128 plus the signal's number.
  public init(signal number: Int32) { self = ExitStatus(rawValue: 128 + number) ?? .terminated }
}

/// Does something whose error becomes another one, for whoever called or for the user.
@discardableResult
@inlinable public func attempt<Value: ~Copyable, Cause: Error, Effect: Error>(
  _ body: @autoclosure () throws(Cause) -> Value, _ effect: (Cause) -> Effect
) throws(Effect) -> Value {
  do throws(Cause) { return try body() } catch { throw effect(error) }
}

/// An error: what failed, why, and what to do about it. It is shown as one line on standard error.
public struct Failure: Error, Hashable, Sendable {
  public var status: ExitStatus
  /// What was tried, as in `connecting to /run/ancsd/control.sock`; empty if the reason is a
  /// complete sentence.
  public var what: String
  public var why: String
  /// What the user can do about it; nil if nothing.
  public var remedy: String?

  public init(_ status: ExitStatus, _ what: String, _ why: String, remedy: String? = nil) {
    self.status = status
    self.what = what
    self.why = why
    self.remedy = remedy
  }

  /// A command line that is wrong, as a sentence: `unexpected argument “extra”`.
  public init(usage sentence: String, remedy: String? = nil) {
    self.init(.usage, "", sentence, remedy: remedy)
  }

  /// Whether this is not a failure: a signal arrived, or the reader of the output has closed it.
  public var isInterruption: Bool { [.done, .interrupted, .terminated].contains(status) }

  /// The line for standard error, without its line end. Text from outside can neither break it in
  /// two nor control the terminal.
  public var line: String { "ancsd: \(sentence)" }

  /// What failed, why, and what to do, on one printable line.
  public var sentence: String {
    // The reason may end with a suggestion: `did you mean name?`
    let link = why.utf8.last == UInt8(ascii: "?") ? " " : "; "
    return "\(what.isEmpty ? "" : what + ": ")\(why)\(remedy.map { link + $0 } ?? "")".printable
  }
}
