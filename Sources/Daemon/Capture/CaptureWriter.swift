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
  /// How many files there may be.
  private let files: Int
  private var recorder = LinkRecorder()
  private var links: [ObjectIdentifier: Place] = [:]

  /// The adapter and connection handle that a link has in the capture.
  private struct Place {
    var adapter: UInt16
    var handle: UInt16
  }

  /// Creates the file, or goes on in the capture that is there.
  ///
  /// - Parameters:
  ///   - limit: the most bytes that a file may have.
  ///   - files: how many files there may be. When one is full, another is begun, and what is there is in
  ///     FILE.1, what was there before in FILE.2.
  init(
    _ path: String, limit: Int = CaptureFile.usualLimit, files: Int = 1
  ) throws(SystemError) {
    self.files = files
    file = try CaptureFile(continuing: path, limit: limit)
  }

  /// Writes a PDU of a link. A link's first PDU is preceded by its connection.
  func record(_ pdu: [UInt8], _ direction: CaptureDirection, on link: any Link) {
    let now = WallTime.now
    write { (file) throws(SystemError) in
      let place = try place(of: link, in: file, now)
      try file.write(
        recorder.pdu(pdu, direction, handle: place.handle, adapter: place.adapter, at: now))
    }
  }

  /// Writes the end of a link, if it had a PDU.
  func ended(_ link: any Link) {
    guard let place = links.removeValue(forKey: ObjectIdentifier(link)) else { return }
    write { (file) throws(SystemError) in
      try file.write(
        recorder.disconnect(handle: place.handle, adapter: place.adapter, at: .now))
    }
  }

  private func place(
    of link: any Link, in file: CaptureFile, _ now: WallTime
  ) throws(SystemError) -> Place {
    if let place = links[ObjectIdentifier(link)] { return place }
    // A link without a radio is put on adapter 0, which has no address.
    let adapter = link.adapter.flatMap { UInt16($0.dropFirst(3)) } ?? 0
    for record in recorder.begin(
      adapter: adapter, address: nil, name: link.adapter ?? "att", at: now)
    { try file.write(record) }
    let (handle, record) = recorder.connect(adapter: adapter, peer: link.phone, at: now)
    try file.write(record)
    let place = Place(adapter: adapter, handle: handle)
    links[ObjectIdentifier(link)] = place
    return place
  }

  /// Writes to the file; where it is full, to the next one, if there may be more. An error ends the capture.
  private func write(_ body: (CaptureFile) throws(SystemError) -> Void) {
    guard let file else { return }
    do throws(SystemError) {
      do throws(SystemError) {
        try body(file)
      } catch {
        guard error.errno == .fileTooLarge, files > 1 else { throw error }
        try file.rotate(keeping: files)
        // Each file names its adapters and links.
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
