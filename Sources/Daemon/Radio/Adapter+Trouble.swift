// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Mgmt
import Wire

// Somebody took the adapter away, or changed it.

extension Adapter {
  /// An event about this adapter that is about no phone.
  func watchOver(_ event: MgmtEvent) {
    if let found = watch?.receive(event, at: Loop.shared.now) { return fall(found) }
    watchTime()
  }

  /// Looks again when the watch wants to; each event may have put that off.
  private func watchTime() {
    guard let deadline = watch?.deadline, watchTimer == nil else { return }
    watchTimer = Loop.shared.schedule(at: deadline) { [weak self] in
      guard let self else { return }
      watchTimer = nil
      if let found = watch?.timePassed(to: Loop.shared.now) { return fall(found) }
      watchTime()
    }
  }

  /// Says once what happened, and gets the adapter back when that can be.
  private func fall(_ found: AdapterTrouble) {
    let isNew = trouble == nil
    cancelTimers()
    closeController()
    watch = nil
    air.isOn = false
    air.told = nil
    if isNew {
      let trouble = radio.obstacle(to: index) ?? .lost(found, index)
      self.trouble = trouble
      post(
        .error(
          what: "adapter", code: nil, message: trouble.sentence(name: supervisor.name)))
    }
    if found == .removed {
      supervisor.log.warning(found.sentence(adapter: index))
      return radio.removed(self)
    }
    if isNew { Loop.start { await self.recover() } }
  }

  /// Tries to set the adapter up again, as soon as no bluetoothd is in the way.
  func recover() async {
    var pause: Duration = .seconds(1)
    while radio.adapters[index] === self, !radio.isStopping {
      await Loop.shared.sleep(for: pause)
      pause = min(pause + pause, .seconds(10))
      if let obstacle = radio.obstacle(to: index) { trouble = obstacle }
      await radio.radioIsFree(index)
      if radio.isRivalled() { continue }
      do {
        radio.listenAgain()
        try await setUp()
        return supervisor.log.notice("\(name) is back")
      } catch {
        trouble = radio.obstacle(to: index) ?? .failing("\(error)")
        supervisor.log.info("\(name): \(error)")
      }
    }
  }
}
