// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc
import OnLoop
import System
import Testing

@testable import EventLoop

@Suite("A program that is run", .onLoop)
@LoopActor struct ChildProcessTests {
  /// What a program wrote, and how it ended.
  private struct Result {
    var lines: [String]
    var end: ProcessEnd
  }

  /// Runs a script to its end.
  private static func run(_ script: String, environment: [String] = [], input: [UInt8] = []) async throws -> Result {
    let child = try ChildProcess(
      ["/bin/sh", "-c", script], environment: environment + ["PATH=/bin:/usr/bin"], input: input)
    var lines: [String] = []
    child.onLine = { lines.append(String(decoding: $0, as: UTF8.self)) }
    let end = await withCheckedContinuation { waiter in
      child.onEnd = { waiter.resume(returning: $0) }
    }
    return Result(lines: lines, end: end)
  }

  @Test("It gets its input and its environment, and nothing else")
  func surroundings() async throws {
    let input = Array("first\nsecond".utf8)
    let result = try await Self.run(
      "cat; echo; echo $COLOUR; pwd; ls /proc/self/fd | paste -sd' '; exit 3",
      environment: ["COLOUR=green"], input: input)
    // The fourth descriptor is the directory that is listed.
    #expect(result.lines == ["first", "second", "green", "/", "0 1 2 3"])
    #expect(result.end == .exit(3))
  }

  @Test("A megabyte of input and of output blocks nothing")
  func much() async throws {
    let line = [UInt8](repeating: 0x61, count: 99) + [0x0A]
    let input = Array(repeatElement(line, count: 10_000).joined())
    let result = try await Self.run("cat >&2", input: input)
    #expect(result.lines.count == 10_000)
    #expect(result.end == .exit(0))
  }

  @Test("Its signals have their default actions, although this process ignores some")
  func signals() async throws {
    // Without a reader `yes` would write for ever if SIGPIPE were ignored.
    let result = try await Self.run("yes | head -1; grep -E 'Sig(Blk|Ign)' /proc/self/status")
    #expect(result.lines.first == "y")
    // The two that glibc reserves (32 and 33) cannot be changed.
    let own: UInt64 = 0x1_8000_0000
    let sets = result.lines.dropFirst().map { UInt64($0.split(separator: "\t")[1], radix: 16) }
    #expect(sets.map { ($0 ?? .max) & ~own } == [0, 0])
  }

  @Test("It does not wait for processes that the program has left behind")
  func leftovers() async throws {
    let result = try await Self.run("sleep 600 & echo $!")
    #expect(result.end == .exit(0))
    let process = try #require(result.lines.first.flatMap { Int32($0) })
    #expect(kill(process, SIGKILL) == 0)
  }

  @Test("A signal reaches its children too")
  func children() async throws {
    let child = try ChildProcess(
      ["/bin/sh", "-c", "sleep 600 & echo $!; wait"], environment: ["PATH=/bin"], input: [])
    let sleeper = await withCheckedContinuation { waiter in
      child.onLine = { waiter.resume(returning: String(decoding: $0, as: UTF8.self)) }
    }
    child.signal(.terminate)
    let end = await withCheckedContinuation { waiter in
      child.onEnd = { waiter.resume(returning: $0) }
    }
    #expect(end == .signal(.terminate))
    // It is reaped by whoever is the first process; until then it has no memory and no descriptors.
    for _ in 0..<500 where Self.isAlive(sleeper) { await Loop.shared.sleep(for: .milliseconds(10)) }
    #expect(!Self.isAlive(sleeper))
  }

  private static func isAlive(_ process: String) -> Bool {
    guard let status = try? Files.read("/proc/\(process)/stat") else { return false }
    return !String(decoding: status, as: UTF8.self).contains(") Z")
  }

  @Test("A released process is killed and leaves no zombie")
  func abandoned() async throws {
    var child: ChildProcess? = try ChildProcess(
      ["/bin/sleep", "600"], environment: [], input: [])
    let process = try #require(child?.process)
    child = nil
    #expect((try? Files.kind(of: "/proc/\(process)")) == nil)
  }

  @Test(
    "One that can't be started is an error that names it",
    arguments: [("/nowhere/lamp", Errno.noSuchFile), ("/etc/passwd", .permissionDenied)])
  func missing(_ path: String, _ errno: Errno) async throws {
    let error = try #require(throws: SystemError.self) {
      _ = try ChildProcess([path], environment: [], input: [])
    }
    #expect(error.errno == errno)
    #expect("\(error)".contains(path))
  }
}
