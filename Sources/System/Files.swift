// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc

/// Operations on files and directories, by path.
public enum Files {
  /// The kind of a file.
  public enum Kind: Hashable, Sendable { case file, directory, socket, other }

  /// The kind of the file at `path`; nil if there is none. Symbolic links are not followed (`other`).
  public static func kind(of path: String) throws(SystemError) -> Kind? {
    do throws(SystemError) {
      switch try status(ofLink: path).st_mode & S_IFMT {
      case S_IFREG: return .file
      case S_IFDIR: return .directory
      case S_IFSOCK: return .socket
      default: return .other
      }
    } catch {
      if error.errno == .noSuchFile || error.errno == .notDirectory { return nil }
      throw error
    }
  }

  /// The path from the root directory, for programs that run in another one.
  public static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return "\(String(cString: folder))/\(path)"
  }

  /// The path without symbolic links in its directory's part; unchanged if there is no such directory.
  public static func resolvingFolder(of path: String) -> String {
    guard let folder = try? target(of: parent(of: path) ?? ".") else { return path }
    return "\(folder)/\(path.split(separator: "/").last ?? "")"
  }

  static func status(ofLink path: String) throws(SystemError) -> stat {
    var status = stat()
    try Syscall.retrying("lstat", on: path) { lstat(path, &status) }
    return status
  }

  /// Opens a file for reading. If not `waits`, reading from a device does not block.
  public static func open(_ path: String, waits: Bool = true) throws(SystemError) -> FileDescriptor {
    try open(path, waits ? O_RDONLY : O_RDONLY | O_NONBLOCK)
  }

  static func open(_ path: String, _ flags: Int32, mode: UInt32 = 0) throws(SystemError) -> FileDescriptor {
    try Syscall.opening("open", on: path) { Glibc.open(path, flags | O_CLOEXEC | O_NOCTTY, mode) }
  }

  /// Opens a file for writing: emptied if it exists, and with exactly this mode in any case.
  ///
  /// The content may be private while other users can write to the directory (/tmp). So it follows no symbolic link,
  /// and refuses files of other users, files with several names, and pipes, which could block. A character device,
  /// such as /dev/null, is opened as is.
  ///
  /// - Parameter beginning: the first bytes of each file that this program writes there. Any other file is refused with
  ///   EEXIST and left unchanged, unless it is empty; nil: every file is replaced.
  public static func create(
    _ path: String, mode: UInt32 = 0o600, ifBegins beginning: [UInt8]? = nil
  ) throws(SystemError) -> FileDescriptor {
    let file = try openOwn(path, mode: mode, beginning)
    if try file.status(of: path).st_mode & S_IFMT == S_IFREG { try file.truncate(to: 0) }
    return file
  }

  /// Opens a file for reading and appending, under the same conditions as `create`.
  public static func openToContinue(
    _ path: String, mode: UInt32 = 0o600, ifBegins beginning: [UInt8]? = nil
  ) throws(SystemError) -> FileDescriptor { try openOwn(path, mode: mode, beginning) }

  /// Throws EEXIST if `create` would do so for these first bytes; other obstacles are left to it.
  public static func check(_ path: String, begins beginning: [UInt8]) throws(SystemError) {
    guard let file = try? open(path, O_RDONLY | O_NONBLOCK), (try? file.status(of: path).st_mode & S_IFMT) == S_IFREG
    else { return }
    try check(file, of: path, begins: beginning)
  }

  private static func check(
    _ file: borrowing FileDescriptor, of path: String, begins beginning: [UInt8]
  ) throws(SystemError) {
    let start = try file.read(beginning.count, at: 0)
    guard start.isEmpty || start == beginning else {
      throw SystemError("open", .fileExists, on: path)
    }
  }

  private static func openOwn(
    _ path: String, mode: UInt32, _ beginning: [UInt8]?
  ) throws(SystemError) -> FileDescriptor {
    let file = try openSafely(path, O_RDWR | O_APPEND | O_CREAT, mode: mode)
    let status = try file.status(of: path)
    guard status.st_mode & S_IFMT == S_IFREG else { return file }
    guard status.st_uid == geteuid() else {
      throw SystemError("open", .notPermitted, on: "\(path) (another user's file)")
    }
    guard status.st_nlink == 1 else {
      throw SystemError("open", .notPermitted, on: "\(path) (a file with another hard link)")
    }
    if let beginning { try check(file, of: path, begins: beginning) }
    try file.setMode(mode, of: path)
    return file
  }

  /// Opens a regular file or a character device, but no symbolic link or pipe.
  private static func openSafely(
    _ path: String, _ flags: Int32, mode: UInt32 = 0
  ) throws(SystemError) -> FileDescriptor {
    let file: FileDescriptor
    do throws(SystemError) {
      file = try open(path, flags | O_NOFOLLOW | O_NONBLOCK, mode: mode)
    } catch {
      guard error.errno == .tooManyLinks else { throw error }
      throw error.on("\(path) (a symbolic link)")
    }
    guard [S_IFREG, S_IFCHR].contains(try file.status(of: path).st_mode & S_IFMT) else {
      throw SystemError("open", .invalidArgument, on: "\(path) (not a regular file)")
    }
    return file
  }

  /// Reads a whole private file, without following a symbolic link and without blocking. Its mode becomes 0600 if it
  /// gives others access. Throws EFBIG if it has more than `limit` bytes.
  public static func readPrivate(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
    let file = try openSafely(path, O_RDONLY)
    if try file.status(of: path).st_mode & 0o077 != 0 { try file.setMode(0o600, of: path) }
    return try about(path) { () throws(SystemError) in try file.readAll(limit: limit) }
  }

  /// Whether the mode of a file or directory lets others than its owner read it.
  public static func isShared(_ path: String) throws(SystemError) -> Bool {
    try open(path).status(of: path).st_mode & 0o077 != 0
  }

  /// Reads a whole file that only its owner may read; nil if its mode lets others read it. Throws EFBIG if it has more
  /// than `limit` bytes.
  public static func readUnshared(_ path: String, limit: Int) throws(SystemError) -> [UInt8]? {
    let file = try open(path)
    guard try file.status(of: path).st_mode & 0o077 == 0 else { return nil }
    return try about(path) { () throws(SystemError) in try file.readAll(limit: limit) }
  }

  /// Reads a whole file. Throws EFBIG if it has more than `limit` bytes.
  public static func read(_ path: String, limit: Int = 1 << 24) throws(SystemError) -> [UInt8] {
    let file = try open(path)
    return try about(path) { () throws(SystemError) in try file.readAll(limit: limit) }
  }

  /// Reads a whole file that configures this process; nil if anybody except root and this process's user can write to
  /// it. Throws EFBIG if it has more than `limit` bytes.
  public static func readTrusted(_ path: String, limit: Int) throws(SystemError) -> [UInt8]? {
    let file = try open(path)
    let status = try file.status(of: path)
    let isRegular = status.st_mode & S_IFMT == S_IFREG
    guard !isRegular || status.st_mode & 0o022 == 0 && [0, geteuid()].contains(status.st_uid) else {
      return nil
    }
    return try about(path) { () throws(SystemError) in try file.readAll(limit: limit) }
  }

  /// The names in a directory, sorted.
  public static func names(in path: String) throws(SystemError) -> [String] {
    guard let directory = opendir(path) else {
      throw SystemError("opendir", Errno(rawValue: errno), on: path)
    }
    defer { closedir(directory) }
    var names: [String] = []
    errno = 0
    while let entry = readdir(directory) {
      names.append(text(in: entry.pointee.d_name))
      errno = 0
    }
    if errno != 0 { throw SystemError("readdir", Errno(rawValue: errno), on: path) }
    return names.filter { $0 != "." && $0 != ".." }.sorted()
  }

  /// Creates a directory with `mode`, and its missing parents with 0755. An existing one is left alone.
  public static func makeDirectory(_ path: String, mode: UInt32 = 0o755) throws(SystemError) {
    do throws(SystemError) { try Syscall.retrying("mkdir", on: path) { mkdir(path, mode) } } catch {
      switch error.errno {
      // It exists, perhaps behind a symbolic link, and this user may be unable to enter it.
      case .fileExists:
        guard try status(of: path).st_mode & S_IFMT != S_IFDIR else { return }
        throw SystemError("mkdir", .notDirectory, on: path)
      case .noSuchFile:
        guard let parent = parent(of: path), parent != path else { throw error }
        try makeDirectory(parent)
        try Syscall.retrying("mkdir", on: path) { mkdir(path, mode) }
      default: throw error
      }
    }
    // If a power cut loses the directory, the files in it are lost too.
    try? AtomicFile.flushFolder(of: path)
  }

  /// Creates a directory that only this user may enter, under TMPDIR or /tmp, and returns its path.
  public static func makeTemporaryDirectory(named name: String) throws(SystemError) -> String {
    let parent = Host.variable("TMPDIR").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
    var path = Array("\(parent)/\(name).XXXXXX".utf8CString)
    guard mkdtemp(&path) != nil else {
      throw SystemError("mkdtemp", Errno(rawValue: errno), on: parent)
    }
    return String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Whether `path` is a regular file, or a symbolic link to one. It is not opened, which the writer of a pipe would notice.
  public static func isRegular(_ path: String) -> Bool {
    (try? status(of: path).st_mode & S_IFMT) == S_IFREG
  }

  private static func status(of path: String) throws(SystemError) -> stat {
    var status = stat()
    try Syscall.retrying("stat", on: path) { stat(path, &status) }
    return status
  }

  /// The owner of a file or directory; nil if it does not exist or can't be accessed.
  public static func owner(of path: String) -> UInt32? { (try? status(ofLink: path))?.st_uid }

  /// Throws if this process may not read, write and search a directory (access(2)).
  public static func checkAccess(_ path: String) throws(SystemError) {
    try Syscall.retrying("access", on: path) { access(path, R_OK | W_OK | X_OK) }
  }

  /// The file that a path leads to, without symbolic links (realpath(3)).
  public static func target(of path: String) throws(SystemError) -> String {
    guard let target = realpath(path, nil) else {
      throw SystemError("realpath", Errno(rawValue: errno), on: path)
    }
    defer { free(target) }
    return String(cString: target)
  }

  /// Throws if this process may not run a program (access(2)).
  public static func checkRunnable(_ path: String) throws(SystemError) {
    try Syscall.retrying("access", on: path) { access(path, X_OK) }
  }

  /// Renames a file, replacing an existing one.
  public static func rename(_ old: String, to new: String) throws(SystemError) {
    try Syscall.retrying("rename", on: "\(old) to \(new)") { Glibc.rename(old, new) }
  }

  /// Removes a file, if it exists.
  public static func remove(_ path: String) throws(SystemError) {
    do throws(SystemError) { try Syscall.retrying("unlink", on: path) { unlink(path) } } catch {
      if error.errno != .noSuchFile { throw error }
    }
  }

  /// The parent directory of a path; nil for the root.
  public static func parent(of path: String) -> String? {
    if !path.isEmpty, path.utf8.allSatisfy({ $0 == UInt8(ascii: "/") }) { return nil }
    var copy = Array(path.utf8CString)
    return copy.withUnsafeMutableBufferPointer { String(cString: dirname($0.baseAddress)) }
  }
}

/// The new content of a file, which is on the disk beside it and has not replaced it yet.
public struct NewFile: Sendable {
  /// Where the new content is.
  public let path: String
  /// The file to be replaced.
  private let target: String
  private let isFlushed: Bool

  /// Prepares the new content of a file that belongs to somebody else: it gets the mode and the owner of the old one.
  /// If the path is a symbolic link, the file that it leads to is replaced, not the link.
  ///
  /// - Parameter newMode: the mode of a file that did not exist.
  public init(_ bytes: [UInt8], replacing path: String, newMode: UInt32) throws(SystemError) {
    guard try Files.kind(of: path) != nil else {
      try self.init(bytes, besides: path, mode: newMode, owner: nil)
      return
    }
    let target = try Files.target(of: path)
    let status = try Files.status(ofLink: target)
    try self.init(bytes, besides: target, mode: status.st_mode & 0o7777, owner: (status.st_uid, status.st_gid))
  }

  fileprivate init(
    _ bytes: [UInt8], besides target: String, mode: UInt32, owner: (user: UInt32, group: UInt32)?,
    isFlushed: Bool = true
  ) throws(SystemError) {
    let path = target + ".new"
    (self.path, self.target, self.isFlushed) = (path, target, isFlushed)
    do throws(SystemError) {
      try Files.remove(path)  // left by a crash, perhaps with another owner or mode
      try about(path) { () throws(SystemError) in
        let file = try Files.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
        if let owner { try file.setOwner(owner, of: path) }
        try file.setMode(mode, of: path)  // whatever the umask says
        try file.writeAll(bytes)
        if isFlushed { try file.sync() }
      }
    } catch {
      discard()
      throw error
    }
  }

  /// Replaces the file.
  public func commit() throws(SystemError) {
    do throws(SystemError) { try Files.rename(path, to: target) } catch {
      discard()
      throw error
    }
    if isFlushed { try AtomicFile.flushFolder(of: target) }
  }

  /// Removes the new content.
  public func discard() { try? Files.remove(path) }
}

/// Replaces files atomically: at any moment, and after any crash, either the old or the new content is complete.
///
/// The new content is written to a second file and flushed to the disk. Then that file is renamed, and
/// the directory is flushed. If the disk is full, the old file stays.
public enum AtomicFile {
  /// Replaces the file at `path`.
  ///
  /// - Parameter isFlushed: if false, the file may be damaged after a power failure, and no disk is waited for.
  public static func save(
    _ bytes: [UInt8], to path: String, mode: UInt32 = 0o600, isFlushed: Bool = true
  ) throws(SystemError) {
    try NewFile(bytes, besides: path, mode: mode, owner: nil, isFlushed: isFlushed).commit()
  }

  /// Removes the file at `path` if it exists, durably: it does not reappear after a crash.
  public static func remove(_ path: String) throws(SystemError) {
    guard try Files.kind(of: path) != nil else { return }
    try Files.remove(path)
    try flushFolder(of: path)
  }

  fileprivate static func flushFolder(of path: String) throws(SystemError) {
    let parent = Files.parent(of: path) ?? "/"
    do throws(SystemError) {
      try Files.open(parent, O_RDONLY | O_DIRECTORY).sync()
    } catch {
      // Some file systems cannot flush a directory (9p, vfat).
      if error.errno != .invalidArgument { throw error.on(parent) }
    }
  }

  /// Renames an unusable file to `NAME.bad`, `NAME.bad.1` and so on, so that it is not overwritten.
  ///
  /// - Returns: the new name.
  public static func setAside(_ path: String) throws(SystemError) -> String {
    var name = path + ".bad"
    var number = 0
    while try Files.kind(of: name) != nil {
      number += 1
      name = "\(path).bad.\(number)"
    }
    try Files.rename(path, to: name)
    try? flushFolder(of: path)
    return name
  }
}
