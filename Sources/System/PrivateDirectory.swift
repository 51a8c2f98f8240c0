// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc

/// A directory that one process of one user has to itself, for as long as this object lives.
///
/// Keys in it are safe only if nobody else could have put them there. So it has to belong to this process's
/// user, and nobody else may have been able to write to it. A symbolic link to such a directory will do, as systemd
/// makes them, but none of another user, who could lead it elsewhere. A lock keeps a second process out that would overwrite what the first one saves.
public final class PrivateDirectory: Sendable {
  /// Why a directory can't be had.
  public enum Fault: Error, Hashable, Sendable {
    case failed(SystemError)
    /// It belongs to the user with this ID.
    case isAnothers(UInt32)
    /// Its path goes through a symbolic link of the user with this ID.
    case isBehindLink(of: UInt32)
    /// Its permissions let others write to it.
    case isOpen(mode: UInt32)
    /// Another process has it.
    case isTaken
  }

  /// Has the lock.
  private let descriptor: FileDescriptor

  /// Makes the directory if it is missing, and takes it. Its mode becomes 0700. One that can't be had is left as it
  /// is.
  public init(_ path: String) throws(Fault) {
    descriptor = try Self.checked(path, makes: true)
    // A file system without locks (some network ones) can't tell.
    if (try? descriptor.lock()) == false { throw .isTaken }
    do throws(SystemError) { try descriptor.setMode(0o700, of: path) } catch {
      throw .failed(error)
    }
  }

  /// Throws what would prevent this process from having a directory, but for another that has it. It is left as
  /// it is.
  public static func check(_ path: String) throws(Fault) { _ = try checked(path, makes: false) }

  private static func checked(_ path: String, makes: Bool) throws(Fault) -> FileDescriptor {
    let descriptor = try opened(path, makes: makes)
    let status: stat
    do throws(SystemError) { status = try descriptor.status(of: path) } catch {
      throw .failed(error)
    }
    guard status.st_uid == geteuid() else { throw .isAnothers(status.st_uid) }
    let mode = status.st_mode & 0o7777
    guard mode & 0o022 == 0 else { throw .isOpen(mode: mode) }
    return descriptor
  }

  private static func opened(_ path: String, makes: Bool) throws(Fault) -> FileDescriptor {
    var stranger: UInt32?
    do throws(SystemError) { return try walk(path, makes: makes, &stranger) } catch {
      throw stranger.map { .isBehindLink(of: $0) } ?? .failed(error)
    }
  }

  /// Opens a directory name by name, so that nobody leads it elsewhere meanwhile. What a link leads to has to be
  /// there: it may be on a disk that is missing.
  ///
  /// - Parameter stranger: the other user to whom a link on the way belongs; it is not followed.
  private static func walk(
    _ path: String, makes: Bool, _ stranger: inout UInt32?
  ) throws(SystemError) -> FileDescriptor {
    func open(
      _ name: String, in folder: Int32, _ flags: Int32 = linux_o_path | O_NOFOLLOW
    ) throws(SystemError) -> FileDescriptor {
      try Syscall.opening("open", on: path) { openat(folder, name, flags | O_CLOEXEC) }
    }
    var here = try open(path.hasPrefix("/") ? "/" : ".", in: AT_FDCWD)
    var names = path.split(separator: "/").reversed().map(String.init)
    // How many names of the path itself are left behind the last link.
    var (links, unlinked) = (0, Int.max)
    while let name = names.popLast() {
      var status = stat()
      if makes, names.count < unlinked,
        fstatat(here.raw, name, &status, AT_SYMLINK_NOFOLLOW) != 0, errno == ENOENT
      {
        let (folder, mode): (Int32, mode_t) = (here.raw, names.isEmpty ? 0o700 : 0o755)
        try Syscall.retrying("mkdir", on: path) { mkdirat(folder, name, mode) }
        // What is saved in it is worth nothing if a power cut takes the directory.
        try? open(".", in: folder, O_RDONLY | O_DIRECTORY).sync()
      }
      let next = try open(name, in: here.raw)
      status = try next.status(of: path)
      guard status.st_mode & S_IFMT == S_IFLNK else {
        here = next
        continue
      }
      links += 1
      if ![0, geteuid()].contains(status.st_uid) { stranger = status.st_uid }
      guard stranger == nil, links <= 40 else {
        throw SystemError("open", .tooManyLinks, on: path)
      }
      unlinked = min(unlinked, names.count)
      let target = try target(of: next.raw, path)
      names += target.split(separator: "/").reversed().map(String.init)
      if target.hasPrefix("/") { here = try open("/", in: AT_FDCWD) }
    }
    return try open(".", in: here.raw, O_RDONLY | O_DIRECTORY)
  }

  private static func target(of link: Int32, _ path: String) throws(SystemError) -> String {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = try Syscall.retrying("readlink", on: path) {
      readlinkat(link, "", &bytes, bytes.count)
    }
    return String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
