// SPDX-License-Identifier: GPL-3.0-or-later
import Board
import Control
import EventLoop
import System
import Wire

/// What a service manager is told about the daemon: an assignment, as sd_notify(3) lists them.
enum ServiceNotice: Hashable, Sendable {
  /// All sockets are open, so that clients and phones may come; or the settings have been read again.
  case ready
  /// What is waited for, for `systemctl status`.
  case status(String)
  /// The settings are being read again, since this point of the monotonic clock.
  case reloading(since: Instant)
  /// The daemon is leaving.
  case stopping
  /// The loop still turns.
  case alive

  /// Whether who hears this need not hear `earlier` any more. The end of a reload needs its beginning.
  func replaces(_ earlier: ServiceNotice) -> Bool {
    switch (self, earlier) {
    case (.stopping, _), (.status, .status), (.ready, .ready), (.alive, .alive),
      (.reloading, .reloading), (.reloading, .ready):
      true
    default: false
    }
  }

  /// Room for a few waits. systemd drops datagrams above 4,096 bytes.
  private static let longestStatus = 1_024

  /// The datagram.
  var bytes: [UInt8] {
    switch self {
    case .ready: Array("READY=1".utf8)
    case .status(let text): Array("STATUS=".utf8) + text.printable.utf8(atMost: Self.longestStatus)
    case .reloading(let time):
      Array("RELOADING=1\nMONOTONIC_USEC=\(time.nanoseconds / 1_000)".utf8)
    case .stopping: Array("STOPPING=1".utf8)
    case .alive: Array("WATCHDOG=1".utf8)
    }
  }
}

/// Keeps the service manager that has started the daemon informed; does nothing where there is none.
///
/// Only a watchdog costs wake-ups: without one nothing is sent but changes.
@LoopActor final class ServiceManager {
  private let channel: (any ServiceManagerChannel)?
  private let scheduler: any Scheduler
  private var status: String?
  private var isReady = false
  /// What it still has to be told, in this order, because its queue was full.
  private var untold: [ServiceNotice] = []
  private var timer: TimerID?
  private static let pause: Duration = .seconds(1)

  init(_ channel: (any ServiceManagerChannel)?, _ scheduler: any Scheduler) {
    self.channel = channel
    self.scheduler = scheduler
  }

  /// Says that all sockets are open. From now on the watchdog, if there is one, hears twice within its time that
  /// the daemon is alive.
  func ready() {
    isReady = true
    send(.ready)
    keepAlive()
  }

  /// Says what is waited for, if that is news.
  func wait(for status: String) {
    guard status != self.status else { return }
    self.status = status
    send(.status(status))
  }

  /// Reads the settings again, and says when that begins and ends; a daemon that is not ready yet says nothing.
  func reloading(_ reload: () -> Void) {
    if isReady { send(.reloading(since: scheduler.now)) }
    reload()
    if isReady { send(.ready) }
  }

  /// Says that the daemon is leaving.
  func stopping() { send(.stopping) }

  private func keepAlive() {
    guard let time = channel?.watchdog else { return }
    send(.alive)
    _ = scheduler.schedule(after: time / 2) { [weak self] in self?.keepAlive() }
  }

  private func send(_ notice: ServiceNotice) {
    untold.removeAll { notice.replaces($0) }
    untold.append(notice)
    if timer == nil { sendUntold() }
  }

  private func sendUntold() {
    timer = nil
    while let notice = untold.first {
      guard channel?.send(notice.bytes) ?? true else {
        return timer = scheduler.schedule(after: Self.pause) { [weak self] in self?.sendUntold() }
      }
      untold.removeFirst()
    }
  }
}

/// The socket of a service manager, by the environment that it gives its services (sd_notify(3),
/// sd_watchdog_enabled(3)).
@LoopActor final class NotifySocket: ServiceManagerChannel {
  let watchdog: Duration?
  private let socket: DatagramSocket

  /// The service manager that has started this process, whose variables leave the environment; nil if none has.
  convenience init?() {
    let path = Host.takeVariable("NOTIFY_SOCKET")
    let watchdog = Self.watchdog(
      microseconds: Host.takeVariable("WATCHDOG_USEC"), of: Host.takeVariable("WATCHDOG_PID"),
      here: Host.processID)
    guard let path else { return nil }
    self.init(at: path, watchdog: watchdog)
  }

  /// - Parameter path: a path from the root, or an abstract name with `@` in front; nothing else is a
  ///   service manager's.
  init?(at path: String, watchdog: Duration?) {
    guard path.hasPrefix("/") || path.hasPrefix("@"), let socket = try? DatagramSocket(to: path)
    else { return nil }
    self.socket = socket
    self.watchdog = watchdog
  }

  /// The time within which a watchdog has to hear something; nil if there is none, or if it is another process's.
  nonisolated static func watchdog(
    microseconds: String?, of owner: String?, here process: Int32
  ) -> Duration? {
    guard let time = microseconds.flatMap(Int64.init), time > 0 else { return nil }
    guard owner == nil || owner == "\(process)" else { return nil }
    return .microseconds(time)
  }

  /// What can't be sent at all is lost: nobody has to listen.
  func send(_ notice: [UInt8]) -> Bool {
    do throws(SystemError) { try socket.send(notice) } catch {
      return ![.wouldBlock, .noBufferSpace].contains(error.errno)
    }
    return true
  }
}
