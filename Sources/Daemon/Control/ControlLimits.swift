// SPDX-License-Identifier: GPL-3.0-or-later
import Board
import JSON

/// What the clients of the control socket may use up together and each (docs/security.md, “Limits”).
enum ControlLimits {
  /// The most clients at a time.
  static let clients = 64
  /// How many file descriptors no client gets: bonds, links and adapters need them.
  static let spareDescriptors = 32
  /// The longest line that is read, in bytes. The longest legitimate request is a `gatt.write` of
  /// 512 bytes, and a batch of any others fits.
  static let line = 16_384
  /// How deep a line's arrays and objects may be nested, and what its values may cost: a batch costs half of it.
  static let json = JSONLimits(depth: 8, cost: 2_048)
  /// The most requests in a batch.
  static let batch = 64
  /// The most requests of a client that are under way, unless they are a batch. Beyond it, it is not read.
  static let requestsOfClient = 16
  /// The most requests that are under way together. Beyond it, they are refused.
  static let requests = 256
  /// The most events that wait for a client that does not read, in bytes. Beyond it, it is dropped.
  static let queue = 1 << 20
  /// How much is given to a client's socket before it has read what came before, in bytes.
  static let window = 256 << 10
  /// The longest answer, in bytes: more would not fit into the queue.
  static let answer = queue - window
  /// The longest page of a list, in bytes. Lines of that length are read by every client.
  static let page = 256 << 10
}
