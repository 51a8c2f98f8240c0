// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Capture
import Control
import Picture
import System

/// Writes the page of `--html`: to a file, or to standard output. It creates the file with the
/// first packet, so that an invalid capture does not overwrite an existing page.
final class PageWriter {
  private let output: OutputFile
  private let console: Console
  private let limit: Int64
  private var size: Int64 = 0
  private var picture: SessionPicture
  private var file: FileDescriptor?
  private var warnings: [String] = []

  /// - Parameter limit: the size in bytes at which no more packets are added.
  init(_ output: OutputFile, _ source: SessionPicture.Source, _ console: Console, limit: Int64) throws(Failure) {
    try output.check()
    self.output = output
    self.limit = limit
    self.console = console
    picture = SessionPicture(source)
  }

  /// Adds a packet.
  func add(_ frame: DecodedFrame) throws(Failure) {
    guard size < limit else {
      throw Failure(
        .cannotCreate, "writing \(output.path)", "\(output.path) has reached its maximum size (--capture-limit)")
    }
    picture.add(frame)
    try write(picture.take(atLeast: 1 << 16))
  }

  /// Adds a warning about the capture, up to a reasonable number.
  func warn(_ warning: String) { if warnings.count < 100 { warnings.append(warning) } }

  /// Ends the page.
  func finish() throws(Failure) {
    picture.finish(warnings: warnings)
    try write(picture.take())
  }

  private func write(_ bytes: [UInt8]) throws(Failure) {
    guard !bytes.isEmpty else { return }
    size += Int64(bytes.count)
    if output.isStandard {
      try console.print(bytes)
    } else {
      // It has what the phone sent, so only its owner may read it.
      if file == nil { file = try output.create(mode: 0o600) }
      try attempt(try file?.writeAll(bytes)) { Failure(writing: output.path, $0) }
    }
  }
}

extension CaptureOptions {
  /// The page to write, if any, of a capture with this name.
  func page(of name: String, _ console: Console) throws(Failure) -> PageWriter? {
    guard let html else { return nil }
    var source = SessionPicture.Source(name: name, program: "ancsd \(Program.build)")
    let filters = [
      filter.att ? "--att" : nil, filter.profiles.contains(.ancs) ? "--ancs" : nil,
      filter.profiles.contains(.ams) ? "--ams" : nil, filter.phone.map { "--phone \($0)" },
    ]
    source.filter = filters.compactMap(\.self).joined(separator: " ")
    return try PageWriter(
      OutputFile(html, beginning: SessionPicture.beginning, isForced: isForced), source, console, limit: limit)
  }
}
