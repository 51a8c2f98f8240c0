// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Fleet
import System
import TOML
import Wire

/// One table `[[forward]]` of the settings: where notifications are sent, which, and how much of them (docs/forward.md).
struct ForwardTarget: Hashable, Sendable {
  /// Its name; without one, its index in the list.
  var name: String
  var destination: Destination
  var conditions = Rule.Conditions()
  var content = ContentLevel.app
  /// Nothing is sent in this span, except what a rule calls urgent.
  var quiet: TimeOfDay.Span?
  /// Older messages are given up.
  var maxAge = Duration.seconds(600)

  /// A URL that Apprise understands.
  enum Destination: Hashable, Sendable {
    case url(String)
    /// The first line of a file that only its owner may read.
    case file(String)
  }

  /// The services whose URLs hold no secret, unless there is a user in them.
  private static let open = ["ntfy", "ntfys", "json", "jsons", "xml", "xmls", "dbus", "syslog"]

  /// Reads the table; nil if it names no destination.
  init?(reading table: inout TableReader, number: Int) {
    let url = table.value("to", expected: "a URL such as \"ntfys://ntfy.sh/my-board\"") { content in
      content.text.flatMap { Self.scheme(of: $0) == nil ? nil : $0 }
    }
    let file = table.absolutePath("to-file")
    if table.has("to"), table.has("to-file") {
      table.fail(of: "to-file", "to and to-file are both set: remove one")
    } else if !table.has("to"), !table.has("to-file") {
      table.fail(of: "to", "this forward has no to: a URL such as \"ntfys://ntfy.sh/my-board\"")
    }
    name = table.text("name") ?? "\(number)"
    let named = url.map(Destination.url) ?? file.map(Destination.file)
    // The other keys are read in any case, so that all faults are found.
    destination = named ?? .file("")
    conditions = Rule.Conditions(reading: &table)
    content = table.contentLevel("content") ?? content
    quiet = table.value("quiet", expected: TimeOfDay.Span.form) {
      $0.text.flatMap(TimeOfDay.Span.init)
    }
    maxAge = table.maxAge("max-age").map { .seconds($0) } ?? maxAge
    if named == nil { return nil }
  }

  /// What is reported before anything was sent.
  var report: ForwardReport {
    switch destination {
    case .url(let url): ForwardReport(name: name, to: Self.scheme(of: url) ?? "")
    case .file(let path): ForwardReport(name: name, to: path)
    }
  }

  /// What the daemon reports while nothing forwards its notifications.
  var absence: ForwardReport {
    var report = report
    report.why = "“ancsd forward” is not running: sudo systemctl enable --now ancsd-forward"
    return report
  }

  /// Tells the destination from others, without what may be secret in it.
  var digest: String {
    var hash = StableHash()
    let text =
      switch destination {
      case .url(let text), .file(let text): text
      }
    hash.combine(Array(text.utf8)[...])
    return String(hash.value, radix: 16)
  }

  /// The destination without what may be secret in it.
  var shown: String { report.shown }

  /// What may be unintended about its destination; nil if nothing is.
  ///
  /// - Parameter file: the settings file that names it.
  func hindrance(in file: String) -> String? {
    guard case .url(let url) = destination, let scheme = Self.scheme(of: url),
      !Self.open.contains(scheme) || url.utf8.contains(UInt8(ascii: "@")),
      (try? Files.isShared(file)) == true
    else { return nil }
    return "others can read this file, and the URL may hold a password or a token: write it into a "
      + "file of mode 0600, and name that with to-file"
  }

  /// The URL itself.
  func url() throws(ForwardFault) -> String {
    let path: String
    switch destination {
    case .url(let url): return url
    case .file(let file): path = file
    }
    let bytes = try attempt(try Files.readUnshared(path, limit: 4_096)) { (error: SystemError) in
      ForwardFault(why: "\(error)")
    }
    guard let bytes else { throw ForwardFault(why: "others can read \(path): chmod 600 \(path)") }
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    let text = String(decoding: line, as: UTF8.self)
    guard Self.scheme(of: text) != nil else {
      throw ForwardFault(why: "the first line of \(path) is not a URL")
    }
    return text
  }

  /// `ntfys` in `ntfys://…`; nil for a text that is not a URL.
  private static func scheme(of text: String) -> String? {
    let name = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
    guard !name.isEmpty, text.dropFirst(name.count).hasPrefix("://"),
      text.utf8.count > name.utf8.count + 3, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
    else { return nil }
    return name.lowercased()
  }
}

/// Why a destination can't be used.
struct ForwardFault: Error { var why: String }
