// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import System
import Wire

/// A phone on a UNIX socket (`--att unix:PATH`): connects, and after every end again, with a pause that
/// grows as long as nobody is there.
@LoopActor final class SocketSource: LinkSource {
  private let path: String
  private unowned let supervisor: Supervisor
  private static let pauses: [Duration] = [
    .milliseconds(50), .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1),
    .seconds(2), .seconds(5),
  ]

  private(set) var wait = Wait.phone(.dialling) { didSet { supervisor.updateWait() } }

  init(_ path: String, _ supervisor: Supervisor) {
    self.path = path
    self.supervisor = supervisor
  }

  func run() async {
    var failures = 0
    while !supervisor.isStopping {
      do {
        let socket = try PacketSocket.connect(unix: path)
        wait = .phone(.dialling)
        // A phone that leaves before there is a session is not dialled without a pause either.
        failures = await supervisor.serve(UnixLink(socket)) ? 0 : failures + 1
      } catch {
        wait = .phone(.nobodyListens(path: path, error.errno.text))
        failures += 1
      }
      await supervisor.platform.sleep(for: Self.pauses[min(failures, Self.pauses.count - 1)])
    }
  }
}

/// An ATT bearer on a socket of packets, one PDU each.
@LoopActor final class UnixLink: WiredLink {
  var onPacket: ([UInt8]) -> Void = { _ in } { didSet { socket.onPacket = onPacket } }
  var onEnd: (String) -> Void = { _ in }
  var onWaitChange: () -> Void = {}
  private let socket: PacketSocket

  init(_ socket: PacketSocket) {
    self.socket = socket
    socket.onClose = { [weak self] errno in
      self?.ended(errno?.description ?? "the phone closed the socket")
    }
  }

  func send(_ pdu: [UInt8]) { socket.send(pdu) }

  func end(_ reason: String) {
    socket.close()
    ended(reason)
  }

  private func ended(_ reason: String) {
    let report = onEnd
    onEnd = { _ in }
    report(reason)
  }
}
