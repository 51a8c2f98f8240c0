// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

extension Client {
  /// Write Characteristic Value (4.9.3): up to MTU − 3 octets, and the server says that it took them.
  public func write(_ handle: Handle, _ value: [UInt8]) async throws(ATTFailure) {
    let pdu = PDU.writeRequest(handle, value: value)
    guard case .writeResponse = try await bearer.request(pdu) else { throw unexpected(pdu) }
  }

  /// Write Without Response (4.9.1).
  public func writeCommand(_ handle: Handle, _ value: [UInt8]) throws(ATTFailure) {
    try bearer.command(.writeCommand(handle, value: value))
  }

  /// Write Long Characteristic Values (4.9.4): in parts that are prepared and then written at once.
  public func writeLong(
    _ handle: Handle, _ value: [UInt8], offset: Int = 0
  ) async throws(ATTFailure) {
    try await prepare([(handle, value)], offset: offset, checked: false)
  }

  /// Reliable Writes (4.9.5): every part comes back and is compared before all are written at once.
  public func writeReliably(
    _ writes: [(handle: Handle, value: [UInt8])]
  ) async throws(ATTFailure) {
    try await prepare(writes, offset: 0, checked: true)
  }

  private func prepare(
    _ writes: [(handle: Handle, value: [UInt8])], offset: Int, checked: Bool
  ) async throws(ATTFailure) {
    do {
      for (handle, value) in writes {
        try await prepare(handle, value, offset: offset, checked: checked)
      }
    } catch {
      // What was prepared must not lie in the server's queue for the next one to execute.
      if !error.isEnd { try await execute(.cancel) }
      throw error
    }
    try await execute(.write)
  }

  private func prepare(
    _ handle: Handle, _ value: [UInt8], offset: Int, checked: Bool
  ) async throws(ATTFailure) {
    var written = 0
    repeat {
      let part = Array(value[written...].prefix(bearer.mtu - 5))
      guard let position = UInt16(exactly: offset + written) else {
        throw .nonsense("a value cannot be written at octet \(offset + written)")
      }
      let pdu = PDU.prepareWriteRequest(handle, offset: position, value: part)
      let response = try await bearer.request(pdu)
      guard case .prepareWriteResponse = response else { throw unexpected(pdu) }
      guard !checked || response == .prepareWriteResponse(handle, offset: position, value: part)
      else { throw .nonsense("the server did not repeat what was to be written") }
      written += part.count
    } while written < value.count
  }

  private func execute(_ flag: PDU.ExecuteFlag) async throws(ATTFailure) {
    let pdu = PDU.executeWriteRequest(flag)
    guard case .executeWriteResponse = try await bearer.request(pdu) else { throw unexpected(pdu) }
  }
}
