// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// What a client knows of the database's last change (Vol 3 Part G, 2.5.2.1).
enum Awareness: Hashable {
  case aware
  case unaware
  /// It was told so by an error, or has read the hash: with its next request it is aware.
  case nearlyAware
}

extension Server {
  private var isRobust: Bool { client.features.contains(.robustCaching) }

  /// Whether values may be sent to the client now.
  var mayTell: Bool { !isRobust || awareness == .aware }

  /// Lets a request in, or refuses it where the client must learn first that its handles may be old.
  ///
  /// - Returns: false for a command that is to be ignored.
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

  /// The handle of a request that makes sense only to who knows the database; nil for others.
  private func handleReliedOn(by pdu: PDU) -> Handle? {
    switch pdu {
    case .readRequest(let handle), .readBlobRequest(let handle, _), .writeRequest(let handle, _),
      .prepareWriteRequest(let handle, _, _):
      handle
    case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles):
      handles.first
    case .readByTypeRequest(let range, let type)
    where range != .all && type != GATTType.include && type != GATTType.characteristic:
      range.start
    default: nil
    }
  }

  func hashWasRead() {
    if awareness == .unaware { awareness = .nearlyAware }
  }

  private func becomeAware() {
    awareness = .aware
    client.databaseHash = database.hash
  }

  /// Takes Client Supported Features as the client wrote them; what it has, it cannot give up (7.2).
  func setFeatures(_ value: [UInt8]) throws(ErrorCode) {
    guard let first = value.first else { throw .invalidAttributeValueLength }
    let features = ClientFeatures(rawValue: first & 0x07)
    guard features.isSuperset(of: client.features) else { throw .valueNotAllowed }
    client.features = features
  }

  // MARK: Service Changed (7.1)

  func databaseChanged(_ range: HandleRange) {
    dropLostConfigurations()
    awareness = .unaware
    pendingChange =
      pendingChange.map { HandleRange(min($0.start, range.start), max($0.end, range.end)) } ?? range
    announceChanges()
  }

  /// Whether the client has something to learn of the database that it was not told yet.
  public var hasChangesToAnnounce: Bool { pendingChange != nil }

  /// Indicates Service Changed where the client subscribed to it and has something to learn: changes
  /// while it is connected do so by themselves, older ones when the link is ready (encrypted again).
  public func announceChanges() {
    guard let change = pendingChange, !indicatingChange, bearer.end == nil,
      let characteristic = database[GATTType.genericAttribute]?[GATTType.serviceChanged],
      configuration(of: characteristic.value).contains(.indications)
    else { return }
    pendingChange = nil
    indicatingChange = true
    bearer.indicate(characteristic.value, ServiceChanged(range: change).encoded) {
      [weak self] confirmed in
      guard let self else { return }
      indicatingChange = false
      guard case .success = confirmed else { return }
      if pendingChange == nil { becomeAware() } else { announceChanges() }
    }
  }
}
