// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The state of one link: its name, incomplete frames, and what its ATT traffic has shown.
struct LinkState: Sendable {
  var name: LinkName
  var dialogue = ATTDialogue()
  var channels = AttributeChannels()
  private var outgoing = Reassembler()
  private var incoming = Reassembler()

  /// Whether the capture has its beginning, or a warning has said that it does not.
  var isKnown: Bool

  init(_ name: LinkName, isKnown: Bool = true) {
    self.name = name
    self.isKnown = isKnown
  }

  /// Whether a PDU has attributes that were discovered before the capture began.
  func isNameless(to unit: DecodedUnit) -> Bool {
    !isKnown && unit.layer == .att && unit.problem == nil
      && unit.attributes.contains { $0.handle != nil && $0.uuid == nil }
  }

  /// The direction of a packet whose capture does not say it: a continuing fragment belongs to the
  /// only incomplete frame, if there is only one.
  func direction(_ guess: CaptureDirection, isStart: Bool) -> CaptureDirection {
    guard !isStart, outgoing.isPending != incoming.isPending else { return guess }
    return outgoing.isPending ? .sent : .received
  }

  mutating func receive(
    _ data: [UInt8], _ direction: CaptureDirection, isStart: Bool, missing: Int
  ) -> Reassembler.Outcome {
    switch direction {
    case .sent: outgoing.receive(data, isStart: isStart, missing: missing)
    case .received: incoming.receive(data, isStart: isStart, missing: missing)
    }
  }
}

/// The links of a capture, and what was learned on earlier ones.
struct LinkTable: Sendable {
  private struct Place: Hashable {
    var adapter: UInt16
    var handle: UInt16
  }

  private struct Device: Hashable {
    var adapter: UInt16
    var address: Address
  }

  private var links: [Place: LinkState] = [:]
  /// What was learned on links that have ended, by the addresses of their phones.
  private var remembered: [Device: ATTDialogue] = [:]
  /// What phones have discovered on the board, by adapter: it is the same for all phones.
  private var boards: [UInt16: LearnedDatabase] = [:]

  /// No adapter has more links; such a capture is garbage.
  private static let mostLinks = 256
  private static let mostRemembered = 256

  /// Changes a link in place, without a copy; adds it first if the capture does not have its
  /// beginning.
  mutating func change(
    _ adapter: UInt16, _ handle: UInt16, _ change: (inout LinkState) -> Void
  ) {
    let place = Place(adapter: adapter, handle: handle)
    if links[place] == nil, links.count >= Self.mostLinks { links.removeAll() }
    change(&links[place, default: LinkState(LinkName(handle: handle), isKnown: false)])
  }

  /// The name of a link; only its handle if nothing else is known.
  func name(_ adapter: UInt16, _ handle: UInt16) -> LinkName {
    links[Place(adapter: adapter, handle: handle)]?.name ?? LinkName(handle: handle)
  }

  /// Adds a new connection.
  mutating func begin(_ adapter: UInt16, _ name: LinkName) {
    var link = LinkState(name)
    if let board = boards[adapter] { link.dialogue.setBoard(board) }
    for address in name.addresses {
      guard let known = remembered[Device(adapter: adapter, address: address)] else { continue }
      link.dialogue = known.reconnected
      break
    }
    change(adapter, name.handle) { $0 = link }
  }

  /// Removes a connection. What was learned is kept for the phone's next one.
  mutating func end(_ adapter: UInt16, _ handle: UInt16) {
    guard let link = links.removeValue(forKey: Place(adapter: adapter, handle: handle)) else {
      return
    }
    boards[adapter] = link.dialogue.local.database
    if remembered.count >= Self.mostRemembered { remembered.removeAll() }
    for address in link.name.addresses {
      remembered[Device(adapter: adapter, address: address)] = link.dialogue
    }
  }

  /// Removes all links of an adapter that was reset or removed.
  mutating func endAll(of adapter: UInt16) {
    for place in links.keys where place.adapter == adapter { end(adapter, place.handle) }
  }
}

extension LinkName {
  /// All known addresses of the peer.
  var addresses: Set<Address> {
    var all = aliases
    if let peer { all.insert(peer) }
    return all
  }
}
