// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Capture
import EventLoop
import System
import Wire

/// The capture of `run --btsnoop FILE`: every ATT PDU of every link.
@LoopActor final class CaptureWriter {
  /// Called once if the file can't be written; the capture ends there.
  var onError: ((SystemError) -> Void)?

  private var file: CaptureFile?
  private var recorder = LinkRecorder()
  private var links: [ObjectIdentifier: Place] = [:]

  /// The adapter and connection handle that a link has in the capture.
  private struct Place {
    var adapter: UInt16
    var handle: UInt16
  }

  /// Creates the file, or truncates the existing one.
  ///
  /// - Parameter limit: the most bytes that it may have.
  init(_ path: String, limit: Int = CaptureFile.usualLimit) throws(SystemError) {
    file = try CaptureFile(path, limit: limit)
  }

  /// Writes a PDU of a link. A link's first PDU is preceded by its connection.
  func record(_ pdu: [UInt8], _ direction: CaptureDirection, on link: any Link) {
    guard file != nil else { return }
    let now = WallTime.now
    let place = place(of: link, now)
    write(recorder.pdu(pdu, direction, handle: place.handle, adapter: place.adapter, at: now))
  }

  /// Writes the end of a link, if it had a PDU.
  func ended(_ link: any Link) {
    guard file != nil, let place = links.removeValue(forKey: ObjectIdentifier(link)) else { return }
    write(recorder.disconnect(handle: place.handle, adapter: place.adapter, at: .now))
  }

  private func place(of link: any Link, _ now: WallTime) -> Place {
    if let place = links[ObjectIdentifier(link)] { return place }
    // A link without a radio is put on adapter 0, which has no address.
    let adapter = link.adapter.flatMap { UInt16($0.dropFirst(3)) } ?? 0
    for record in recorder.begin(
      adapter: adapter, address: nil, name: link.adapter ?? "att", at: now)
    { write(record) }
    let (handle, record) = recorder.connect(adapter: adapter, peer: link.phone, at: now)
    write(record)
    let place = Place(adapter: adapter, handle: handle)
    links[ObjectIdentifier(link)] = place
    return place
  }

  private func write(_ record: CaptureRecord) {
    do throws(SystemError) {
      try file?.write(record)
    } catch {
      file = nil
      links = [:]
      onError?(error)
    }
  }
}
