// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc

/// A file that is, at every moment and after every crash, the old one or the new one, whole.
///
/// The new content goes to a file beside it and to the disk; only then does it take the name, and
/// the directory that holds the name goes to the disk too. A full disk leaves the old one alone.
public enum AtomicFile {
  /// Puts `bytes` under `path`, with these permissions.
  public static func save(
    _ bytes: [UInt8], to path: String, mode: UInt32 = 0o600
  ) throws(SystemError) {
    let beside = path + ".new"
    do throws(SystemError) {
      try Files.remove(beside)  // left behind by a crash, perhaps with another owner or mode
      try about(beside) { () throws(SystemError) in
        let file = try Syscall.open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
        try Syscall.changeMode(file.raw, mode)  // whatever the umask says
        try file.writeAll(bytes)
        try file.sync()
      }
      try Files.rename(beside, to: path)
    } catch {
      try? Files.remove(beside)
      throw error
    }
    let parent = Files.parent(of: path) ?? "/"
    do throws(SystemError) {
      try Syscall.open(parent, O_RDONLY | O_DIRECTORY).sync()
    } catch {
      // Some file systems cannot sync a directory (9p, vfat): there is no more to be had.
      if error.errno != .invalidArgument { throw error.on(parent) }
    }
  }

  /// Gives an unusable file another name beside it (`NAME.bad`, then `NAME.bad.1` and so on), so
  /// that nothing overwrites it, and answers with that name.
  public static func setAside(_ path: String) throws(SystemError) -> String {
    var name = path + ".bad"
    var number = 0
    while try Files.kind(of: name) != nil {
      number += 1
      name = "\(path).bad.\(number)"
    }
    try Files.rename(path, to: name)
    return name
  }
}
