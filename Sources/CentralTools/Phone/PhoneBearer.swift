// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import EventLoop
import JSON
import Mgmt
import System
import VirtualPhone

/// The transport of the virtual phone: a UNIX socket that it listens on, or an adapter.
@LoopActor protocol PhoneBearer: AnyObject {
  /// Called with its events, as lines for standard output.
  var onEvent: (JSONObject) -> Void { get set }
  /// Called if it is lost permanently.
  var onFailure: (Failure) -> Void { get set }

  /// Begins to serve.
  func open() async throws(Failure)

  /// Performs a command for the phone, which on the air may be one for the link. Returns the added notifications.
  func perform(_ command: PhoneCommand) throws(PhoneRefusal) -> [NotificationUID]

  /// Performs a command that only the air has.
  func perform(_ command: LinkCommand) throws(PhoneRefusal)

  /// Ends the link, and restores changed settings.
  func close() async
}

/// A command that only the air has.
enum LinkCommand: Hashable, Sendable {
  /// Look for an accessory: this one, or any.
  case connect(AccessoryChoice?)
  /// Forget the bonds.
  case forget
  /// Answer the question of a pairing.
  case respond(accept: Bool, Passkey?)
}

/// A UNIX socket that peers connect to, one after another.
@LoopActor final class PhoneSocket: PhoneBearer {
  var onEvent: (JSONObject) -> Void = { _ in }
  var onFailure: (Failure) -> Void = { _ in }

  private let path: String
  private let phone: VirtualPhone
  private let listener: UnixListener
  private var connection: PacketSocket?

  init(_ path: String, _ phone: VirtualPhone) throws(Failure) {
    self.path = path
    self.phone = phone
    listener = try attempt(try UnixListener(at: path, .packets)) { (error: SystemError) in
      Failure(ExitStatus(error.errno, otherwise: .cannotCreate), "listening on \(path)", error.errno.text)
    }
  }

  func open() {
    listener.onConnection = { [weak self] descriptor, _ in self?.accept(descriptor) }
    onEvent(["event": "listening", "path": .string("unix:\(path)")])
  }

  func perform(_ command: PhoneCommand) throws(PhoneRefusal) -> [NotificationUID] {
    try phone.perform(command)
  }

  func perform(_ command: LinkCommand) throws(PhoneRefusal) {
    throw PhoneRefusal("a socket has no pairing; use “ancsd phone --hciN”")
  }

  func close() {
    connection?.close()
    listener.close()
  }

  private func accept(_ descriptor: consuming FileDescriptor) {
    // A second peer, or any peer while the phone stays away, is disconnected at once. A peer on a socket counts as bonded.
    guard phone.accepts(isBonded: true), !phone.isConnected else { return }
    let socket = PacketSocket(owning: descriptor)
    connection = socket
    socket.onClose = { [weak self] errno in
      self?.disconnected(errno?.text ?? "the other end closed the connection")
    }
    phone.connect(
      send: { [weak socket] in socket?.send($0) },
      hangUp: { [weak self, weak socket] reason in
        socket?.close()
        self?.disconnected(reason)
      })
    socket.onPacket = { [weak self] in self?.phone.receive(Array($0)) }
  }

  private func disconnected(_ reason: String) {
    connection = nil
    phone.disconnected(reason)
  }
}
