// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The state of one link: its name, incomplete frames, and what its ATT traffic has shown. Both ends may be client and
/// server, so there are two servers, and every PDU concerns one of them:
///
///     request, command, confirmation       the server that receives it
///     response, notification, indication   the server that sends it
struct LinkState: Sendable {
  var name: LinkName
  /// The requests of ATT without a response so far.
  var requests = OpenRequests()
  /// The attributes of the host that was captured.
  var local = ServerView()
  /// The peer's attributes.
  var remote = ServerView()
  var air = AirState()
  var channels = AttributeChannels()
  var reassemblers: [CaptureDirection: Reassembler] = [:]
  /// The signalling requests without a response so far.
  var signals = OpenRequests()
  /// Whether the capture has its beginning, or a warning has said that it does not.
  var isKnown: Bool

  /// Follows which of the two servers has ANCS or AMS: that one is the phone, whatever its role is.
  mutating func seePeerKind() {
    if remote.database.isOfPhone {
      name.peerKind = .phone
    } else if local.database.isOfPhone {
      name.peerKind = .accessory
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

/// Where a link of a capture is.
enum LinkPlace: Hashable, Sendable {
  /// On an adapter, with this connection handle.
  case adapter(UInt16, handle: UInt16)
  /// On the air, with this access address.
  case air(UInt32)

  /// The number of the adapter.
  fileprivate var adapter: UInt16 {
    if case .adapter(let number, _) = self { number } else { MonitorOpcode.noAdapter }
  }

  /// The connection handle; 0 on the air.
  fileprivate var handle: UInt16 { if case .adapter(_, let handle) = self { handle } else { 0 } }
}

/// The links of a capture, and what was learned on earlier ones.
struct LinkTable: Sendable {
  private struct Device: Hashable {
    var adapter: UInt16
    var address: Address
  }

  private var links: [LinkPlace: LinkState] = [:]
  /// The assumed kind of the peer on a link that was up before the capture began, until its traffic
  /// shows it.
  var assumedPeer = LinkName.PeerKind.phone
  /// What was learned of peers on links that have ended, by their addresses.
  private var remembered: [Device: LearnedDatabase] = [:]
  /// What peers have discovered on the host, by adapter: it is the same for all of them.
  private var hosts: [UInt16: LearnedDatabase] = [:]
  /// How many links were heard on the air, where there are no handles: they are numbered instead.
  private var heard: UInt16 = 0

  /// The maximum number of links at once, which only garbage exceeds, and of remembered peers.
  private static let most = 256

  /// Changes a link; adds it first if the capture does not have its beginning.
  mutating func change(_ place: LinkPlace, _ change: (inout LinkState) -> Void) {
    // Taken out meanwhile, so that nothing of it is copied.
    var link = links.removeValue(forKey: place) ?? new(place, unknown(place), isKnown: false)
    change(&link)
    keep(link, at: place)
  }

  private mutating func keep(_ link: LinkState, at place: LinkPlace) {
    if links[place] == nil, links.count >= Self.most { links.removeAll() }
    links[place] = link
  }

  /// A link with what is known of its two ends.
  private mutating func new(_ place: LinkPlace, _ name: LinkName, isKnown: Bool) -> LinkState {
    var link = LinkState(name: name, isKnown: isKnown)
    if case .air = place {
      link.name.handle = heard
      heard = (heard + 1) & 0x0FFF
    }
    for address in name.addresses {
      let device = Device(adapter: place.adapter, address: address)
      if let peer = remembered[device] { link.remote.database = peer }
    }
    if let host = hosts[place.adapter] { link.local.database = host }
    return link
  }

  /// The name of a link of which nothing but its handle is known.
  private func unknown(_ place: LinkPlace) -> LinkName {
    LinkName(handle: place.handle, peerKind: assumedPeer)
  }

  func isUp(_ place: LinkPlace) -> Bool { links[place] != nil }

  /// The name of a link; only its handle if nothing else is known.
  func name(_ place: LinkPlace) -> LinkName { links[place]?.name ?? unknown(place) }

  /// Adds a new connection.
  mutating func begin(_ place: LinkPlace, _ name: LinkName) {
    let link = new(place, name, isKnown: true)
    keep(link, at: place)
  }

  /// Removes a connection. What was learned is kept for the peer's next one.
  mutating func end(_ place: LinkPlace) {
    guard let link = links.removeValue(forKey: place) else { return }
    learn(host: link.local.database, place.adapter)
    if remembered.count >= Self.most { remembered.removeAll() }
    for address in link.name.addresses {
      remembered[Device(adapter: place.adapter, address: address)] = link.remote.database
    }
  }

  private mutating func learn(host: LearnedDatabase, _ adapter: UInt16) {
    if host.count >= hosts[adapter]?.count ?? 0 { hosts[adapter] = host }
  }

  /// Learns what another table knows of the hosts, also by the links that are still up there.
  mutating func learnHosts(of other: LinkTable) {
    for (adapter, host) in other.hosts { learn(host: host, adapter) }
    for (place, link) in other.links { learn(host: link.local.database, place.adapter) }
  }

  /// Removes all links of an adapter that was reset or removed.
  mutating func endAll(of adapter: UInt16) {
    for place in links.keys where place.adapter == adapter { end(place) }
  }
}
