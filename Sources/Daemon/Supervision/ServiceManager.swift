// SPDX-License-Identifier: GPL-3.0-or-later
import Board
import Control
import EventLoop
import System
import Wire

/// A notification for the service manager: an assignment from sd_notify(3).
enum ServiceNotice: Hashable, Sendable {
  /// All sockets are open, so clients and phones can connect; or a reload is complete.
  case ready
  /// The current waits, for `systemctl status`.
  case status(String)
  /// The settings are being read again, since this point of the monotonic clock.
  case reloading(since: Instant)
  /// The daemon is exiting.
  case stopping
  /// The event loop is running.
  case alive

  /// Whether this makes `earlier` obsolete. The end of a reload needs its beginning.
  func replaces(_ earlier: ServiceNotice) -> Bool {
    switch (self, earlier) {
    case (.stopping, _), (.status, .status), (.ready, .ready), (.alive, .alive),
      (.reloading, .reloading), (.reloading, .ready):
      true
    default: false
    }
  }

  /// Enough for a few waits. systemd drops datagrams above 4,096 bytes.
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

/// Notifies the service manager that started the daemon, if there is one.
///
/// Only a watchdog costs wake-ups: without one, only changes are sent.
@LoopActor final class ServiceManager {
  private let channel: (any ServiceManagerChannel)?
  private let scheduler: any Scheduler
  private var status: String?
  private var isReady = false
  /// The notifications that are still unsent, in order, because its queue was full.
  private var untold: [ServiceNotice] = []
  private lazy var again = Deadline(scheduler) { [weak self] in self?.sendUntold() }
  private static let pause: Duration = .seconds(1)

  init(_ channel: (any ServiceManagerChannel)?, _ scheduler: any Scheduler) {
    self.channel = channel
    self.scheduler = scheduler
  }

  /// Reports that all sockets are open. From now on the watchdog, if there is one, is notified twice per period.
  func ready() {
    isReady = true
    send(.ready)
    keepAlive()
  }

  /// Reports the current waits if they have changed.
  func wait(for status: String) {
    guard status != self.status else { return }
    self.status = status
    send(.status(status))
  }

  /// Reloads the settings, and reports the beginning and the end; a daemon that is not ready yet reports nothing.
  func reloading(_ reload: () -> Void) {
    if isReady { send(.reloading(since: scheduler.now)) }
    reload()
    if isReady { send(.ready) }
  }

  /// Reports that the daemon is exiting.
  func stopping() { send(.stopping) }

  private func keepAlive() {
    guard let time = channel?.watchdog else { return }
    send(.alive)
    _ = scheduler.schedule(after: time / 2) { [weak self] in self?.keepAlive() }
  }

  private func send(_ notice: ServiceNotice) {
    untold.removeAll { notice.replaces($0) }
    untold.append(notice)
    if again.due == nil { sendUntold() }
  }

  private func sendUntold() {
    while let notice = untold.first {
      guard channel?.send(notice.bytes) ?? true else {
        return again.due = scheduler.now + Self.pause
      }
      untold.removeFirst()
    }
  }
}

/// The socket of a service manager, from the environment of its services (sd_notify(3), sd_watchdog_enabled(3)).
@LoopActor final class NotifySocket: ServiceManagerChannel {
  let watchdog: Duration?
  private let socket: DatagramSocket

  /// The service manager that started this process, whose variables it removes from the environment; nil if there is
  /// none.
  convenience init?() {
    let path = Host.takeVariable("NOTIFY_SOCKET")
    let watchdog = Self.watchdog(
      microseconds: Host.takeVariable("WATCHDOG_USEC"), of: Host.takeVariable("WATCHDOG_PID"),
      here: Host.processID)
    guard let path else { return nil }
    self.init(at: path, watchdog: watchdog)
  }

  /// - Parameter path: an absolute path, or an abstract name with a leading `@`; nothing else can be a service
  ///   manager's.
  init?(at path: String, watchdog: Duration?) {
    guard path.hasPrefix("/") || path.hasPrefix("@"), let socket = try? DatagramSocket(to: path)
    else { return nil }
    self.socket = socket
    self.watchdog = watchdog
  }

  /// The period of the watchdog; nil if there is none, or if it is for another process.
  nonisolated static func watchdog(
    microseconds: String?, of owner: String?, here process: Int32
  ) -> Duration? {
    guard let time = microseconds.flatMap(Int64.init), time > 0 else { return nil }
    guard owner == nil || owner == "\(process)" else { return nil }
    return .microseconds(time)
  }

  /// What can't be sent at all is dropped: nobody has to listen.
  func send(_ notice: [UInt8]) -> Bool {
    do throws(SystemError) { try socket.send(notice) } catch {
      return ![.wouldBlock, .noBufferSpace].contains(error.errno)
    }
    return true
  }
}
