// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
public import EventLoop
public import System

/// The signals of a program that runs until one of them ends it, and reads its settings again on SIGHUP: the daemon, and its
/// clients that run as services.
///
/// From a closing terminal SIGHUP means exit. By then the kernel has taken the terminal away, so whether there is one is
/// known only from the start.
@LoopActor public final class ServiceSignals {
  /// How it exits; nil: it goes on. Once it is to exit, nothing makes it read its settings again.
  public private(set) var leaving: ExitStatus?
  private let isOnTerminal: Bool
  private let reload: () -> Void
  private let leave: (ExitStatus, _ isAgain: Bool) -> Void

  /// - Parameters:
  ///   - isOnTerminal: whether standard input is a terminal.
  ///   - reload: called for SIGHUP.
  ///   - leave: called for each signal that ends it: again, if somebody is impatient.
  public init(
    isOnTerminal: Bool = Terminal.isTerminal(Standard.input), reload: @escaping () -> Void,
    leave: @escaping (ExitStatus, _ isAgain: Bool) -> Void
  ) {
    (self.isOnTerminal, self.reload, self.leave) = (isOnTerminal, reload, leave)
  }

  /// Watches for them from now on.
  ///
  /// - Parameter continued: called after the process was stopped.
  public func watch(continued: (() -> Void)? = nil) throws(SystemError) {
    let others: [Signal] = continued == nil ? [] : [.continued]
    try Loop.shared.onSignal([.interrupt, .terminate, .hangUp] + others) { [self] in
      if $0 == .continued { continued?() } else { receive($0) }
    }
  }

  func receive(_ signal: Signal) {
    if signal == .hangUp, !isOnTerminal {
      if leaving == nil { reload() }
      return
    }
    let status = ExitStatus(signal: signal.rawValue)
    let isAgain = leaving != nil
    leaving = leaving ?? status
    leave(status, isAgain)
  }
}
