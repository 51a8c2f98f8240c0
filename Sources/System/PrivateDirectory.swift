// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc

/// A directory that belongs to one process of one user for the lifetime of this object.
///
/// Keys in it can be trusted only if nobody else could have written them. So it must belong to this process's user,
/// and nobody else may be able to write to it. A symbolic link to such a directory is accepted, as systemd creates
/// them, but none of another user, who could redirect it. A lock keeps out a second process, which would overwrite the
/// files of the first.
public final class PrivateDirectory: Sendable {
  /// Why a directory can't be used.
  public enum Fault: Error, Hashable, Sendable {
    case failed(SystemError)
    /// It belongs to the user with this ID.
    case isAnothers(UInt32)
    /// Its path contains a symbolic link of the user with this ID.
    case isBehindLink(of: UInt32)
    /// Its permissions let others write to it.
    case isOpen(mode: UInt32)
    /// Another process is using it.
    case isTaken
  }

  /// Holds the lock.
  private let descriptor: FileDescriptor

  /// Creates the directory if it is missing, and locks it. Its mode becomes 0700. A directory that can't be used is
  /// left unchanged.
  public init(_ path: String) throws(Fault) {
    descriptor = try Self.checked(path, makes: true)
    // A file system without locks (some network ones) can't tell.
    if (try? descriptor.lock()) == false { throw .isTaken }
    do throws(SystemError) { try descriptor.setMode(0o700, of: path) } catch {
      throw .failed(error)
    }
  }

  /// Throws whatever would prevent a process of one of these users from using a directory, except another process's
  /// lock. The directory is left unchanged.
  public static func check(_ path: String, by users: Set<UInt32> = [geteuid()]) throws(Fault) {
    _ = try checked(path, makes: false, by: users)
  }

  private static func checked(
    _ path: String, makes: Bool, by users: Set<UInt32> = [geteuid()]
  ) throws(Fault) -> FileDescriptor {
    let descriptor = try opened(path, makes: makes, by: users)
    let status: stat
    do throws(SystemError) { status = try descriptor.status(of: path) } catch {
      throw .failed(error)
    }
    guard users.contains(status.st_uid) else { throw .isAnothers(status.st_uid) }
    let mode = status.st_mode & 0o7777
    guard mode & 0o022 == 0 else { throw .isOpen(mode: mode) }
    return descriptor
  }

  private static func opened(_ path: String, makes: Bool, by users: Set<UInt32>) throws(Fault) -> FileDescriptor {
    var stranger: UInt32?
    do throws(SystemError) {
      return try walk(path, makes: makes, trusting: users.union([0]), &stranger)
    } catch { throw stranger.map { .isBehindLink(of: $0) } ?? .failed(error) }
  }

  /// Opens a directory component by component, so nobody can redirect it meanwhile. The target of a link must exist,
  /// since it may be on a disk that is not mounted.
  ///
  /// - Parameters:
  ///   - trusted: the users whose links are followed.
  ///   - stranger: the other user who owns a link on the path.
  private static func walk(
    _ path: String, makes: Bool, trusting trusted: Set<UInt32>, _ stranger: inout UInt32?
  ) throws(SystemError) -> FileDescriptor {
    func open(
      _ name: String, in folder: Int32, _ flags: Int32 = linux_o_path | O_NOFOLLOW
    ) throws(SystemError) -> FileDescriptor {
      try Syscall.opening("open", on: path) { openat(folder, name, flags | O_CLOEXEC) }
    }
    var here = try open(path.hasPrefix("/") ? "/" : ".", in: AT_FDCWD)
    var names = path.split(separator: "/").reversed().map(String.init)
    // The number of components of the path itself that remain after the last link.
    var (links, unlinked) = (0, Int.max)
    while let name = names.popLast() {
      var status = stat()
      if makes, names.count < unlinked, fstatat(here.raw, name, &status, AT_SYMLINK_NOFOLLOW) != 0, errno == ENOENT {
        let (folder, mode): (Int32, mode_t) = (here.raw, names.isEmpty ? 0o700 : 0o755)
        try Syscall.retrying("mkdir", on: path) { mkdirat(folder, name, mode) }
        // If a power cut loses the directory, the files in it are lost too.
        try? open(".", in: folder, O_RDONLY | O_DIRECTORY).sync()
      }
      let next = try open(name, in: here.raw)
      status = try next.status(of: path)
      guard status.st_mode & S_IFMT == S_IFLNK else {
        here = next
        continue
      }
      links += 1
      if !trusted.contains(status.st_uid) { stranger = status.st_uid }
      guard stranger == nil, links <= 40 else { throw SystemError("open", .tooManyLinks, on: path) }
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
