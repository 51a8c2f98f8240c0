// SPDX-License-Identifier: GPL-3.0-or-later
import Board
import Control
import EventLoop
import System
import Wire

/// Notifies the service manager that started the daemon, if there is one, with the assignments of sd_notify(3).
///
/// Only a watchdog costs wake-ups: without one, only changes are sent.
@LoopActor final class ServiceManager {
  private let channel: (any ServiceManagerChannel)?
  private let scheduler: any Scheduler
  private var status: String?
  private var isReady = false
  /// The assignments that are still unsent, in order, because its queue was full: the latest of each name.
  private var untold: [(name: String, value: String)] = []
  private lazy var again = Deadline(scheduler) { [weak self] in self?.sendUntold() }
  private static let pause: Duration = .seconds(1)
  /// Enough for a few waits. systemd drops datagrams above 4,096 bytes.
  private static let longestStatus = 1_024

  init(_ channel: (any ServiceManagerChannel)?, _ scheduler: any Scheduler) {
    self.channel = channel
    self.scheduler = scheduler
  }

  /// Reports that all sockets are open, so clients and phones can connect. From now on the watchdog, if there is one, is
  /// notified twice per period.
  func ready() {
    isReady = true
    send("READY", "1")
    keepAlive()
  }

  /// Reports the current waits, for `systemctl status`, if they have changed.
  func wait(for status: String) {
    guard status != self.status else { return }
    self.status = status
    send("STATUS", String(decoding: status.printable.utf8(atMost: Self.longestStatus), as: UTF8.self))
  }

  /// Reloads the settings, and reports the beginning and the end; a daemon that is not ready yet reports nothing.
  func reloading(_ reload: () -> Void) {
    if isReady {
      // The end of the reload has to follow its beginning.
      untold.removeAll { $0.name == "READY" }
      send("RELOADING", "1\nMONOTONIC_USEC=\(scheduler.now.nanoseconds / 1_000)")
    }
    reload()
    if isReady { send("READY", "1") }
  }

  /// Reports that the daemon is exiting; what is still unsent does not matter anymore.
  func stopping() {
    untold = []
    send("STOPPING", "1")
  }

  private func keepAlive() {
    guard let time = channel?.watchdog else { return }
    send("WATCHDOG", "1")
    _ = scheduler.schedule(after: time / 2) { [weak self] in self?.keepAlive() }
  }

  private func send(_ name: String, _ value: String) {
    untold.removeAll { $0.name == name }
    untold.append((name, value))
    if again.due == nil { sendUntold() }
  }

  private func sendUntold() {
    while let (name, value) = untold.first {
      guard channel?.send(Array("\(name)=\(value)".utf8)) ?? true else {
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
      microseconds: Host.takeVariable("WATCHDOG_USEC"), of: Host.takeVariable("WATCHDOG_PID"), here: Host.processID)
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
  nonisolated static func watchdog(microseconds: String?, of owner: String?, here process: Int32) -> Duration? {
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
