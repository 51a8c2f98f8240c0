// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Control
import EventLoop
import Mgmt
import System
import Wire

/// The kernel sockets that all adapters share, the management channel and rfkill, and what closes phones' ATT channels.
@LoopActor package final class RadioSockets {
  let mgmt: MgmtClient
  /// Called when no more phones are accepted.
  var onFull: () -> Void = {}
  /// Called when the kernel has closed the management channel.
  package var onClosed: () -> Void = {}

  private let platform: any Platform
  private let log: Log
  /// For lines that any phone in range can cause.
  private let strangersLog: Log
  private var channel: (any ManagementChannel)?
  private var rfkill: (any RFKillDevice)?
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var isStopping = false

  init(_ platform: any Platform, _ log: Log, strangersLog: Log) {
    self.platform = platform
    self.log = log
    self.strangersLog = strangersLog
    mgmt = MgmtClient(scheduler: platform.scheduler)
  }

  func open() throws(BluetoothError) {
    let channel = try platform.openManagement()
    let kernelLog = log.limited(by: LogBudget("packets of the kernel", platform.scheduler))
    mgmt.onMalformed = { malformed in
      kernelLog.warning("dropped from the kernel: \(malformed.error)")
      kernelLog.debug("what was dropped: \(malformed)")
    }
    channel.attach(mgmt) { [weak self] in self?.onClosed() }
    self.channel = channel
    rfkill = platform.openRFKill()
    rfkill?.onChange = { [weak self] in self?.radioChanged() }
  }

  /// Called when the daemon begins to stop: ends all waiting.
  func beginStopping() {
    isStopping = true
    radioChanged()
  }

  /// Performs `work` with the management channel; skips what the kernel has not done by `deadline`.
  func close(by deadline: Instant, after work: @LoopActor () async -> Void) async {
    let left = MgmtError.closed("the daemon is exiting")
    let timer = platform.scheduler.schedule(at: deadline) { [mgmt] in mgmt.close(left) }
    await work()
    platform.scheduler.cancel(timer)
    mgmt.close(left)
    channel?.close()
  }

  /// What prevents setting up an adapter: the kernel's bug, rfkill or bluetoothd; nil if nothing.
  func obstacle(to index: ControllerIndex) -> Wait? {
    guard platform.mayAcceptPhones else { return .silentLinks }
    return switch rfkill?.state(of: index.value) {
    case .soft: .blocked
    case .hard: .blockedBySwitch
    case nil, .unblocked: platform.isBluetoothDaemonRunning ? .bluetoothd : nil
    }
  }

  /// While rfkill blocks an adapter, waits until that may have changed, for some seconds at most; mgmt
  /// does not report it.
  ///
  /// - Returns: whether the adapter was blocked.
  func waitForRadio(_ index: ControllerIndex) async -> Bool {
    guard !isStopping, let state = rfkill?.state(of: index.value), state != .unblocked else {
      return false
    }
    let timer = platform.scheduler.schedule(after: .seconds(10)) { [weak self] in
      self?.radioChanged()
    }
    await withCheckedContinuation { waiting.append($0) }
    platform.scheduler.cancel(timer)
    return true
  }

  private func radioChanged() {
    let waiting = waiting
    self.waiting = []
    for waiter in waiting { waiter.resume() }
  }

  /// Closes a phone's channel, if that does not crash the kernel. When no more sockets may be left open, no more
  /// phones are accepted, and existing links are closed while that is safe.
  func close(_ channel: any ATTChannel) {
    channel.close()
    guard channel.isLeftOpen else { return }
    strangersLog.notice(
      "\(channel.peer) never sent a byte: leaving its socket open, because this kernel would crash on "
        + "closing it; a newer kernel would not")
    if !platform.mayAcceptPhones { onFull() }
  }
}
