// SPDX-License-Identifier: GPL-3.0-or-later

/// How the packets of a capture are wrapped, inside of the file's own records.
public enum CapturePayload: Hashable, Sendable {
  /// The kernel's monitor channel: btsnoop 2001, pcap link type 254.
  case monitor
  /// HCI packets without the byte that says their kind (H1): btsnoop 1001.
  case unencapsulated
  /// HCI packets behind that byte (H4, Core Specification Vol 4 Part A): btsnoop 1002, pcap 187.
  case uart
  /// The same behind four bytes that say the direction: pcap link type 201.
  case uartWithDirection
  /// What a sniffer heard on the air (LE link layer), from the access address on: pcap link type 251.
  case air
  /// The same behind ten bytes of the sniffer's: pcap link type 256.
  case airWithRemarks

  /// The payload of a pcap link type (https://www.tcpdump.org/linktypes.html); nil for those that are
  /// not read.
  init?(linkType: UInt32) {
    switch linkType {
    case 187: self = .uart
    case 201: self = .uartWithDirection
    case 251: self = .air
    case 254: self = .monitor
    case 256: self = .airWithRemarks
    default: return nil
    }
  }

  /// What a link type is that is not read, where that helps whoever has such a file.
  static func name(ofLinkType linkType: UInt32) -> String {
    switch linkType {
    case 255: "pcap link type 255 (the BR/EDR baseband)"
    case 272: "pcap link type 272 (the nRF sniffer's own)"
    default: "pcap link type \(linkType)"
    }
  }

  /// The payload of a btsnoop datalink; nil for those that are not read.
  init?(datalink: UInt32) {
    switch datalink {
    case 1001: self = .unencapsulated
    case 1002: self = .uart
    case 2001: self = .monitor
    default: return nil
    }
  }
}

/// What kind of file a capture is.
public enum CaptureFormat: Hashable, Sendable {
  case btsnoop(CapturePayload)
  case pcap(CapturePayload)
  /// Each interface of it has a payload of its own.
  case pcapng
}

/// Why a capture could not be read, or not be read on, and where.
public struct CaptureFileError: Error, Hashable, Sendable {
  /// How many bytes of the file lie in front of what could not be read.
  public let offset: Int64
  public let reason: Reason

  public enum Reason: Hashable, Sendable {
    /// The file begins like no capture that is known.
    case notACapture
    /// It is one that is not read; the text names what is not known.
    case unsupported(String)
    /// It ends inside something: so many bytes were needed, so many were there.
    case cut(String, needed: Int, available: Int)
    /// What is there can't be; the text says what.
    case broken(String)
  }

  public init(offset: Int64, _ reason: Reason) {
    self.offset = offset
    self.reason = reason
  }

  /// Whether nothing at all could be read, since this is no capture, or none that is known, or not even
  /// the head of one.
  public var isHopeless: Bool {
    switch reason {
    case .notACapture, .unsupported: true
    case .cut, .broken: offset == 0
    }
  }
}

extension CaptureFileError: CustomStringConvertible {
  public var description: String {
    switch reason {
    case .notACapture: "it is no btsnoop, pcap or pcapng file"
    case .unsupported(let what): "\(what) is not read"
    case .cut(let what, let needed, let available):
      "cut at byte \(offset): \(what) needs \(needed) bytes, \(available) are left"
    case .broken(let what): "broken at byte \(offset): \(what)"
    }
  }
}
