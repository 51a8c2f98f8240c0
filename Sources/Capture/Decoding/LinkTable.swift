// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The state of one link: its name, incomplete frames, and what its ATT traffic has shown.
struct LinkState: Sendable {
  var name: LinkName
  var dialogue = ATTDialogue()
  var channels = AttributeChannels()
  var reassemblers: [CaptureDirection: Reassembler] = [:]
  /// The packets of signalling requests without a response so far, by direction and identifier.
  var signals: [CaptureDirection: [UInt8: Int]] = [:]
  /// Whether the capture has its beginning, or a warning has said that it does not.
  var isKnown: Bool

  /// Follows which of the two servers has ANCS or AMS: that one is the phone, whatever its role is.
  mutating func seePeerKind() {
    if dialogue.remote.database.isOfPhone {
      name.peerKind = .phone
    } else if dialogue.local.database.isOfPhone {
      name.peerKind = .accessory
    }
  }

  /// Joins a signalling command in a packet, if it is a response, to its request.
  mutating func join(_ unit: inout DecodedUnit, _ direction: CaptureDirection, packet: Int) {
    guard unit.bytes.count > 1 else { return }
    if Signalling.requests.contains(unit.bytes[0]) {
      signals[direction, default: [:]][unit.bytes[1]] = packet
    } else if Signalling.responses.contains(unit.bytes[0]) {
      unit.request = signals[direction.opposite]?.removeValue(forKey: unit.bytes[1])
    }
  }

  /// Whether a PDU has attributes that were discovered before the capture began.
  func isNameless(to unit: DecodedUnit) -> Bool {
    !isKnown && unit.layer == .att && unit.problem == nil
      && unit.attributes.contains { $0.handle != nil && $0.uuid == nil }
  }

  /// The direction of a packet whose capture does not say it: a continuing fragment belongs to the
  /// only incomplete frame, if there is only one.
  func direction(_ guess: CaptureDirection, isStart: Bool) -> CaptureDirection {
    let pending = reassemblers.filter(\.value.isPending).keys
    return !isStart && pending.count == 1 ? pending.first ?? guess : guess
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
  /// The assumed kind of the peer on a link that was up before the capture began, until its traffic
  /// shows it.
  var assumedPeer = LinkName.PeerKind.phone
  /// What was learned of peers on links that have ended, by their addresses.
  private var remembered: [Device: LearnedDatabase] = [:]
  /// What peers have discovered on the host, by adapter: it is the same for all of them.
  private var hosts: [UInt16: LearnedDatabase] = [:]

  /// The maximum number of links at once, which only garbage exceeds, and of remembered peers.
  private static let most = 256

  /// Changes a link; adds it first if the capture does not have its beginning.
  mutating func change(_ adapter: UInt16, _ handle: UInt16, _ change: (inout LinkState) -> Void) {
    let place = Place(adapter: adapter, handle: handle)
    // Taken out meanwhile, so that nothing of it is copied.
    var link =
      links.removeValue(forKey: place)
      ?? new(adapter, LinkName(handle: handle, peerKind: assumedPeer), isKnown: false)
    change(&link)
    keep(link, at: place)
  }

  private mutating func keep(_ link: LinkState, at place: Place) {
    if links[place] == nil, links.count >= Self.most { links.removeAll() }
    links[place] = link
  }

  /// A link with what is known of its two ends.
  private func new(_ adapter: UInt16, _ name: LinkName, isKnown: Bool) -> LinkState {
    var link = LinkState(name: name, isKnown: isKnown)
    let peers = name.addresses.map { Device(adapter: adapter, address: $0) }
    if let peer = peers.lazy.compactMap({ remembered[$0] }).first {
      link.dialogue.remote.database = peer
    }
    if let host = hosts[adapter] { link.dialogue.local.database = host }
    return link
  }

  /// The name of a link; only its handle if nothing else is known.
  func name(_ adapter: UInt16, _ handle: UInt16) -> LinkName {
    links[Place(adapter: adapter, handle: handle)]?.name
      ?? LinkName(handle: handle, peerKind: assumedPeer)
  }

  /// Adds a new connection.
  mutating func begin(_ adapter: UInt16, _ name: LinkName) {
    let link = new(adapter, name, isKnown: true)
    keep(link, at: Place(adapter: adapter, handle: name.handle))
  }

  /// Removes a connection. What was learned is kept for the peer's next one.
  mutating func end(_ adapter: UInt16, _ handle: UInt16) {
    guard let link = links.removeValue(forKey: Place(adapter: adapter, handle: handle)) else {
      return
    }
    learn(host: link.dialogue.local.database, adapter)
    if remembered.count >= Self.most { remembered.removeAll() }
    for address in link.name.addresses {
      remembered[Device(adapter: adapter, address: address)] = link.dialogue.remote.database
    }
  }

  private mutating func learn(host: LearnedDatabase, _ adapter: UInt16) {
    if host.count >= hosts[adapter]?.count ?? 0 { hosts[adapter] = host }
  }

  /// Learns what another table knows of the hosts, also by the links that are still up there.
  mutating func learnHosts(of other: LinkTable) {
    for (adapter, host) in other.hosts { learn(host: host, adapter) }
    for (place, link) in other.links { learn(host: link.dialogue.local.database, place.adapter) }
  }

  /// Removes all links of an adapter that was reset or removed.
  mutating func endAll(of adapter: UInt16) {
    for place in links.keys where place.adapter == adapter { end(adapter, place.handle) }
  }
}
