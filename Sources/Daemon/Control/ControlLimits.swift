// SPDX-License-Identifier: GPL-3.0-or-later
import Board
import JSON

/// What the clients of the control socket may use, each and together (docs/security.md, “Limits”).
enum ControlLimits {
  /// The maximum number of clients.
  static let clients = 64
  /// File descriptors reserved for bonds, links and adapters.
  static let spareDescriptors = 32
  /// The longest line that is read, in bytes. The longest legitimate request is a `gatt.write` of
  /// 512 bytes, and a batch of any others fits.
  static let line = 16_384
  /// The maximum nesting and cost of a line's values. A full batch costs half of it.
  static let json = JSONLimits(depth: 8, cost: 2_048)
  /// The maximum number of requests in a batch.
  static let batch = 64
  /// The maximum number of a client's requests in progress, unless they are a batch. Beyond it, the
  /// daemon stops reading from the client.
  static let requestsOfClient = 16
  /// The maximum number of requests in progress for all clients. Beyond it, requests are refused.
  static let requests = 256
  /// The maximum bytes of events waiting for a client that does not read. Beyond it, the client is
  /// dropped.
  static let queue = 1 << 20
  /// The maximum bytes passed to a client's socket before the client has read the earlier ones.
  static let window = 256 << 10
  /// The longest response in bytes: more would not fit into the queue.
  static let response = queue - window
  /// The longest page of a list in bytes. Every client can read lines of that length.
  static let page = 256 << 10
}
