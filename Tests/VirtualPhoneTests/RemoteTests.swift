// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ATT
import GAP
import GATT
import TestLoop
import Testing
import VirtualPhone
import Wire

/// A media remote at the other end of a phone's link, and what it published.
final class Remote {
  let bench: Bench
  private(set) var session: MediaRemote?
  private(set) var told: [(state: MediaState, changed: [MediaField])] = []
  private(set) var dropped: [String] = []

  init(_ bench: Bench) { self.bench = bench }

  /// Begins a session, which runs beside the test; returns when the first values are published.
  func begin(_ loop: isolated TestLoop) async throws {
    if bench.bearer.mtu != bench.bearer.receiveMTU { try await bench.bearer.exchangeMTU() }
    let service = try #require(try await bench.client.locate(.mediaService))
    let session = try #require(MediaRemote(bench.client, service))
    session.onChange = { [unowned self] in told.append(($0, $1)) }
    session.onDropped = { [unowned self] in dropped.append($1) }
    self.session = session
    try await session.subscribe()
    loop.start { try await session.run() }
    await bench.pass(.seconds(1))
  }

  func end() {
    session?.end()
    session = nil
  }
}

@Suite("Media remote and virtual phone, end to end")
struct RemoteTests {
  static func run(
    mtu: Int = 185, _ body: @escaping @Sendable (isolated TestLoop, Remote) async throws -> Void
  ) throws {
    try TestLoop.run { loop in
      let remote = Remote(Bench(loop, mtu: mtu))
      try remote.bench.phone.perform(MediaTests.playing())
      try await body(loop, remote)
      remote.end()
      #expect(remote.bench.violations == [])
    }
  }

  static func track(_ title: String) -> PhoneCommand {
    var change = MediaState()
    change.track = MediaState.Track(title: title)
    return .media(change)
  }

  @Test("A value of any length is complete, with no broken character")
  func lengths() throws {
    try Self.run(mtu: 23) { loop, remote in
      try await remote.begin(loop)
      for count in [1, 4, 5, 6, 7, 12, 22, 44, 100, 127, 128] {
        let title = String(repeating: "🎵", count: count)
        try remote.bench.phone.perform(Self.track(title))
        await remote.bench.pass(.seconds(1))
        #expect(remote.told.last?.state.track.title == title, "\(count) notes")
      }
      // An attribute of ATT has at most 512 octets: here they end inside a character.
      try remote.bench.phone.perform(Self.track("a" + String(repeating: "🎵", count: 200)))
      await remote.bench.pass(.seconds(1))
      #expect(remote.told.last?.state.track.title == "a" + String(repeating: "🎵", count: 127))
    }
  }

  @Test("Titles that change faster than they can be read end with the last one")
  func fastChanges() throws {
    try Self.run(mtu: 64) { loop, remote in
      try await remote.begin(loop)
      remote.bench.link.delay = .milliseconds(30)
      for number in 0..<30 {
        let title =
          String(repeating: "long ", count: number.isMultiple(of: 3) ? 1 : 40) + "\(number)"
        try remote.bench.phone.perform(Self.track(title))
        await remote.bench.pass(.milliseconds(17 * (number % 5)))
      }
      await remote.bench.pass(.seconds(5))
      #expect(remote.told.last?.state.track.title == String(repeating: "long ", count: 40) + "29")
      #expect(remote.told.last?.state.track.artist == "Nina Simone")
    }
  }

  @Test("The service is removed while a value is read, and returns")
  func comingAndGoing() throws {
    try Self.run(mtu: 23) { loop, remote in
      try await remote.begin(loop)
      for round in 0..<10 {
        remote.bench.link.delay = .milliseconds(10)
        try remote.bench.phone.perform(Self.track(String(repeating: "\(round)", count: 200)))
        await remote.bench.pass(.milliseconds(15 + 7 * round))
        try remote.bench.phone.perform(.unpublish(.ams))
        await remote.bench.pass(.milliseconds(round))
        remote.end()
        await remote.bench.pass(.seconds(1))
        try remote.bench.phone.perform(.publish(.ams, freshHandles: round.isMultiple(of: 2)))
        remote.bench.link.delay = .zero
        try await remote.begin(loop)
        #expect(remote.told.last?.state.track.title == String(repeating: "\(round)", count: 200))
      }
    }
  }
}
