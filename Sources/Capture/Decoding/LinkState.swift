// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What a capture tells of one link: whose it is, what is being put together, what its ATT traffic
/// has shown.
struct LinkState: Sendable {
  var name: LinkName
  var dialogue = ATTDialogue()
  var channels = AttributeChannels()
  private var outgoing = Reassembler()
  private var incoming = Reassembler()

  /// Whether it was seen to begin, or all was said about its not being so.
  var isKnown: Bool

  init(_ name: LinkName, isKnown: Bool = true) {
    self.name = name
    self.isKnown = isKnown
  }

  /// Whether a PDU names attributes that were found out about before the capture began.
  func isNameless(to unit: Unit) -> Bool {
    !isKnown && unit.layer == .att && unit.problem == nil
      && unit.attributes.contains { $0.handle != nil && $0.uuid == nil }
  }

  /// Which way a packet goes whose capture does not say so: one that goes on with a frame goes the way
  /// of the one frame that is not whole.
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

/// The links of a capture, and the phones that were seen on earlier ones.
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
  /// What was learned on links that are gone, by the addresses of their phones.
  private var remembered: [Device: ATTDialogue] = [:]
  /// What phones found on the boards that are gone from them now, by adapter: it is the same for all.
  private var boards: [UInt16: LearnedDatabase] = [:]

  /// A capture with more than this at once is no capture of a radio.
  private static let mostLinks = 256
  private static let mostRemembered = 256

  /// Changes the link of this handle where it lies, without a copy; a new one where the capture has
  /// not seen it begin.
  mutating func change(
    _ adapter: UInt16, _ handle: UInt16, _ change: (inout LinkState) -> Void
  ) {
    let place = Place(adapter: adapter, handle: handle)
    if links[place] == nil, links.count >= Self.mostLinks { links.removeAll() }
    change(&links[place, default: LinkState(LinkName(handle: handle), isKnown: false)])
  }

  /// The name of a link; only the handle where nothing is known.
  func name(_ adapter: UInt16, _ handle: UInt16) -> LinkName {
    links[Place(adapter: adapter, handle: handle)]?.name ?? LinkName(handle: handle)
  }

  /// A connection has begun.
  mutating func begin(_ adapter: UInt16, _ name: LinkName) {
    var link = LinkState(name)
    if let board = boards[adapter] { link.dialogue.knowBoard(board) }
    for address in name.addresses {
      guard let known = remembered[Device(adapter: adapter, address: address)] else { continue }
      link.dialogue = known.reconnected
      break
    }
    change(adapter, name.handle) { $0 = link }
  }

  /// A connection has ended. What was learned is kept for the phone's next one.
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

  /// An adapter was reset or went away, and its links with it.
  mutating func endAll(of adapter: UInt16) {
    for place in links.keys where place.adapter == adapter { end(adapter, place.handle) }
  }
}

extension LinkName {
  /// All addresses that the other side is known by.
  var addresses: Set<Address> {
    var all = aliases
    if let peer { all.insert(peer) }
    return all
  }
}
