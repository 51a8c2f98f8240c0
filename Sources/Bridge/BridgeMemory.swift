// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import Fleet
import JSON
import Wire

/// The bridge's files: what is known of the board and its phones, written when a phone comes or goes; the retained topics,
/// written when there is a new one; and the last event that the broker has acknowledged, written at most once a second.
///
/// The event number is only valid for one run of the daemon, so under systemd it is in memory (`RuntimeDirectory`), and
/// elsewhere no disk is waited for.
@LoopActor final class BridgeMemory {
  let files = StateFiles()
  /// The last event that the broker has acknowledged, with all before it. Read only when it is to be written.
  var position: () -> Position? = { nil }

  private let board: String
  private let retained: String
  private let delivered: String
  private var savedRetained: (broker: BrokerAddress, topics: Set<String>)?
  private var saved: Position?
  private lazy var timer = Deadline(Loop.shared) { [weak self] in self?.flush() }

  private static let pause = Duration.seconds(1)

  init(folder: String, runtimeFolder: String) {
    board = folder + "/board.json"
    retained = folder + "/retained.json"
    delivered = runtimeFolder + "/delivered.json"
  }

  /// What earlier runs have learnt of the board and its phones; a new board if there were none.
  func readBoard() -> BoardRecord {
    if let record = files.read(board).flatMap({ BoardRecord(json: $0) }) { return record }
    let record = BoardRecord(id: Self.newID())
    save(record)
    return record
  }

  func save(_ record: BoardRecord) { files.write(record.json, to: board) }

  /// An id that no other board or phone has.
  nonisolated static func newID() -> String { String(UInt64.random(in: 0...(.max)), radix: 36) }

  /// The topics that earlier runs have left at a broker; nil if there are none.
  func readRetained() -> (broker: BrokerAddress, topics: Set<String>)? {
    guard let record = files.read(retained).flatMap({ RetainedTopics(json: $0) }),
      !record.topics.isEmpty,
      let broker = BrokerAddress(record.broker)
    else { return nil }
    savedRetained = (broker, Set(record.topics))
    return savedRetained
  }

  /// Saves the topics if they have changed. Sets that share their storage, as those without a new topic do, are compared at
  /// once.
  func saveRetained(_ topics: Set<String>, at broker: BrokerAddress) {
    if let savedRetained, savedRetained == (broker, topics) { return }
    let record = RetainedTopics(broker: broker.description, topics: topics.sorted())
    if files.write(record.json, to: retained) { savedRetained = (broker, topics) }
  }

  /// The last event that the broker has acknowledged.
  func readPosition() -> Position? {
    saved = files.read(delivered).flatMap { Position(json: $0) }
    return saved
  }

  /// The position has moved, and is to be written soon.
  func moved() { timer.limit(to: Loop.shared.now + Self.pause) }

  /// Writes pending changes.
  func flush() {
    timer.due = nil
    guard let position = position(), position != saved else { return }
    if files.write(position.json, to: delivered, isOfThisBoot: true) { saved = position }
  }
}

/// A board and its phones, as Home Assistant knows them.
struct BoardRecord: JSONObjectCodable, Hashable {
  var id = ""
  var phones: [PhoneRecord] = []

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("id", &id)
    try json.list("phones", &phones)
  }
}

/// The topics on which a broker may have retained something for this board.
private struct RetainedTopics: JSONObjectCodable {
  var broker = ""
  var topics: [String] = []

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("broker", &broker)
    try json.list("topics", &topics)
  }
}
