// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import Fleet
import MQTT
import System
import Wire

/// Tells the daemon the bridge's state when it changes, and its counters now and then.
@LoopActor final class BridgeReporter {
  var report: BridgeReport
  private let control: DaemonLink
  /// What the daemon knows; nil: nothing.
  private var known: BridgeReport?
  private lazy var counters = Deadline(Loop.shared) { [weak self] in self?.send() }

  /// The minimum interval between reports of counters.
  private static let interval = Duration.seconds(5)

  init(_ plan: BridgePlan, _ control: DaemonLink) {
    self.control = control
    report = BridgeReport()
    report.broker = "\(plan.identity.address)"
    report.client = plan.identity.clientID
    report.user = plan.identity.user
    report.version = Program.build
    report.topics = plan.topics.root
    report.since = .now
  }

  /// The daemon is there again, and knows nothing.
  func daemonCame() { known = nil }

  func tell(_ machine: BrokerMachine, waiting: Int) {
    if report.state != machine.reported {
      report.state = machine.reported
      report.since = .now
    }
    report.why = machine.trouble
    report.waiting = waiting
    guard let known, known.withCounters(of: report) == report else { return send() }
    if known != report { counters.limit(to: Loop.shared.now + Self.interval) }
  }

  private func send() {
    guard control.isUp else { return }
    known = report
    control.call(ControlMethods.reportBridge, report) { _ in }
  }
}

extension BridgeReport {
  fileprivate func withCounters(of other: BridgeReport) -> BridgeReport {
    var report = self
    (report.waiting, report.sent, report.skipped) = (other.waiting, other.sent, other.skipped)
    return report
  }
}

extension BrokerMachine {
  /// The state in a report.
  fileprivate var reported: BridgeReport.State {
    switch state {
    case .connecting: .connecting
    case .connected, .leaving, .gone: .connected
    case .waiting: failures == 0 ? .connecting : .waiting
    case .refused: .refused
    }
  }
}
