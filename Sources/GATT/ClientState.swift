// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP

/// What a client supports: the first octet of Client Supported Features (Vol 3 Part G, 7.2).
public struct ClientFeatures: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// It wants an error when it uses handles that may have changed.
  public static let robustCaching = ClientFeatures(rawValue: 1)
  /// It accepts several values in one notification.
  public static let multipleNotifications = ClientFeatures(rawValue: 4)
}

/// What a server remembers of a client while it is connected and, for a bonded client, from one
/// connection to the next (Vol 3 Part G, 2.5.2, 3.3.3.3 and 7.2).
public struct ClientState: Hashable, Sendable {
  public var features: ClientFeatures
  /// The configurations that are not zero, by the handles of their descriptors.
  public var configurations: [Handle: ClientConfiguration]
  /// The hash of the database that the client knows; nil for a new client.
  public var databaseHash: [UInt8]?

  /// A new client.
  public init(
    features: ClientFeatures = [], configurations: [Handle: ClientConfiguration] = [:], databaseHash: [UInt8]? = nil
  ) {
    self.features = features
    self.configurations = configurations
    self.databaseHash = databaseHash
  }
}

// MARK: - Subscriptions

/// Client Characteristic Configurations, and the values sent to a subscribed client (Vol 3 Part G,
/// 3.3.3.3, 4.10 and 4.11).
extension Server {
  /// What the client has subscribed to of the characteristic whose value is at `value`.
  public func configuration(of value: Handle) -> ClientConfiguration {
    guard let cccd = database.characteristic(of: value)?.cccd else { return [] }
    return client.configurations[cccd, default: []]
  }

  /// Notifies a value, cut to the MTU, if the client is subscribed; returns whether it was sent.
  @discardableResult
  public func notify(_ handle: Handle, _ value: [UInt8]) throws(ATTFailure) -> Bool {
    guard maySendValues, configuration(of: handle).contains(.notifications) else { return false }
    try bearer.notify(handle, value)
    return true
  }

  /// Notifies those values that the client is subscribed to, in one PDU if it supports that and they
  /// fit, otherwise one by one.
  public func notify(_ values: [PDU.AttributeValue]) throws(ATTFailure) {
    guard maySendValues else { return }
    let wanted = values.filter { configuration(of: $0.handle).contains(.notifications) }
    let together = PDU.multipleHandleValueNotification(wanted)
    if wanted.count > 1, client.features.contains(.multipleNotifications), together.encoded.count <= bearer.mtu {
      return try bearer.command(together)
    }
    for value in wanted { try bearer.notify(value.handle, value.value) }
  }

  /// Indicates a value, cut to the MTU, if the client is subscribed, and waits for the confirmation;
  /// returns whether it was sent.
  @discardableResult
  public func indicate(_ handle: Handle, _ value: [UInt8]) async throws(ATTFailure) -> Bool {
    guard maySendValues, configuration(of: handle).contains(.indications) else { return false }
    try await bearer.indicate(handle, value)
    return true
  }

  /// Applies a configuration that the client wrote.
  func configure(_ cccd: Handle, _ value: [UInt8]) throws(ErrorCode) {
    guard let written = try? ClientConfiguration(decoding: value) else {
      throw .invalidAttributeValueLength
    }
    guard let characteristic = database.characteristic(of: cccd) else { return }
    // The other bits are reserved for future use and ignored.
    let wanted = written.intersection([.notifications, .indications])
    let properties = characteristic.properties
    guard properties.contains(.notify) || !wanted.contains(.notifications),
      properties.contains(.indicate) || !wanted.contains(.indications)
    else { throw .cccdImproperlyConfigured }
    client.configurations[cccd] = wanted.isEmpty ? nil : wanted
    onSubscribe(characteristic.value, wanted)
  }

  /// Removes the configurations whose descriptors are gone.
  func removeLostConfigurations() {
    client.configurations = client.configurations.filter {
      if case .clientConfiguration = database.attribute(at: $0.key)?.content { true } else { false }
    }
  }
}

// MARK: - Robust caching and Service Changed

/// Whether a client is aware of the database's last change (Vol 3 Part G, 2.5.2.1).
enum Awareness: Hashable {
  case aware
  case unaware
  /// It got Database Out Of Sync, or has read the hash: its next request makes it aware.
  case nearlyAware
}

extension Server {
  private var isRobust: Bool { client.features.contains(.robustCaching) }

  /// Whether values may be sent to the client now.
  private var maySendValues: Bool { !isRobust || awareness == .aware }

  /// Checks whether the client may use handles, or must learn first that they may have changed.
  ///
  /// - Returns: false for a command, which is to be ignored then.
  func admit(_ pdu: PDU) throws(Refusal) -> Bool {
    let isRequest = pdu.opcode.role == .request
    guard isRobust else { return true }
    switch awareness {
    case .aware: return true
    case .nearlyAware:
      if isRequest { becomeAware() }
      return isRequest
    case .unaware:
      guard isRequest else { return false }
      guard let handle = handleReliedOn(by: pdu) else { return true }
      awareness = .nearlyAware
      throw Refusal(code: .databaseOutOfSync, handle: handle)
    }
  }

  /// The handle that a request uses from an earlier discovery; nil for requests that use none.
  private func handleReliedOn(by pdu: PDU) -> Handle? {
    switch pdu {
    case .readRequest(let handle), .readBlobRequest(let handle, _), .writeRequest(let handle, _),
      .prepareWriteRequest(let handle, _, _):
      handle
    case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles): handles.first
    case .readByTypeRequest(let range, let type)
    where range != .all && type != .include && type != .characteristic: range.start
    default: nil
    }
  }

  func hashWasRead() { if awareness == .unaware { awareness = .nearlyAware } }

  private func becomeAware() {
    awareness = .aware
    client.databaseHash = database.hash
  }

  /// Applies the Client Supported Features that the client wrote; it cannot withdraw a feature (7.2).
  func setFeatures(_ value: [UInt8]) throws(ErrorCode) {
    guard let first = value.first else { throw .invalidAttributeValueLength }
    let features = ClientFeatures(rawValue: first & 0x07)
    guard features.isSuperset(of: client.features) else { throw .valueNotAllowed }
    client.features = features
  }

  // MARK: Service Changed (7.1)

  func databaseChanged(_ range: HandleRange) {
    removeLostConfigurations()
    awareness = .unaware
    pendingChange = pendingChange?.spanning(range) ?? range
    announceChanges()
  }

  /// Whether the database has changes that were not indicated to the client.
  public var hasChangesToAnnounce: Bool { pendingChange != nil }

  /// Indicates Service Changed if the client is subscribed to it and a change was not indicated.
  /// Changes during a connection are indicated by themselves; older ones when this is called, once the
  /// link is encrypted again.
  public func announceChanges() {
    guard let change = pendingChange, !isIndicatingChange, bearer.end == nil,
      let characteristic = database[.genericAttribute]?[.serviceChanged],
      configuration(of: characteristic.value).contains(.indications)
    else { return }
    pendingChange = nil
    isIndicatingChange = true
    bearer.indicate(characteristic.value, ServiceChanged(range: change).encoded) { [weak self] confirmed in
      guard let self else { return }
      isIndicatingChange = false
      guard case .success = confirmed else { return }
      if pendingChange == nil { becomeAware() } else { announceChanges() }
    }
  }
}
