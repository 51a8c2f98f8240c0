// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import EventLoop
import GATT
import System
import Wire

/// A link without a radio: an ATT bearer on a socket of packets, one PDU each, taken as encrypted.
@LoopActor
public final class UnixLink: PhoneLink {
  public let adapter: String? = nil
  public let phone: DeviceAddress? = nil
  public let isBonded = false
  public let security = LinkSecurity.encrypted

  public var onPacket: ([UInt8]) -> Void = { _ in } { didSet { socket.onPacket = onPacket } }
  public var onEnd: (String) -> Void = { _ in }

  private let socket: PacketSocket

  public init(_ socket: PacketSocket) {
    self.socket = socket
    socket.onClose = { [weak self] errno in
      self?.ended(errno?.description ?? "the phone closed the socket")
    }
  }

  public func send(_ pdu: [UInt8]) { socket.send(pdu) }
  public func secure() async -> Bool { true }
  public func raiseSecurity() async -> Bool { false }

  public func end(_ reason: String) {
    socket.close()
    ended(reason)
  }

  private func ended(_ reason: String) {
    let told = onEnd
    onEnd = { _ in }
    told(reason)
  }
}
