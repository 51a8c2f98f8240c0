// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

// What the kernel answers to commands, past the status; layouts as in `struct mgmt_rp_*`.

/// The answer to Read Version.
public struct MgmtVersion: Hashable, Sendable, CustomStringConvertible {
  public let version: UInt8
  public let revision: UInt16

  init(from reader: inout ByteReader) throws(DecodeError) {
    version = try reader.u8()
    revision = try reader.u16()
  }

  /// Such as `1.22`.
  public var description: String { "\(version).\(revision)" }
}

/// The answer to Read Commands.
public struct SupportedCommands: Hashable, Sendable {
  public let commands: Set<MgmtOpcode>
  public let events: Set<UInt16>

  init(from reader: inout ByteReader) throws(DecodeError) {
    let (commandCount, eventCount) = (try reader.u16(), try reader.u16())
    var commands: Set<MgmtOpcode> = []
    var events: Set<UInt16> = []
    for _ in 0..<commandCount { commands.insert(MgmtOpcode(rawValue: try reader.u16())) }
    for _ in 0..<eventCount { events.insert(try reader.u16()) }
    self.commands = commands
    self.events = events
  }
}

/// The answer to Read Controller Information.
public struct ControllerInformation: Hashable, Sendable {
  /// Its public address; zero where it has none.
  public let address: Address
  /// The version of the Core Specification, numbered as in HCI.
  public let version: UInt8
  /// Its maker (Assigned Numbers, 7.1).
  public let manufacturer: UInt16
  /// What it could do.
  public let supported: ControllerSettings
  /// What it does.
  public let current: ControllerSettings
  /// BR/EDR's Class of Device.
  public let classOfDevice: [UInt8]
  public let localName: LocalName

  /// Reads the 280 bytes of the answer.
  public init(decoding bytes: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(bytes)
    try self.init(from: &reader)
    try reader.end()
  }

  init(from reader: inout ByteReader) throws(DecodeError) {
    address = try reader.address()
    version = try reader.u8()
    manufacturer = try reader.u16()
    supported = try reader.settings()
    current = try reader.settings()
    classOfDevice = Array(try reader.bytes(3))
    localName = try LocalName(from: &reader)
  }
}

/// The answer to Get Connection Information, in dBm; nil where the controller does not tell.
public struct ConnectionInformation: Hashable, Sendable {
  public let peer: DeviceAddress
  /// How strong the other side is received.
  public let rssi: Int8?
  /// How strong this side sends, now and at most.
  public let txPower: Int8?
  public let maximumTxPower: Int8?

  init(from reader: inout ByteReader) throws(DecodeError) {
    peer = try reader.deviceAddress()
    rssi = try reader.decibels()
    txPower = try reader.decibels()
    maximumTxPower = try reader.decibels()
  }
}

/// The answer to Read Advertising Features.
public struct AdvertisingFeatures: Hashable, Sendable {
  public let supportedFlags: AdvertisingFlags
  /// In bytes.
  public let maximumDataLength: UInt8
  /// In bytes.
  public let maximumScanResponseLength: UInt8
  public let maximumInstances: UInt8
  /// The numbers of the instances there are.
  public let instances: [UInt8]

  init(from reader: inout ByteReader) throws(DecodeError) {
    supportedFlags = AdvertisingFlags(rawValue: try reader.u32())
    maximumDataLength = try reader.u8()
    maximumScanResponseLength = try reader.u8()
    maximumInstances = try reader.u8()
    instances = Array(try reader.bytes(Int(try reader.u8())))
  }
}

/// The answer to Add Extended Advertising Parameters.
public struct ExtendedAdvertisingReply: Hashable, Sendable {
  public let instance: UInt8
  /// What was chosen, in dBm; nil where the controller does not tell.
  public let txPower: Int8?
  /// Bytes left for the data beside what the kernel adds.
  public let maximumDataLength: UInt8
  public let maximumScanResponseLength: UInt8

  init(from reader: inout ByteReader) throws(DecodeError) {
    instance = try reader.u8()
    txPower = try reader.decibels()
    maximumDataLength = try reader.u8()
    maximumScanResponseLength = try reader.u8()
  }
}

extension ByteReader {
  mutating func settings() throws(DecodeError) -> ControllerSettings {
    ControllerSettings(rawValue: try u32())
  }

  /// A signed byte of which 127 stands for "not known".
  mutating func decibels() throws(DecodeError) -> Int8? {
    let value = try i8()
    return value == 127 ? nil : value
  }
}
