// SPDX-License-Identifier: GPL-3.0-or-later
public import Capture
import EventLoop
public import System
import Wire

/// The capture of `run --btsnoop FILE`: every ATT PDU of every link, in btsnoop's monitor format.
///
/// Each record is written as it comes, so that the file is whole up to the last PDU whatever happens
/// to the daemon, and can be followed while it grows.
@LoopActor
public final class CaptureWriter {
  /// Called once when the file takes no more; nothing is written after that.
  public var onError: ((SystemError) -> Void)?

  private let path: String
  private var file: FileDescriptor?
  private var recorder = LinkRecorder()
  private var links: [ObjectIdentifier: Place] = [:]

  /// Where a link's packets are in the capture.
  private struct Place {
    var adapter: UInt16
    var handle: UInt16
  }

  /// Begins the file; one that is there is replaced. Only its owner may read it: it holds what the
  /// phone said.
  public init(_ path: String) throws(SystemError) {
    self.path = path
    let file = try Files.create(path, mode: 0o600)
    do throws(SystemError) {
      try file.writeAll(BtsnoopWriter.header)
    } catch {
      throw error.on(path)
    }
    self.file = consume file
  }

  /// Writes a PDU that went by on a link. The first one of a link makes the link known.
  public func record(_ pdu: [UInt8], _ direction: CaptureDirection, on link: any PhoneLink) {
    let now = CaptureTime(.now)
    let place = place(of: link, now)
    write(
      recorder.pdu(pdu, direction, handle: place.handle, adapter: place.adapter, at: now))
  }

  /// Writes that a link has ended; nothing where it had no PDU.
  public func ended(_ link: any PhoneLink) {
    guard let place = links.removeValue(forKey: ObjectIdentifier(link)) else { return }
    write(
      recorder.disconnect(handle: place.handle, adapter: place.adapter, at: CaptureTime(.now)))
  }

  private func place(of link: any PhoneLink, _ now: CaptureTime) -> Place {
    if let place = links[ObjectIdentifier(link)] { return place }
    // Links without a radio are on the first adapter, which then has no address.
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
    guard let open = file.take() else { return }
    do throws(SystemError) {
      try open.writeAll(BtsnoopWriter.record(record))
      file = consume open
    } catch {
      // The file stays as far as it goes; a record that was cut is what readers expect of it.
      onError?(error.on(path))
    }
  }
}

extension CaptureTime {
  /// The system's time.
  public init(_ time: WallTime) {
    self.init(seconds: time.seconds, nanoseconds: UInt32(clamping: time.nanoseconds))
  }
}
