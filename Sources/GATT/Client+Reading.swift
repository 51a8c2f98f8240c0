// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

extension Client {
  /// The longest value that an attribute may have (Vol 3 Part F, 3.2.9).
  public static let longestValue = 512

  /// Read Characteristic Value (4.8.1): at most MTU − 1 octets of it.
  public func read(_ handle: Handle) async throws(ATTFailure) -> [UInt8] {
    let pdu = PDU.readRequest(handle)
    guard case .readResponse(let value) = try await bearer.request(pdu) else {
      throw unexpected(pdu)
    }
    return value
  }

  /// Read Long Characteristic Values (4.8.3): the whole value, by Read Blob where one answer does not
  /// hold it.
  ///
  /// - Parameter limit: the most octets that are taken. No attribute may be longer than 512, but some
  ///   values that are made up as they are read are.
  public func readLong(
    _ handle: Handle, limit: Int = Client.longestValue
  ) async throws(ATTFailure) -> [UInt8] {
    var value = try await read(handle)
    try await readOn(handle, behind: &value, limit: limit)
    return value
  }

  /// Reads what is behind the octets that `read` brought, and appends it part by part: an error leaves
  /// what came before it.
  ///
  /// A server may not send more than the MTU; of an answer that is longer all the same only what
  /// could be in it counts, and the rest is asked for as ever.
  public func readOn(
    _ handle: Handle, behind value: inout [UInt8], limit: Int = Client.longestValue
  ) async throws(ATTFailure) {
    value = Array(value.prefix(min(bearer.mtu - 1, limit)))
    var full = value.count == bearer.mtu - 1
    while full, value.count < min(limit, Int(UInt16.max)) {
      let pdu = PDU.readBlobRequest(handle, offset: UInt16(value.count))
      let part: [UInt8]
      do throws(ATTFailure) {
        guard case .readBlobResponse(let octets) = try await bearer.request(pdu) else {
          throw unexpected(pdu)
        }
        part = Array(octets.prefix(bearer.mtu - 1))
      } catch {
        // A value of just MTU − 1 octets has no more to give, and servers say so in two ways.
        guard error.code == .attributeNotLong || error.code == .invalidOffset else { throw error }
        return
      }
      value += part.prefix(limit - value.count)
      full = part.count == bearer.mtu - 1
    }
  }

  /// Read Using Characteristic UUID (4.8.2): the values of `type` in `range` that one answer holds;
  /// none where there are none.
  public func read(
    _ type: UUID, in range: HandleRange = .all
  ) async throws(ATTFailure) -> [PDU.AttributeValue] {
    do {
      return try await readByType(type, in: range)
    } catch {
      guard error.code == .attributeNotFound else { throw error }
      return []
    }
  }

  /// Read Using Characteristic UUID, again and again behind what was found, until no more is.
  public func readAll(
    _ type: UUID, in range: HandleRange = .all
  ) async throws(ATTFailure) -> [PDU.AttributeValue] {
    try await walk(range) { (rest) throws(ATTFailure) in
      try await readByType(type, in: rest).map { (HandleRange($0.handle, $0.handle), $0) }
    }
  }

  /// Read Multiple Characteristic Values (4.8.4): the values one behind the other.
  public func readMultiple(_ handles: [Handle]) async throws(ATTFailure) -> [UInt8] {
    let pdu = PDU.readMultipleRequest(handles)
    guard case .readMultipleResponse(let values) = try await bearer.request(pdu) else {
      throw unexpected(pdu)
    }
    return values
  }

  /// Read Multiple Variable Length Characteristic Values (4.8.5); the MTU may cut the last.
  public func readMultipleVariable(
    _ handles: [Handle]
  ) async throws(ATTFailure) -> [PDU.LengthValue] {
    let pdu = PDU.readMultipleVariableRequest(handles)
    guard case .readMultipleVariableResponse(let values) = try await bearer.request(pdu) else {
      throw unexpected(pdu)
    }
    return values
  }
}
