// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Wire

extension Supervisor {
  /// What the daemon itself waits for, where there is neither an adapter nor a link that would say it.
  var wait: Wait? {
    if let source { return sessions.isEmpty ? source.wait : nil }
    guard let radio, radio.isStarted, options.adapters.isEmpty, radio.adapters.isEmpty else {
      return nil
    }
    return .noAdapter(nil)
  }

  /// What everything waits for now: the daemon, the adapters, the links.
  var standings: [WaitBoard.Standing] {
    var standings: [WaitBoard.Standing] = []
    if let wait { standings.append(.init(.init(), wait)) }
    for choice in radio?.missing ?? [] where radio?.isStarted == true {
      standings.append(.init(.init(adapter: "\(choice)"), .noAdapter("\(choice)")))
    }
    for adapter in radio?.adapters.values.sorted(by: { $0.index < $1.index }) ?? [] {
      guard let wait = adapter.wait else { continue }
      standings.append(.init(.init(adapter: adapter.name), wait))
    }
    for session in sessions {
      guard let wait = session.wait else { continue }
      let phone = (session.link.phone ?? session.phone.identity)?.address
      standings.append(
        .init(.init(adapter: session.link.adapter, link: session.number, phone: phone), wait))
    }
    return standings
  }

  /// Tells what changes: as an event at once, and in the log when it has lasted.
  func watchWaits() {
    waits.current = { [unowned self] in standings }
    waits.onChange = { [unowned self] standing in
      let subject = standing.subject
      let content = Event.Content.why(
        wait: standing.wait.name, why: standing.wait.sentence(name: name))
      journal.mention(Event(content, adapter: subject.adapter, phone: subject.phone))
      if options.printsWhy { log.say(line(standing)) }
    }
    waits.onLasting = { [unowned self] standing in
      if options.printsWhy { return }
      switch standing.wait {
      case .lost, .failing: log.warning(line(standing))
      case let wait where wait.isRest: log.info(line(standing))
      default: log.notice(line(standing))
      }
    }
    // Most of what is told comes with another wait; what the phone has to show does not.
    _ = journal.listen { [waits] event in
      switch event.event.name {
      case .why, .notification, .media, .battery, .time: break
      default: waits.mayHaveChanged()
      }
    }
  }

  private func line(_ standing: WaitBoard.Standing) -> String {
    let subject = [standing.subject.adapter, standing.subject.phone?.description]
    return (subject.compactMap { $0 } + [standing.wait.sentence(name: name)])
      .joined(separator: ": ")
  }
}
