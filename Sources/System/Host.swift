// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc
public import Wire

/// The machine, the process and its environment.
public enum Host {
  /// The host's name, or `localhost`.
  public static var name: String {
    let name = text(in: system.nodename)
    return name.isEmpty ? "localhost" : name
  }

  /// The kernel's release, as in `6.1.0-56-amd64`.
  public static var kernelRelease: String { text(in: system.release) }

  /// The kernel's build, as in `#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-11-01)`.
  public static var kernelBuild: String { text(in: system.version) }

  /// The kernel's version; nil if neither names it.
  public static var kernelVersion: KernelVersion? {
    KernelVersion(release: kernelRelease, build: kernelBuild)
  }

  private static var system: utsname {
    var names = utsname()
    _ = uname(&names)
    return names
  }

  /// The kernel's log (syslog(2)); nil if this user may not read it.
  public static var kernelLog: String? {
    let (readAll, sizeOfBuffer): (Int32, Int32) = (3, 10)
    let size = klogctl(sizeOfBuffer, nil, 0)
    guard size > 0 else { return nil }
    var bytes = [CChar](repeating: 0, count: Int(size))
    let count = klogctl(readAll, &bytes, size)
    guard count >= 0 else { return nil }
    return String(decoding: bytes.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The file descriptors of this process have numbers below this one (RLIMIT_NOFILE).
  public static var descriptorLimit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
    return Int(clamping: limit.rlim_cur)
  }

  /// The value of an environment variable.
  public static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// The environment, as `NAME=value`.
  public static var environment: [String] {
    var entries: [String] = []
    var next = environ
    while let entry = next.pointee {
      entries.append(String(cString: entry))
      next += 1
    }
    return entries
  }

  /// Removes a variable from the environment, so started programs don't inherit it; returns its value.
  public static func takeVariable(_ name: String) -> String? {
    defer { unsetenv(name) }
    return variable(name)
  }

  /// The path of this program; nil if unknown.
  public static var programPath: String? { try? Files.target(of: "/proc/self/exe") }

  /// Replaces this program by another (execv(3)); returns only by throwing.
  ///
  /// - Parameter arguments: the program's path, and its arguments.
  public static func become(_ arguments: [String]) throws(SystemError) {
    if let path = arguments.first { _ = withCStrings(arguments) { execv(path, $0) } }
    throw SystemError("execv", Errno(rawValue: errno), on: arguments.first)
  }

  /// The resident memory of this process in bytes (proc(5), /proc/pid/statm); nil without /proc.
  public static var residentMemory: Int64? {
    guard let bytes = try? Files.read("/proc/self/statm") else { return nil }
    let fields = bytes.split(separator: UInt8(ascii: " "))
    guard fields.count > 1, let pages = Int64(String(decoding: fields[1], as: UTF8.self)) else {
      return nil
    }
    return pages * Int64(sysconf(CInt(_SC_PAGESIZE)))
  }

  /// The number of this process.
  public static var processID: Int32 { getpid() }

  /// The effective user ID; 0 is root.
  public static var userID: UInt32 { geteuid() }

  /// The ID of a group in /etc/group (group(5)); nil if it is not listed.
  ///
  /// The C library is not used: a static program cannot load its name services.
  public static func groupID(named name: String, in path: String = "/etc/group") -> UInt32? {
    id(named: name, in: path)
  }

  /// The ID of a user in /etc/passwd (passwd(5)); nil if they are not listed.
  public static func userID(named name: String, in path: String = "/etc/passwd") -> UInt32? {
    id(named: name, in: path)
  }

  /// The third field of the line that begins with a name.
  private static func id(named name: String, in path: String) -> UInt32? {
    guard let bytes = try? Files.read(path) else { return nil }
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      if fields.count >= 3, fields[0].elementsEqual(name.utf8) {
        return UInt32(String(decoding: fields[2], as: UTF8.self))
      }
    }
    return nil
  }

  /// Ends the process.
  public static func exit(_ status: Int32) -> Never { Glibc.exit(status) }
}

/// The version of a Linux kernel.
public struct KernelVersion: Hashable, Comparable, Sendable {
  public let major: Int
  public let minor: Int
  /// The patch level: 47 in `6.12.47`.
  public let patch: Int
  /// The distribution's number in place of the patch level: 56 in `6.1.0-56-amd64`; otherwise 0.
  public let revision: Int

  public init(_ major: Int, _ minor: Int, _ patch: Int, revision: Int = 0) {
    (self.major, self.minor, self.patch, self.revision) = (major, minor, patch, revision)
  }

  /// Reads what uname(2) reports; nil if that names no version.
  ///
  /// - Parameters:
  ///   - release: as in `6.12.47+rpt-rpi-v8`. Debian's does not always have the patch level.
  ///   - build: as in `#1 SMP PREEMPT Debian 1:6.12.47-1+rpt1 (2025-09-16)`, where the package's version has it, perhaps
  ///     behind an epoch.
  public init?(release: String, build: String) {
    let package = build.split(separator: " ").drop { $0 != "Debian" }.dropFirst().first
    let name = package?.split(separator: ":").last ?? release[...]
    let numbers = name.split { !$0.isNumber }.map { Int($0) ?? 0 }
    guard numbers.count >= 3 else { return nil }
    let revision = numbers[2] == 0 && numbers.count > 3 ? numbers[3] : 0
    self.init(numbers[0], numbers[1], numbers[2], revision: revision)
  }

  /// Whether both are of one series, as 6.12.
  public func isOfSeries(_ other: KernelVersion) -> Bool {
    (major, minor) == (other.major, other.minor)
  }

  public static func < (one: KernelVersion, other: KernelVersion) -> Bool {
    (one.major, one.minor, one.patch, one.revision) < (other.major, other.minor, other.patch, other.revision)
  }
}

/// The text in an array of characters that ends at the first zero.
func text<Field>(in field: Field) -> String {
  withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

/// The clock that never jumps (CLOCK_MONOTONIC). It stops while the system sleeps.
public enum MonotonicClock {
  public static var now: Instant {
    let time = read(CLOCK_MONOTONIC)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}

extension WallTime {
  /// The time now, by the system's clock, which may jump.
  public static var now: WallTime {
    let time = read(CLOCK_REALTIME)
    return WallTime(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec))
  }

  /// Seconds that the board's own zone (TZ, /etc/localtime) is ahead of UTC at this time.
  public var zoneOffset: Int {
    var (time, local) = (time_t(clamping: seconds), tm())
    return localtime_r(&time, &local) == nil ? 0 : local.tm_gmtoff
  }
}

/// Can't fail for the clocks that every Linux has.
private func read(_ clock: clockid_t) -> timespec {
  var time = timespec()
  _ = clock_gettime(clock, &time)
  return time
}

/// A signal, by its number (signal(7)).
public struct Signal: RawRepresentable, Hashable, Sendable {
  public let rawValue: Int32
  public init(rawValue: Int32) { self.rawValue = rawValue }

  public static let interrupt = Signal(rawValue: SIGINT)
  public static let terminate = Signal(rawValue: SIGTERM)
  public static let kill = Signal(rawValue: SIGKILL)
  public static let hangUp = Signal(rawValue: SIGHUP)
  public static let windowChange = Signal(rawValue: SIGWINCH)
  public static let continued = Signal(rawValue: SIGCONT)
  public static let pipe = Signal(rawValue: SIGPIPE)
  public static let terminalInput = Signal(rawValue: SIGTTIN)

  /// A child has ended.
  public static let childEnded = Signal(rawValue: SIGCHLD)

  /// Restores the signal's default effect, since the parent process may have ignored it.
  public func restore() { _ = signal(rawValue, SIG_DFL) }

  /// Ends the process by the signal's default effect, so that a shell that waits for it learns of the signal.
  public func end() {
    restore()
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, rawValue)
    sigprocmask(SIG_UNBLOCK, &set, nil)
    raise(rawValue)
  }

  /// Ignores the signal in the whole process.
  public func ignore() { _ = signal(rawValue, SIG_IGN) }
}

/// Terminals.
public enum Terminal {
  /// Whether the descriptor with this number is a terminal.
  public static func isTerminal(_ number: Int32) -> Bool { isatty(number) == 1 }

  /// Makes the C library treat text as UTF-8, whatever the environment says; libraries that draw on the terminal use
  /// that.
  public static func useUTF8() { linux_use_utf8() }

  /// Columns and rows; nil if the descriptor is no terminal or its size is unknown.
  public static func size(_ number: Int32 = Standard.output) -> (columns: Int, rows: Int)? {
    var size = winsize()
    guard ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return nil
    }
    return (Int(size.ws_col), Int(size.ws_row))
  }
}
