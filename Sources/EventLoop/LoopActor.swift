// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// The actor of the event loop: what is marked with it runs on the loop's one thread.
@globalActor public actor LoopActor {
  public static let shared = LoopActor()

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    Loop.shared.asUnownedSerialExecutor()
  }
}

extension Loop {
  /// The program's loop, which `main.swift` runs.
  public static let shared: Loop = {
    do throws(SystemError) {
      return try Loop()
    } catch {
      // Without descriptors there is nothing that could go on (sysexits(3): EX_OSERR).
      try? FileDescriptor.writeAll("ancsd: no event loop: \(error)\n".utf8, to: Standard.error)
      Host.exit(71)
    }
  }()

  /// Begins a task on the loop, behind the jobs that wait already; from wherever it is called,
  /// `main.swift` before `run` included.
  ///
  /// All tasks are begun here. One without the loop as its preferred executor would be brought to
  /// another thread and back each time it is resumed.
  @discardableResult
  public static func start(_ work: @escaping @LoopActor () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: Loop.shared, operation: work)
  }
}
