// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Arguments
import Control
import EventLoop
import Mgmt
import Wire

/// The way to a more secure link, as the central: the kernel encrypts by the key it has, or pairs; what it
/// wants to know while pairing is asked of the person.
@LoopActor
final class CentralPairing {
  private let adapter: CentralAdapter
  private let ask: (String) async -> String?
  private let tell: (String) -> Void
  private var failure: MgmtStatus?

  /// Pairing takes a person's time, and each step of SMP may take 30 s (Vol 3 Part H, 3.4).
  private static let patience = Duration.seconds(60)
  /// No event tells of encryption by a stored key.
  private static let pace = Duration.milliseconds(50)

  init(
    _ adapter: CentralAdapter, ask: @escaping (String) async -> String?,
    tell: @escaping (String) -> Void
  ) {
    self.adapter = adapter
    self.ask = ask
    self.tell = tell
    adapter.onEvent = { [weak self] in self?.receive($0) }
  }

  func end() { adapter.onEvent = { _ in } }

  /// Waits until the link has that level.
  func wait(for wanted: SecurityLevel, on socket: ATTSocket) async throws(Failure) {
    let deadline = Loop.shared.now + Self.patience
    while Loop.shared.now < deadline {
      if let failure {
        throw Failure(.refused, "securing the link", "\(failure): \(failure.sentence)")
      }
      guard socket.packets.isOpen else {
        throw Failure(
          .refused, "securing the link", "the link was lost over it",
          remedy: "if the two were paired before, one of them forgot that: forget it on the device "
            + "too, and here by “unpair”")
      }
      if let level = socket.security()?.level, level >= wanted { return }
      await Loop.shared.sleep(for: Self.pace)
    }
    throw Failure(.tryAgain, "securing the link", "it took too long")
  }

  private func receive(_ event: MgmtEvent) {
    switch event {
    case .authenticationFailed(_, let status): failure = status
    case .userConfirmRequest(let peer, let hint, let passkey):
      Loop.start { [self] in
        let question =
          hint ? "Pair with \(peer)? (yes or no)" : "Does \(peer) show \(passkey)? (yes or no)"
        // A mere “may it pair?” was answered by the one who typed the command.
        let answer = hint ? "yes" : await ask(question)
        let isYes = answer?.lowercased().hasPrefix("y") ?? false
        await send(isYes ? .userConfirmReply(peer) : .userConfirmNegativeReply(peer))
      }
    case .userPasskeyRequest(let peer):
      Loop.start { [self] in
        let answer = await ask("The six digits that \(peer) shows:")
        let passkey = answer.flatMap { Passkey($0) }
        await send(passkey.map { .userPasskeyReply(peer, $0) } ?? .userPasskeyNegativeReply(peer))
      }
    case .passkeyNotify(let peer, let passkey, entered: 0):
      tell("Type \(passkey) on \(peer).")
    default: break
    }
  }

  private func send(_ command: MgmtCommand) async {
    do throws(MgmtError) {
      try await adapter.mgmt.call(command, index: adapter.index)
    } catch {
      failure = failure ?? error.status
    }
  }
}
