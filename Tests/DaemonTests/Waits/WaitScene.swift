// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Testing

@testable import Daemon

/// A wait as it comes about: what happens, and how the daemon calls it then.
struct WaitScene: Sendable, CustomTestStringConvertible {
  let name: String
  let play: @LoopActor @Sendable () async throws -> Wait?

  init(_ name: String, _ play: @escaping @LoopActor @Sendable () async throws -> Wait?) {
    self.name = name
    self.play = play
  }

  var testDescription: String { name }

  static let all = adapters + phones + security + services
}
