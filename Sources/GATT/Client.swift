// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// A GATT client: the procedures of Vol 3 Part G, 4 over one bearer.
///
/// It keeps no state of the server but the handlers of notified values; what it finds, its caller keeps.
/// Every procedure throws when the link is lost, and none trusts the server: handles out of order end a
/// discovery with an error instead of an endless loop.
public final class Client {
  /// The longest value that an attribute may have (Vol 3 Part F, 3.2.9).
  public static let longestValue = 512

  public let bearer: Bearer

  private var handlers: [Handle: ([UInt8]) -> Void] = [:]
  /// Called with values that have no handler, such as those of an earlier subscription.
  public var onUnclaimedValue: (Handle, [UInt8]) -> Void = { _, _ in }

  /// A client on `bearer`; from now on it gets the values that are notified and indicated there.
  public init(_ bearer: Bearer) {
    self.bearer = bearer
    bearer.onValue = { [weak self] handle, value in
      guard let self else { return }
      if let handler = handlers[handle] { handler(value) } else { onUnclaimedValue(handle, value) }
    }
  }

  // MARK: Notified and indicated values (4.10, 4.11)

  /// Calls `handler` with every value that is notified or indicated at `handle`.
  public func setHandler(for handle: Handle, _ handler: @escaping ([UInt8]) -> Void) {
    handlers[handle] = handler
  }

  /// Removes the handler for the value at `handle`.
  public func removeHandler(for handle: Handle) { handlers[handle] = nil }

  /// Removes the handlers for all values in `range`, whose characteristics are gone.
  public func removeHandlers(in range: HandleRange) {
    handlers = handlers.filter { !range.contains($0.key) }
  }

  /// Writes a Client Characteristic Configuration: subscribes, or with `[]` unsubscribes.
  public func configure(
    _ cccd: Handle, _ configuration: ClientConfiguration
  ) async throws(ATTFailure) {
    try await write(cccd, configuration.encoded)
  }

  /// Ends all subscriptions of a service that may exist. A refusal is ignored.
  public func endSubscriptions(of service: LocatedService) async throws(ATTFailure) {
    for cccd in service.characteristics.compactMap(\.cccd) {
      do {
        try await configure(cccd, [])
      } catch {
        if error.isEnd { throw error }
      }
    }
  }

  /// Subscribes to notifications, repeatedly if refused: phones were seen to refuse right after a
  /// connection and to accept a little later.
  ///
  /// - Parameters:
  ///   - attempts: how often it is tried.
  ///   - pause: the time after the first attempt; doubled after each.
  /// - Throws: the last refusal, or why the link has ended.
  public func enableNotifications(
    _ cccd: Handle, attempts: Int = 3, pause: Duration = .seconds(1)
  ) async throws(ATTFailure) {
    var pause = pause
    for _ in 1..<max(1, attempts) {
      do {
        return try await configure(cccd, .notifications)
      } catch {
        guard error.code != nil else { throw error }
      }
      try await bearer.sleep(for: pause)
      pause = pause + pause
    }
    try await configure(cccd, .notifications)
  }

  // MARK: Reading (4.8)

  /// Read Characteristic Value (4.8.1): at most MTU − 1 octets of it.
  public func read(_ handle: Handle) async throws(ATTFailure) -> [UInt8] {
    try await bearer.request(.read(handle))
  }

  /// Read Long Characteristic Values (4.8.3): the whole value, by Read Blob if one response cannot hold
  /// it.
  ///
  /// - Parameter limit: the most octets to read. Attributes have 512 at most, but some servers make up
  ///   longer values as they are read.
  public func readLong(
    _ handle: Handle, limit: Int = Client.longestValue
  ) async throws(ATTFailure) -> [UInt8] {
    var value = try await read(handle)
    try await readRest(of: &value, at: handle, limit: limit)
    return value
  }

  /// Completes a value of which `read` returned the beginning, part by part; an error leaves what was
  /// read before it.
  ///
  /// Octets beyond the MTU, which a server may not send, are discarded and read again.
  public func readRest(
    of value: inout [UInt8], at handle: Handle, limit: Int = Client.longestValue
  ) async throws(ATTFailure) {
    value = Array(value.prefix(min(bearer.mtu - 1, limit)))
    var isFull = value.count == bearer.mtu - 1
    while isFull, value.count < min(limit, Int(UInt16.max)) {
      let part: ArraySlice<UInt8>
      do throws(ATTFailure) {
        part = try await bearer.request(.readBlob(handle, offset: UInt16(value.count)))
          .prefix(bearer.mtu - 1)
      } catch {
        // The value ended with the part before. Servers say so in two ways.
        guard error.code == .attributeNotLong || error.code == .invalidOffset else { throw error }
        return
      }
      value += part.prefix(limit - value.count)
      isFull = part.count == bearer.mtu - 1
    }
  }

  /// Read Using Characteristic UUID (4.8.2): the values of `type` in `range` that fit into one response,
  /// or none.
  public func read(
    _ type: UUID, in range: HandleRange = .all
  ) async throws(ATTFailure) -> [PDU.AttributeValue] {
    do {
      return try await bearer.request(.readByType(range, type: type))
    } catch {
      guard error.code == .attributeNotFound else { throw error }
      return []
    }
  }

  /// Read Using Characteristic UUID, repeated until no more values are found.
  public func readAll(
    _ type: UUID, in range: HandleRange = .all
  ) async throws(ATTFailure) -> [PDU.AttributeValue] {
    try await walk(range) { (rest) throws(ATTFailure) in
      try await bearer.request(.readByType(rest, type: type)).map {
        (HandleRange($0.handle, $0.handle), $0)
      }
    }
  }

  /// Read Multiple Characteristic Values (4.8.4): the values one after the other.
  public func readMultiple(_ handles: [Handle]) async throws(ATTFailure) -> [UInt8] {
    try await bearer.request(.readMultiple(handles))
  }

  /// Read Multiple Variable Length Characteristic Values (4.8.5); the MTU may cut the last one.
  public func readMultipleVariable(
    _ handles: [Handle]
  ) async throws(ATTFailure) -> [PDU.LengthValue] {
    try await bearer.request(.readMultipleVariable(handles))
  }

  // MARK: Writing (4.9)

  /// Write Characteristic Value (4.9.3): up to MTU − 3 octets, with a response.
  public func write(_ handle: Handle, _ value: [UInt8]) async throws(ATTFailure) {
    try await bearer.request(.write(handle, value))
  }

  /// Writes a value of any length: in one request if the MTU allows it, otherwise in parts.
  public func writeInFull(_ handle: Handle, _ value: [UInt8]) async throws(ATTFailure) {
    if value.count <= bearer.mtu - 3 {
      try await write(handle, value)
    } else {
      try await writeLong(handle, value)
    }
  }

  /// Write Without Response (4.9.1).
  public func writeCommand(_ handle: Handle, _ value: [UInt8]) throws(ATTFailure) {
    try bearer.command(.writeCommand(handle, value: value))
  }

  /// Signed Write Without Response (4.9.2). On an encrypted link, where a signature adds nothing, it is
  /// a Write Command (Part C, 10.4.1).
  public func writeSigned(
    _ handle: Handle, _ value: [UInt8], by signer: inout Signer, on link: LinkSecurity = .none
  ) throws(ATTFailure) {
    guard !link.encrypted else { return try writeCommand(handle, value) }
    let signature = signer.signature(of: value, at: handle)
    try bearer.command(.signedWriteCommand(handle, value: value, signature: signature))
  }

  /// Write Long Characteristic Values (4.9.4): parts are prepared, then written together.
  public func writeLong(
    _ handle: Handle, _ value: [UInt8], offset: Int = 0
  ) async throws(ATTFailure) {
    try await prepareAndExecute([(handle, value)], offset: offset, isChecked: false)
  }

  /// Reliable Writes (4.9.5): the server echoes every part, which is compared before all are written.
  public func writeReliably(
    _ writes: [(handle: Handle, value: [UInt8])]
  ) async throws(ATTFailure) {
    try await prepareAndExecute(writes, offset: 0, isChecked: true)
  }

  private func prepareAndExecute(
    _ writes: [(handle: Handle, value: [UInt8])], offset: Int, isChecked: Bool
  ) async throws(ATTFailure) {
    do {
      for (handle, value) in writes {
        try await prepare(handle, value, offset: offset, isChecked: isChecked)
      }
    } catch {
      // What was prepared must not stay in the server's queue for a later write to execute.
      if !error.isEnd { try await bearer.request(.executeWrite(.cancel)) }
      throw error
    }
    try await bearer.request(.executeWrite(.write))
  }

  private func prepare(
    _ handle: Handle, _ value: [UInt8], offset: Int, isChecked: Bool
  ) async throws(ATTFailure) {
    var written = 0
    repeat {
      guard let position = UInt16(exactly: offset + written) else {
        throw .protocolViolation("a value cannot be written at octet \(offset + written)")
      }
      let part = PDU.PreparedPart(
        handle: handle, offset: position, value: Array(value[written...].prefix(bearer.mtu - 5)))
      let echo = try await bearer.request(.prepareWrite(part))
      guard !isChecked || echo == part else {
        throw .protocolViolation("the server did not repeat what was to be written")
      }
      written += part.value.count
    } while written < value.count
  }
}
