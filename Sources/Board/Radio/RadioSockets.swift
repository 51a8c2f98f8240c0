// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Control
import EventLoop
import Mgmt
import System
import Wire

// The kernel sockets that all adapters share, the management channel and rfkill, and what closes phones' ATT channels.
extension Radio {
  func openSockets() throws(BluetoothError) {
    let channel = try platform.openManagement()
    let kernelLog = log.limited(by: LogBudget("packets of the kernel", platform.scheduler))
    mgmt.onMalformed = { malformed in
      kernelLog.warning("dropped from the kernel: \(malformed.error)")
      kernelLog.debug("what was dropped: \(malformed)")
    }
    channel.attach(mgmt) { [weak self] in self?.onClosed() }
    self.channel = channel
    rfkill = platform.openRFKill()
    rfkill?.onChange = { [weak self] in self?.rfkillChanged() }
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
      self?.rfkillChanged()
    }
    await withCheckedContinuation { rfkillWaiters.append($0) }
    platform.scheduler.cancel(timer)
    return true
  }

  /// Ends all waiting.
  func rfkillChanged() {
    let waiting = rfkillWaiters
    rfkillWaiters = []
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
    if !platform.mayAcceptPhones { for adapter in sortedAdapters { adapter.retire() } }
  }
}
