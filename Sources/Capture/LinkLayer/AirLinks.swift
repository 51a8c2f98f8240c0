// SPDX-License-Identifier: GPL-3.0-or-later

/// The connections that a sniffer hears, by their access addresses.
struct AirLinks: Sendable {
  /// What there is to know for reading one connection's packets.
  struct Link: Sendable {
    /// Counted in the order in which the connections come up: the air knows no handles.
    let handle: UInt16
    /// Whether the link layer has agreed on encryption.
    var isEncrypted = false
    /// Whether it was said that the rest of it can't be read.
    var isGivenUp = false
    fileprivate var last: Heard?
    fileprivate var sent: [UInt8]?
    fileprivate var received: [UInt8]?
  }

  fileprivate struct Heard {
    var time: CaptureTime
    var duration: Int64
    var direction: CaptureDirection
  }

  private var links: [UInt32: Link] = [:]
  private var count: UInt16 = 0

  /// A capture with more than this at once is one of noise.
  private static let mostLinks = 256

  /// A connection has begun; its handle.
  mutating func begin(_ accessAddress: UInt32) -> UInt16 {
    let link = newLink()
    links[accessAddress] = link
    return link.handle
  }

  private mutating func newLink() -> Link {
    if links.count >= Self.mostLinks { links.removeAll() }
    defer { count = (count + 1) & 0x0FFF }
    return Link(handle: count)
  }

  mutating func end(_ accessAddress: UInt32) { links[accessAddress] = nil }

  /// Changes a connection; a new one where it was not heard to begin.
  mutating func change<Value>(
    _ accessAddress: UInt32, _ change: (inout Link) -> Value
  ) -> Value {
    var link = links[accessAddress] ?? newLink()
    defer { links[accessAddress] = link }
    return change(&link)
  }
}

extension AirLinks {
  /// Takes note of a data packet: which way it went, and whether it had been heard before. One that was
  /// heard wrong was not heard.
  mutating func hear(
    _ packet: AirPacket, at time: CaptureTime
  ) -> (direction: CaptureDirection, isRepeated: Bool) {
    // What has no content begins no connection: it may be the last of one.
    guard packet.length > 0 || links[packet.accessAddress] != nil else {
      return (packet.remarks.direction ?? .received, false)
    }
    return change(packet.accessAddress) { link in
      let direction = link.direction(of: packet, at: time)
      return (direction, !packet.remarks.isDamaged && link.isRepeated(packet, direction))
    }
  }
}

extension AirLinks.Link {
  /// The longest time between a packet and its answer, in microseconds: the inter frame space (Vol 6
  /// Part B, 4.1.1), and as much for a sniffer's clock.
  private static let answerTime: Int64 = 300

  /// As the sniffer says, else by the time: the central speaks first in each connection event, and then
  /// they take turns without a pause.
  fileprivate mutating func direction(
    of packet: AirPacket, at time: CaptureTime
  ) -> CaptureDirection {
    var direction = packet.remarks.direction ?? .received
    if packet.remarks.direction == nil, let last,
      (0...last.duration + Self.answerTime).contains(time.microseconds(since: last.time))
    {
      direction = last.direction == .sent ? .received : .sent
    }
    last = AirLinks.Heard(time: time, duration: packet.duration, direction: direction)
    return direction
  }

  /// Whether it is sent again, since the other side had not heard it: the same number as the one before,
  /// and the same content.
  fileprivate mutating func isRepeated(
    _ packet: AirPacket, _ direction: CaptureDirection
  ) -> Bool {
    let new = [packet.sequenceNumber] + packet.payload
    switch direction {
    case .sent:
      defer { sent = new }
      return sent == new
    case .received:
      defer { received = new }
      return received == new
    }
  }
}
