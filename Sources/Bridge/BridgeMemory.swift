// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Fleet
import JSON
import System
import Wire

/// What the bridge keeps on disk: which phone has which name, which is written when a phone comes for the first time; and
/// up to which event the broker has everything, which is written at most once a second.
///
/// The second belongs to one life of the daemon, so that under systemd it is in a file system in memory
/// (`RuntimeDirectory`), which lasts as long as that.
@LoopActor final class BridgeMemory {
  /// Called once when something can't be written; the bridge goes on without.
  var onFailure: (String) -> Void = { _ in }

  private let names: String
  private let position: String
  private var saved: Position?
  private var wanted: Position?
  private var timer: TimerID?
  private var hasFailed = false

  private static let pause = Duration.seconds(1)
  private static let longest = 1 << 16

  init(folder: String, runtimeFolder: String) {
    names = folder + "/phones.json"
    position = runtimeFolder + "/delivered.json"
  }

  /// The names that were found for phones.
  func readNames() -> [Address: TopicName] {
    guard let object = read(names)?.object else { return [:] }
    var found: [Address: TopicName] = [:]
    for (name, value) in object.members {
      if let name = TopicName(name), let address = Address(json: value) { found[address] = name }
    }
    return found
  }

  func saveNames(_ found: [Address: TopicName]) {
    var object = JSONObject()
    for (address, name) in found.sorted(by: { $0.value.description < $1.value.description }) {
      object.add(name.description, .string(address.description))
    }
    write(JSONValue.object(object).json, to: names)
  }

  /// The last event that the broker has acknowledged.
  func readPosition() -> Position? {
    saved = read(position).flatMap { Position(json: $0) }
    return saved
  }

  /// Takes note of it, and writes it soon.
  func note(_ position: Position?) {
    guard let position, position != saved else { return }
    wanted = position
    guard timer == nil else { return }
    timer = Loop.shared.schedule(after: Self.pause) { [weak self] in self?.flush() }
  }

  /// Writes what is not written yet.
  func flush() {
    if let timer { Loop.shared.cancel(timer) }
    timer = nil
    guard let wanted, wanted != saved else { return }
    if write(wanted.json, to: position) { saved = wanted }
  }

  private func read(_ path: String) -> JSONValue? {
    guard let bytes = try? Files.read(path, limit: Self.longest) else { return nil }
    return try? JSONValue(parsing: bytes)
  }

  @discardableResult private func write(_ bytes: [UInt8], to path: String) -> Bool {
    do throws(SystemError) {
      try AtomicFile.save(bytes + [UInt8(ascii: "\n")], to: path)
      hasFailed = false
      return true
    } catch {
      // A full disk is no fault of the link: what is lost is where to go on after the next start.
      if !hasFailed { onFailure("\(error)") }
      hasFailed = true
      return false
    }
  }
}
