// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import ControlClients
import EventLoop
import JSON
import System
import Wire

/// Everything that goes into a report, before redaction.
struct ReportFacts: Sendable {
  var time = WallTime(seconds: 0)
  var program = Program.build
  var system = SystemFacts()
  var board = DoctorFacts()
  var controllers: [ControllerFacts] = []
  /// Nil if there is no daemon, or one that has no timeline.
  var timeline: TimelineReport?
  var known: [KnownLink] = []
  /// The latest events.
  var events: [JSONValue] = []

  /// The system.
  struct SystemFacts: Hashable, Sendable {
    var name: String?
    var model: String?
  }

  /// The maximum number of events shown.
  static let mostEvents = 60
}

extension ReportFacts {
  /// Examines the board and asks the daemon, if one runs.
  @LoopActor static func gather(_ options: ReportOptions) async -> ReportFacts {
    var facts = ReportFacts()
    facts.time = .now
    facts.system = .gather()
    facts.board = await DoctorFacts.gather(
      stateDirectory: options.stateDirectory, socket: options.socket)
    for adapter in facts.board.adapters {
      facts.controllers.append(await ControllerFacts.gather(adapter))
    }
    guard case .status = facts.board.daemon else { return facts }
    let memory = await DaemonProbe.memory(DefaultPaths.sockets(options.socket))
    facts.timeline = memory.timeline
    facts.known = memory.known
    facts.events = memory.events.suffix(mostEvents)
    return facts
  }
}

extension ReportFacts.SystemFacts {
  fileprivate static func gather() -> ReportFacts.SystemFacts {
    var facts = ReportFacts.SystemFacts()
    facts.name = DoctorFacts.text("/etc/os-release")?.split(separator: "\n")
      .first { $0.hasPrefix("PRETTY_NAME=") }
      .map { $0.dropFirst(12).split(separator: "\"").joined() }
    facts.model = DoctorFacts.text("/proc/device-tree/model").map {
      String($0.prefix { $0 != "\0" && $0 != "\n" })
    }
    return facts
  }
}
