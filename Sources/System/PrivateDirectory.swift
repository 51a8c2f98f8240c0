// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc

/// A directory that one process of one user has to itself, for as long as this object lives.
///
/// Keys in it are safe only if nobody else could have put them there. So it has to belong to this process's
/// user, and nobody else may have been able to write to it; a symbolic link to such a directory will do, as
/// systemd makes them. A lock keeps a second process out that would overwrite what the first one saves.
public final class PrivateDirectory: Sendable {
  /// Why a directory can't be had.
  public enum Fault: Error, Hashable, Sendable {
    case failed(SystemError)
    /// It belongs to the user with this ID.
    case isAnothers(UInt32)
    /// Its permissions let others write to it.
    case isOpen(mode: UInt32)
    /// Another process has it.
    case isTaken
  }

  /// Has the lock.
  private let descriptor: FileDescriptor

  /// Makes the directory if it is missing, and takes it. Its mode becomes 0700.
  public init(_ path: String) throws(Fault) {
    do throws(SystemError) { try Files.makeDirectory(path, mode: 0o700) } catch {
      throw .failed(error)
    }
    descriptor = try Self.checked(path)
    do throws(SystemError) { try descriptor.setMode(0o700, of: path) } catch {
      throw .failed(error)
    }
    // A file system without locks (some network ones) can't tell.
    if (try? descriptor.lock()) == false { throw .isTaken }
  }

  /// Throws what would prevent this process from having a directory, but for another that has it. It is left as
  /// it is.
  public static func check(_ path: String) throws(Fault) { _ = try checked(path) }

  private static func checked(_ path: String) throws(Fault) -> FileDescriptor {
    let descriptor = try opened(path)
    let status: stat
    do throws(SystemError) { status = try descriptor.status(of: path) } catch {
      throw .failed(error)
    }
    guard status.st_uid == geteuid() else { throw .isAnothers(status.st_uid) }
    let mode = status.st_mode & 0o7777
    guard mode & 0o022 == 0 else { throw .isOpen(mode: mode) }
    return descriptor
  }

  private static func opened(_ path: String) throws(Fault) -> FileDescriptor {
    do throws(SystemError) {
      return try Files.open(path, O_RDONLY | O_DIRECTORY)
    } catch {
      throw .failed(error)
    }
  }
}
