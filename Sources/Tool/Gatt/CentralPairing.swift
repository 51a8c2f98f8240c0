// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Control
import EventLoop
import Mgmt
import Wire

/// Raises a link's security as the central: the kernel encrypts with the key it has, or pairs. The
/// user is asked what the kernel needs to know for that.
@LoopActor final class CentralPairing {
  private let adapter: CentralAdapter
  private let radio: KernelRadio
  private var failure: MgmtStatus?

  /// Pairing takes a user's time, and each step of SMP may take 30 s (Vol 3 Part H, 3.4).
  private static let patience = Duration.seconds(60)
  /// No event reports encryption with a stored key, so the level is polled.
  private static let pace = Duration.milliseconds(50)

  /// - Parameter radio: asks and informs the user.
  init(_ adapter: CentralAdapter, for radio: KernelRadio) {
    self.adapter = adapter
    self.radio = radio
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
        // With a hint the question is only whether to pair, which the user's command has answered.
        let answer = hint ? "yes" : await radio.ask("Does \(peer) show \(passkey)? (yes or no)")
        let isYes = answer?.lowercased().hasPrefix("y") ?? false
        await send(isYes ? .userConfirmReply(peer) : .userConfirmNegativeReply(peer))
      }
    case .userPasskeyRequest(let peer):
      Loop.start { [self] in
        let answer = await radio.ask("The six digits that \(peer) shows:")
        let passkey = answer.flatMap { Passkey($0) }
        await send(passkey.map { .userPasskeyReply(peer, $0) } ?? .userPasskeyNegativeReply(peer))
      }
    case .passkeyNotify(let peer, let passkey, entered: 0):
      radio.inform("Type \(passkey) on \(peer).")
    default: break
    }
  }

  private func send(_ command: MgmtCommand) async {
    do throws(MgmtError) {
      try await adapter.call(command)
    } catch {
      failure = failure ?? error.status
    }
  }
}
