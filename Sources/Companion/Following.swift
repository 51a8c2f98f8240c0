// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

extension Client {
  /// Subscribes to a characteristic, if it notifies, and then reads it by its type, which also confirms its location.
  ///
  /// - Returns: why the phone has refused the subscription; nil: it has not. It is read anyway.
  /// - Throws: why it cannot be read, or why the link has ended.
  func follow(_ source: Characteristic, _ apply: @escaping ([UInt8]) -> Void) async throws(ATTFailure) -> ATTFailure? {
    var refusal: ATTFailure?
    if let cccd = source.cccd {
      setHandler(for: source.value, apply)
      do throws(ATTFailure) {
        try await configure(cccd, .notifications)
      } catch {
        if error.isEnd { throw error }
        refusal = error
      }
    }
    guard let found = try await read(source.uuid).first, found.handle == source.value else {
      throw .protocolViolation("\(source.uuid) is not at \(hexadecimal(source.value))")
    }
    apply(found.value)
    return refusal
  }

  /// The first attribute of this type, read in one request; nil if the server shows none to this client.
  ///
  /// - Throws: only if the link has ended.
  public func firstValue(of type: UUID) async throws(ATTFailure) -> PDU.AttributeValue? {
    do {
      return try await read(type).first
    } catch {
      if error.isEnd { throw error }
      return nil
    }
  }
}
