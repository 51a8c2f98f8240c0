// SPDX-License-Identifier: GPL-3.0-or-later

/// Reads a capture of HCI traffic from bytes as they come: btsnoop (monitor, H1 and H4), pcap and
/// pcapng (link types 187, 201 and 254), told apart by how they begin.
///
///     reader.feed(bytes)
///     while let record = try reader.next() { … }     // and again after each feed
///     try reader.finish()                            // says where a cut file ends
///
/// A file that is broken or cut is read as far as it goes: the records in front of the fault come
/// first, then the error that says where and why.
public struct CaptureReader: Sendable {
  private enum State {
    case unknown
    case btsnoop(BtsnoopReader)
    case pcap(PcapReader)
    case pcapng(PcapngReader)
    case failed(CaptureFileError)
  }

  private var intake = Intake()
  private var state = State.unknown

  public init() {}

  /// What the file is, once enough of it was read.
  public var format: CaptureFormat? {
    switch state {
    case .unknown, .failed: nil
    case .btsnoop(let reader): .btsnoop(reader.payload)
    case .pcap(let reader): .pcap(reader.payload)
    case .pcapng: .pcapng
    }
  }

  /// Takes the next bytes of the file.
  public mutating func feed(_ bytes: some Collection<UInt8>) { intake.append(bytes) }

  /// The next record; nil as long as more bytes are needed for it. After an error there is no more
  /// than that error.
  public mutating func next() throws(CaptureFileError) -> CaptureRecord? {
    do throws(CaptureFileError) {
      return try read()
    } catch {
      state = .failed(error)
      throw error
    }
  }

  /// Says that the file is at its end; an error unless that is the end of a record.
  public mutating func finish() throws(CaptureFileError) {
    let needed: (String, Int)?
    switch state {
    case .unknown:
      throw intake.count == 0 || !mayBegin
        ? intake.error(.notACapture)
        : intake.error(
          .cut("the file's head", needed: Btsnoop.headerLength, available: intake.count))
    case .failed(let error): throw error
    case .btsnoop(let reader): needed = reader.needed(intake)
    case .pcap(let reader): needed = reader.needed(intake)
    case .pcapng(let reader):
      if let complaint = reader.complaint { throw complaint }
      needed = reader.needed(intake)
    }
    guard let (what, length) = needed, intake.count > 0 else { return }
    throw intake.error(.cut(what, needed: length, available: intake.count))
  }

  private mutating func read() throws(CaptureFileError) -> CaptureRecord? {
    switch state {
    case .unknown:
      try recognise()
      if case .unknown = state { return nil }
      return try read()
    case .failed(let error): throw error
    case .btsnoop(let reader): return try reader.next(&intake)
    case .pcap(let reader): return try reader.next(&intake)
    case .pcapng(var reader):
      defer { state = .pcapng(reader) }
      return try reader.next(&intake)
    }
  }

  /// Whether what is there, too little to tell, may become a capture.
  private var mayBegin: Bool {
    let begun = intake.peek(min(intake.count, 8)).map(\.array) ?? []
    return Btsnoop.magic.starts(with: begun) || isPcap
      || (intake.peek(4).map(PcapngReader.recognises) ?? false)
  }

  private var isPcap: Bool { intake.peek(4).flatMap(PcapReader.recognise) != nil }

  private mutating func recognise() throws(CaptureFileError) {
    guard let head = intake.peek(4) else { return }
    if PcapngReader.recognises(head) {
      state = .pcapng(PcapngReader())
    } else if isPcap {
      if let reader = try PcapReader(&intake) { state = .pcap(reader) }
    } else if let head = intake.peek(8) {
      guard head.array == Btsnoop.magic else { throw intake.error(.notACapture) }
      if let reader = try BtsnoopReader(&intake) { state = .btsnoop(reader) }
    } else if !mayBegin {
      throw intake.error(.notACapture)
    }
  }
}
