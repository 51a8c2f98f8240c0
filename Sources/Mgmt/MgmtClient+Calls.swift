// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

// Commands whose answers are more than a status, as values.

extension MgmtClient {
  /// Which version of the protocol the kernel speaks.
  public func readVersion() async throws(MgmtError) -> MgmtVersion {
    try await call(.readVersion, index: .none) { reader throws(DecodeError) in
      try MgmtVersion(from: &reader)
    }
  }

  /// Which commands and events the kernel has (to this socket: fewer without privileges).
  public func readCommands() async throws(MgmtError) -> SupportedCommands {
    try await call(.readCommands, index: .none) { reader throws(DecodeError) in
      try SupportedCommands(from: &reader)
    }
  }

  /// Which controllers there are, those that need configuration first left out.
  public func readIndexList() async throws(MgmtError) -> [ControllerIndex] {
    try await call(.readIndexList, index: .none) { reader throws(DecodeError) in
      var list: [ControllerIndex] = []
      for _ in 0..<(try reader.u16()) { list.append(ControllerIndex(try reader.u16())) }
      return list.sorted()
    }
  }

  /// The controller's address, settings and name.
  public func readControllerInformation(
    _ index: ControllerIndex
  ) async throws(MgmtError) -> ControllerInformation {
    try await call(.readControllerInformation, index: index) { reader throws(DecodeError) in
      try ControllerInformation(from: &reader)
    }
  }

  /// Sends a command that changes a setting.
  /// - Returns: the settings afterwards.
  @discardableResult
  public func set(
    _ command: MgmtCommand, index: ControllerIndex
  ) async throws(MgmtError) -> ControllerSettings {
    try await call(command, index: index) { reader throws(DecodeError) in try reader.settings() }
  }

  /// Who is connected.
  public func getConnections(_ index: ControllerIndex) async throws(MgmtError) -> [DeviceAddress] {
    try await call(.getConnections, index: index) { reader throws(DecodeError) in
      var list: [DeviceAddress] = []
      for _ in 0..<(try reader.u16()) { list.append(try reader.deviceAddress()) }
      return list
    }
  }

  /// Signal strength and transmit power of a link.
  public func getConnectionInformation(
    _ peer: DeviceAddress, index: ControllerIndex
  ) async throws(MgmtError) -> ConnectionInformation {
    try await call(.getConnectionInformation(peer), index: index) { reader throws(DecodeError) in
      try ConnectionInformation(from: &reader)
    }
  }

  /// How many advertising instances there are and may be.
  public func readAdvertisingFeatures(
    _ index: ControllerIndex
  ) async throws(MgmtError) -> AdvertisingFeatures {
    try await call(.readAdvertisingFeatures, index: index) { reader throws(DecodeError) in
      try AdvertisingFeatures(from: &reader)
    }
  }

  /// Pairs with a device; returns when that has ended.
  /// - Returns: the identity address, which may differ from the one asked for.
  public func pairDevice(
    _ peer: DeviceAddress, _ capability: IOCapability, index: ControllerIndex
  ) async throws(MgmtError) -> DeviceAddress {
    try await call(.pairDevice(peer, capability), index: index) { reader throws(DecodeError) in
      try reader.deviceAddress()
    }
  }
}
