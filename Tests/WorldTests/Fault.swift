// SPDX-License-Identifier: GPL-3.0-or-later
import Synchronization
import System

/// Something that goes wrong in a life: where, at the how manyth opportunity, and how.
struct Fault: Hashable, Sendable, CustomStringConvertible {
  enum Place: String, CaseIterable, Sendable {
    /// A PDU on the air, in either direction.
    case pdu
    /// A command to the kernel, a response to one, and an event of the kernel.
    case command, response, event
    /// A turn of the clock.
    case turn
    /// The phone connects.
    case meeting
    /// A change on the disk, and a look at it.
    case file, read
  }

  enum Kind: String, CaseIterable, Sendable {
    case linkLost, lost, twice, late, tooLate, error, malformed, truncated
    case unplugged, replugUnseen, poweredOff, suspended
    /// The air is silent for a while; or it loses so much for a minute that most things come late.
    case blackout, poorAir
    /// The board believes that the phone is connected, and the phone does not.
    case halfOpen
    /// The phone takes ANCS away for some seconds, and has it at other handles then.
    case servicesMoved
    case noSpace, inputOutput, readOnly, powerCut
    /// From then on until nothing goes wrong any more.
    case full, broken
  }

  var place: Place
  var index: Int
  var kind: Kind
  var description: String { "\(place.rawValue) \(index) \(kind.rawValue)" }

  /// What can go wrong where.
  static let kinds: [Place: [Kind]] = [
    .pdu: [
      .linkLost, .lost, .twice, .late, .error, .malformed, .truncated, .unplugged, .poweredOff,
    ],
    .command: [.error, .late, .tooLate, .lost, .unplugged, .poweredOff],
    .response: [.lost, .twice, .late, .tooLate, .malformed, .truncated],
    .event: [.lost, .twice, .late, .tooLate, .malformed, .truncated, .unplugged, .poweredOff],
    .turn: [
      .linkLost, .suspended, .powerCut, .unplugged, .replugUnseen, .poweredOff, .servicesMoved,
      .blackout, .poorAir,
    ],
    .meeting: [.linkLost, .halfOpen],
    .file: [.noSpace, .inputOutput, .readOnly, .powerCut, .full],
    .read: [.inputOutput, .broken],
  ]
}

/// The faults of the disk, which is used from anywhere.
final class FileFaults: Sendable {
  private struct State {
    var plan: [Fault]
    var opportunities: [Fault.Place: Int] = [.file: 0, .read: 0]
    var isOver = false
    /// Since a power cut nothing reaches the disk.
    var isCut = false
    /// Why nothing can be written, or read, any more.
    var lasting: [Fault.Place: Errno] = [:]
  }

  private let state: Mutex<State>

  init(_ plan: [Fault]) {
    state = Mutex(State(plan: plan.filter { $0.place == .file || $0.place == .read }))
  }

  /// Nothing goes wrong any more, and nothing is counted.
  func end() { state.withLock { $0.isOver = true } }

  /// How often something was written and looked at.
  var opportunities: [Fault.Place: Int] { state.withLock { $0.opportunities } }

  /// The faults that did not come up.
  var rest: [Fault] { state.withLock { $0.plan } }

  /// Something is to be done: why it is not.
  func operation(_ call: MemoryDisk.Call) -> Errno? {
    let place = call.changesSomething ? Fault.Place.file : .read
    return state.withLock { state in
      if state.isOver { return nil }
      let index = state.opportunities[place, default: 0]
      state.opportunities[place] = index + 1
      let due = state.plan.firstIndex { $0.place == place && $0.index == index }
      let kind = due.map { state.plan.remove(at: $0).kind }
      if kind == .powerCut { state.isCut = true }
      if kind == .full { state.lasting[place] = .noSpace }
      if kind == .broken { state.lasting[place] = .inputOutput }
      if state.isCut { return .inputOutput }
      return switch kind {
      case .noSpace: .noSpace
      case .inputOutput: .inputOutput
      case .readOnly: Errno(rawValue: 30)
      default: state.lasting[place]
      }
    }
  }

  /// Whether the power is to be cut now.
  func takePowerCut() -> Bool {
    state.withLock { state in
      defer { state.isCut = false }
      return state.isCut
    }
  }
}
