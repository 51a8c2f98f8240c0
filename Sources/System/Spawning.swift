// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc

/// A program that this process has started (posix_spawn(3)), and the descriptors to watch it by.
package struct Spawned: ~Copyable {
  /// The process, which is also the leader of a session and process group of its own.
  package let process: Int32
  /// Readable once the process has ended (pidfd_open(2)).
  package let end: FileDescriptor
  /// What it and its children write to standard output and standard error.
  package let output: FileDescriptor

  /// Starts a program in the root directory, without a shell or a search path. Its standard input is a file in memory
  /// with these bytes; its standard output and standard error share one pipe. It inherits no other descriptor, and all
  /// signals have their default actions.
  ///
  /// - Parameter arguments: the program's absolute path, and what follows it.
  package init(_ arguments: [String], environment: [String], input: [UInt8]) throws(SystemError) {
    let input = try Self.file(input)
    var ends: [Int32] = [-1, -1]
    try Syscall.retrying("pipe2") { linux_pipe2(&ends, O_CLOEXEC) }
    let output = FileDescriptor(owning: ends[0])
    let writing = FileDescriptor(owning: ends[1])
    let process = try Self.spawn(arguments, environment, input: input.raw, output: writing.raw)
    let end = try Self.descriptor(of: process)
    self.process = process
    self.end = end
    self.output = output
  }

  private static func descriptor(of process: Int32) throws(SystemError) -> FileDescriptor {
    do throws(SystemError) {
      return try Syscall.opening("pidfd_open") { linux_pidfd_open(process) }
    } catch {
      _ = kill(-process, SIGKILL)
      _ = waitpid(process, nil, 0)
      throw error
    }
  }

  /// A file in memory, to be read from its beginning (memfd_create(2)).
  private static func file(_ bytes: [UInt8]) throws(SystemError) -> FileDescriptor {
    let file = try Syscall.opening("memfd_create") { linux_memfd_create("input") }
    try file.writeAll(bytes)
    try Syscall.retrying("lseek") { lseek(file.raw, 0, SEEK_SET) }
    return file
  }

  /// POSIX_SPAWN_SETSID, under _GNU_SOURCE only.
  private static let newSession: Int32 = 0x80

  private static func spawn(
    _ arguments: [String], _ environment: [String], input: Int32, output: Int32
  ) throws(SystemError) -> Int32 {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    var failures = [
      posix_spawn_file_actions_adddup2(&actions, input, Standard.input),
      posix_spawn_file_actions_adddup2(&actions, output, Standard.output),
      posix_spawn_file_actions_adddup2(&actions, output, Standard.error),
      posix_spawn_file_actions_addclosefrom_np(&actions, 3), posix_spawn_file_actions_addchdir_np(&actions, "/"),
      posix_spawnattr_setsigmask(&attributes, &none), posix_spawnattr_setsigdefault(&attributes, &all),
      posix_spawnattr_setflags(&attributes, Int16(newSession | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)),
    ]
    var process: Int32 = 0
    if failures.allSatisfy({ $0 == 0 }), let path = arguments.first {
      failures = [
        withCStrings(arguments) { arguments in
          withCStrings(environment) { environment in
            posix_spawn(&process, path, &actions, &attributes, arguments, environment)
          }
        }
      ]
    }
    if let failure = failures.first(where: { $0 != 0 }) {
      throw SystemError("posix_spawn", Errno(rawValue: failure), on: arguments.first)
    }
    return process
  }

  /// Sends a signal to the process and to everything it has started in its group.
  package borrowing func signal(_ signal: Signal) { _ = kill(-process, signal.rawValue) }

  /// How the process has ended, once `end` is readable; nil before. This releases its number.
  package borrowing func reap() -> ProcessEnd? {
    var status: Int32 = 0
    let ended = waitpid(process, &status, WNOHANG)
    if ended < 0, errno == ECHILD { return .unknown }
    guard ended == process else { return nil }
    let signal = status & 0x7F
    return signal == 0 ? .exit((status >> 8) & 0xFF) : .signal(Signal(rawValue: signal))
  }
}

/// How a process has ended (wait(2)).
public enum ProcessEnd: Hashable, Sendable, CustomStringConvertible {
  case exit(Int32)
  case signal(Signal)
  /// Somebody else was told how.
  case unknown

  /// As in `ended with status 3` or `was ended by signal 9`.
  public var description: String {
    switch self {
    case .exit(let status): "exited with status \(status)"
    case .signal(let signal): "was killed by signal \(signal.rawValue)"
    case .unknown: "ended in an unknown way"
    }
  }
}

/// Calls `body` with the texts as a list of C strings, with a null pointer at its end.
func withCStrings<Result>(_ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
  let copies = texts.map { strdup($0) }
  defer { for copy in copies { free(copy) } }
  return body(copies + [nil])
}
