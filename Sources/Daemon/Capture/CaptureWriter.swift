// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Board
import Capture
import EventLoop
import System
import Wire

/// The capture of `run --btsnoop FILE`: every ATT PDU of every link.
@LoopActor final class CaptureWriter {
  /// Called once if the file can't be written; the capture ends there.
  var onError: ((SystemError) -> Void)?

  private var file: CaptureFile?
  /// The maximum number of files.
  private let files: Int
  private var recorder = LinkRecorder()
  private var links: [ObjectIdentifier: Place] = [:]

  /// The adapter and connection handle that a link has in the capture.
  private typealias Place = (adapter: UInt16, handle: UInt16)

  /// Creates the file, or appends to an existing capture.
  ///
  /// - Parameters:
  ///   - limit: the maximum size of a file in bytes.
  ///   - files: the maximum number of files. When one is full, a new one begins, and the old ones become FILE.1,
  ///     FILE.2 and so on.
  init(_ path: String, limit: Int64 = CaptureFile.usualLimit, files: Int = 1) throws(SystemError) {
    self.files = files
    file = try CaptureFile(continuing: path, limit: limit)
  }

  /// Writes a PDU of a link, and its connection before the first PDU.
  func record(_ pdu: [UInt8], _ direction: CaptureDirection, on link: any Link) {
    let now = WallTime.now
    write { (file) throws(SystemError) in
      let place = try place(of: link, in: file, now)
      try file.write(recorder.pdu(pdu, direction, handle: place.handle, adapter: place.adapter, at: now))
    }
  }

  /// Writes the end of a link that had a PDU.
  func ended(_ link: any Link) {
    guard let place = links.removeValue(forKey: ObjectIdentifier(link)) else { return }
    write { (file) throws(SystemError) in
      try file.write(recorder.disconnect(handle: place.handle, adapter: place.adapter, at: .now))
    }
  }

  private func place(of link: any Link, in file: CaptureFile, _ now: WallTime) throws(SystemError) -> Place {
    if let place = links[ObjectIdentifier(link)] { return place }
    // A link without a radio appears on adapter 0, which has no address.
    let adapter = link.adapter.flatMap { UInt16($0.dropFirst(3)) } ?? 0
    for record in recorder.begin(
      adapter: adapter, address: nil, name: link.adapter ?? "att", at: now)
    { try file.write(record) }
    let (handle, record) = recorder.connect(adapter: adapter, peer: link.phone, at: now)
    try file.write(record)
    links[ObjectIdentifier(link)] = (adapter, handle)
    return (adapter, handle)
  }

  /// Writes to the file, or to the next one if it is full and another is allowed. An error ends the capture.
  private func write(_ body: (CaptureFile) throws(SystemError) -> Void) {
    guard let file else { return }
    do throws(SystemError) {
      do throws(SystemError) {
        try body(file)
      } catch {
        guard error.errno == .fileTooLarge, files > 1 else { throw error }
        try file.rotate(keeping: files)
        // Each file declares its adapters and links.
        recorder = LinkRecorder()
        links = [:]
        try body(file)
      }
    } catch {
      self.file = nil
      links = [:]
      onError?(error)
    }
  }
}
