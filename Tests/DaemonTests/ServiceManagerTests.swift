// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import OnLoop
import System
import TestLoop
import Testing
import Wire

@testable import Board
@testable import Daemon

@Suite("Notifications to a service manager")
struct ServiceManagerTests {
  @Test("A datagram reaches a path and an abstract name", arguments: [false, true])
  func address(isAbstract: Bool) async throws {
    try await onLoop {
      let receiver = DatagramReceiver(isAbstract: isAbstract)
      let manager = ServiceManager(try #require(NotifySocket(at: receiver.path, watchdog: nil)), HandClock())
      manager.wait(for: "hci0: on the air")
      manager.ready()
      manager.stopping()
      #expect(receiver.datagrams() == ["STATUS=hci0: on the air", "READY=1", "STOPPING=1"])
    }
  }

  @Test("A manager that is gone is no trouble")
  func absent() async throws {
    try await onLoop {
      let socket = try #require(NotifySocket(at: "/tmp/ancsd-test-nobody", watchdog: nil))
      ServiceManager(socket, HandClock()).ready()
    }
  }

  @Test(
    "If the manager's queue is full, the latest of each kind is sent later; at the end, only that",
    arguments: [
      ([{ $0.wait(for: "old") }, { $0.ready() }, { $0.wait(for: "new") }], ["READY=1", "STATUS=new"]),
      // A reload is reported completely, since the manager waits for its end.
      ([{ $0.ready() }, { $0.reloading {} }], ["RELOADING=1", "READY=1"]),
      ([{ $0.ready() }, { $0.stopping() }], ["STOPPING=1"]),
    ] as [([@Sendable @LoopActor (ServiceManager) -> Void], [String])])
  func fullQueue(
    notices: [@Sendable @LoopActor (ServiceManager) -> Void], told: [String]
  ) async throws {
    try await onLoop {
      let (receiver, clock) = (DatagramReceiver(), HandClock())
      let manager = ServiceManager(NotifySocket(at: receiver.path, watchdog: nil), clock)
      let filler = try DatagramSocket(to: receiver.path)
      while (try? filler.send([0])) != nil {}
      for notice in notices { notice(manager) }
      _ = clock.turn()
      #expect(receiver.datagrams().allSatisfy { $0 == "\0" })
      while clock.turn() {}
      withExtendedLifetime(manager) {}
      #expect(receiver.datagrams().map { $0.prefix { $0 != "\n" } } == told.map { $0[...] })
    }
  }

  @Test("Reading the settings again has a beginning and an end, once the daemon is ready")
  func reloading() async throws {
    try await onLoop {
      let receiver = DatagramReceiver()
      let clock = HandClock()
      let manager = ServiceManager(NotifySocket(at: receiver.path, watchdog: nil), clock)
      var reloads = 0
      manager.reloading { reloads += 1 }
      #expect(reloads == 1 && receiver.datagrams().isEmpty)
      manager.ready()
      _ = clock.schedule(after: .seconds(7)) {}
      _ = clock.turn()
      manager.reloading { reloads += 1 }
      let time = clock.now.nanoseconds / 1_000
      #expect(receiver.datagrams() == ["READY=1", "RELOADING=1\nMONOTONIC_USEC=\(time)", "READY=1"])
      #expect(reloads == 2)
    }
  }

  @Test(
    "What is no address of a service manager is none",
    arguments: ["", "ancsd", "vsock:2:1", "/" + String(repeating: "x", count: 200)])
  func noAddress(path: String) async throws {
    try await onLoop { #expect(NotifySocket(at: path, watchdog: nil) == nil) }
  }

  @Test("A status is one line of at most a kilobyte, and is sent once")
  func status() async throws {
    try await onLoop {
      let receiver = DatagramReceiver()
      let manager = ServiceManager(NotifySocket(at: receiver.path, watchdog: nil), HandClock())
      for _ in 1...3 { manager.wait(for: "a\nREADY=1\u{1B}[2J") }
      manager.wait(for: String(repeating: "☎️", count: 1_000))
      let told = receiver.datagrams()
      #expect(told.count == 2)
      #expect(!told[0].contains("\n") && !told[0].contains("\u{1B}"))
      #expect((1_000...1_031).contains(told[1].utf8.count) && !told[1].contains("\u{FFFD}"))
    }
  }

  @Test(
    "A watchdog is heard if it is this process's",
    arguments: [
      ("30000000", nil, Duration.seconds(30)), ("30000000", "77", .seconds(30)),
      ("30000000", "78", nil), ("0", "77", nil), ("-5", nil, nil), ("soon", nil, nil),
      (nil, "77", nil),
    ] as [(String?, String?, Duration?)])
  func watchdog(time: String?, owner: String?, expected: Duration?) {
    #expect(NotifySocket.watchdog(microseconds: time, of: owner, here: 77) == expected)
  }
}

@Suite("The journal's entries")
struct JournalTests {
  @Test("An entry has the line, its priority, and its subject")
  func fields() {
    var entry = LogEntry(priority: .warning, text: "hci0: it is gone")
    #expect(
      String(decoding: entry.fields, as: UTF8.self)
        == "MESSAGE=hci0: it is gone\nPRIORITY=4\nSYSLOG_IDENTIFIER=ancsd\n")
    (entry.adapter, entry.phone) = ("hci0", Address(0xC0AA_BBCC_DDEE))
    #expect(String(decoding: entry.fields, as: UTF8.self).hasSuffix("\nADAPTER=hci0\nPHONE=C0:AA:BB:CC:DD:EE\n"))
    #expect(entry.markedLine == "<4>ancsd: hci0: it is gone")
  }

  @Test("A text that holds line feeds forges no field")
  func forged() async throws {
    try await onLoop {
      var entries: [LogEntry] = []
      let log = Log(to: Log.Sink { entries.append($0) }).about("hci0")
      log.notice("the phone's name is x\nPRIORITY=0\nADAPTER=hci9")
      let lines = String(decoding: try #require(entries.first).fields, as: UTF8.self)
        .split(separator: "\n")
      #expect(lines.filter { $0.hasPrefix("PRIORITY=") } == ["PRIORITY=5"])
      #expect(lines.filter { $0.hasPrefix("ADAPTER=") } == ["ADAPTER=hci0"])
    }
  }

  @Test("Only the open file that the variable names is the journal's")
  func stream() {
    let number = Standard.error
    #expect(!Standard.isReadByJournal(number, stream: nil))
    #expect(!Standard.isReadByJournal(number, stream: "1:1"))
    #expect(!Standard.isReadByJournal(999, stream: "1:1"))
  }
}
