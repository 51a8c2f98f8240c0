// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import JSON
import System

/// The control socket: lets clients in that may, reads their lines, and writes answers and events.
///
/// A client that does not read is dropped when its queue is full; it never holds up the radio or
/// another client.
@LoopActor
final class ControlServer {
  private unowned let supervisor: Supervisor
  private let listener: UnixListener
  private let answers: ControlAnswers
  private let group: UInt32?
  private var clients: [Int: Client] = [:]
  private var lastClient = 0
  private var listening: Int?

  /// A client and what it subscribed to.
  private final class Client {
    let socket: LineSocket
    var session = ControlSession()

    init(_ socket: LineSocket) { self.socket = socket }
  }

  /// Listens at `path`, for root, the daemon's user and the members of the group `ancsd`.
  init(_ supervisor: Supervisor, at path: String) throws(SystemError) {
    self.supervisor = supervisor
    answers = ControlAnswers(supervisor)
    group = Host.groupID(named: UsualPlaces.group)
    // The usual place for root is in a folder of its own, which a fresh board does not have.
    if path == UsualPlaces.socket, let folder = Files.parent(of: path) {
      try Files.makeDirectory(folder, mode: 0o755)
    }
    listener = try UnixListener(at: path, .stream, mode: 0o660, group: group)
    listener.onConnection = { [weak self] connection, peer in self?.accept(connection, peer) }
    listener.onError = { [log = supervisor.log] in log.warning("a control client was lost: \($0)") }
    listening = supervisor.journal.listen { [weak self] in self?.tell($0) }
  }

  /// Ends every client's connection, once it was given what waits, and listens no more.
  func close() {
    if let listening { supervisor.journal.ignore(listening) }
    listener.close()
    for client in clients.values { client.socket.closeAfterSending() }
  }

  private func accept(_ connection: consuming FileDescriptor, _ peer: PeerCredentials) {
    guard
      peer.userID == 0 || peer.userID == Host.userID
        || group.map({ peer.isMember(of: $0) }) == true
    else {
      return supervisor.log.notice("refused a control client of user \(peer.userID)")
    }
    lastClient += 1
    let id = lastClient
    let client = Client(
      LineSocket(
        owning: connection, lineLimit: ControlSession.maximumLineLength,
        queueLimit: ControlSession.maximumQueueLength))
    clients[id] = client
    client.socket.onClose = { [weak self] end in
      if case .queueFull = end {
        self?.supervisor.log.notice("dropped a control client that does not read")
      }
      self?.clients[id] = nil
    }
    // What sends so much without a line end will not end, or is no client at all.
    client.socket.onOverlong = { [weak client] in
      client?.socket.send(
        ControlSession.reply(.invalidRequest("the line is too long"), id: .null))
      client?.socket.closeAfterSending()
    }
    // A client that has said everything still waits for its answers.
    client.socket.onEnd = { [weak self] in self?.finish(id) }
    client.socket.onLine = { [weak self] line in self?.take(line, from: id) }
  }

  private func finish(_ id: Int) {
    guard let client = clients[id], client.session.subscription == nil else { return }
    client.socket.closeAfterSending()
  }

  private func take(_ line: [UInt8], from id: Int) {
    guard let client = clients[id] else { return }
    switch client.session.receive(line) {
    case .nothing: break
    case .reply(let bytes): client.socket.send(bytes)
    case .request(.subscribe(let subscription), let request):
      let events = client.session.subscribe(
        subscription, active: answers.active(), ring: supervisor.journal.ring)
      if let request { client.socket.send(ControlSession.reply(true, id: request)) }
      for event in events { client.socket.send(RPCLine.event(event.json)) }
    case .request(let asked, let request):
      Loop.start { [weak self] in
        let reply = await self?.answer(asked, request)
        if let reply { self?.clients[id]?.socket.send(reply) }
      }
    }
  }

  private func answer(_ asked: ControlRequest, _ request: RequestID?) async -> [UInt8]? {
    do {
      let result = try await answers.answer(asked)
      return request.map { ControlSession.reply(result, id: $0) }
    } catch {
      return request.map { ControlSession.reply(error, id: $0) }
    }
  }

  private func tell(_ event: NumberedEvent) {
    let listeners = clients.values.filter { $0.session.wants(event.event) }
    guard !listeners.isEmpty else { return }
    let line = RPCLine.event(event.json)
    for client in listeners { client.socket.send(line) }
  }
}
