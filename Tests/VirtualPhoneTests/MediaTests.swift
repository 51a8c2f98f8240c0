// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ATT
import GAP
import GATT
import TestLoop
import Testing
import VirtualPhone
import Wire

@Suite("Virtual phone: the Media Source")
struct MediaTests {
  static let playlist = [
    MediaState.Track(artist: "Nina Simone", album: "Pastel Blues", title: "Sinnerman", duration: 622),
    MediaState.Track(artist: "坂本龍一", album: "async", title: "andata", duration: 279.1),
    MediaState.Track(title: String(repeating: "é", count: 250), duration: 10),
  ]

  /// Runs a test with a remote that is subscribed to everything, after the first values.
  private func run(mtu: Int = 185, _ test: @escaping @Sendable (isolated TestLoop, Bench) async throws -> Void) throws {
    try Bench.run(mtu: mtu) { loop, bench in
      var playing = MediaState()
      playing.player.state = .playing
      try bench.phone.perform(.media(playing, playlist: Self.playlist))
      try await bench.bearer.exchangeMTU()
      try await bench.subscribeMedia()
      for entity in Entity.all {
        try await bench.write(EntityRegistration(entity).encoded, to: .entityUpdate)
      }
      await bench.pass()
      try await test(loop, bench)
    }
  }

  @Test("Subscribing brings the commands, registering the values in order")
  func initialValues() throws {
    try run { _, bench in
      #expect(bench.commands == [MediaPlayer.allCommands])
      #expect(bench.updates.map(\.attribute) == Entity.all.flatMap(\.attributes))
      let texts = bench.updates.map(\.text)
      #expect(texts[0] == "Music")
      #expect(texts[1].hasPrefix("1,1.000,0.00"))
      #expect(texts[2...] == ["0.5", "0", "3", "0", "0", "Nina Simone", "Pastel Blues", "Sinnerman", "622.000"])
      #expect(bench.violations == [])
    }
  }

  @Test("Only registered attributes are notified, and an empty registration ends that")
  func registration() throws {
    try run { _, bench in
      for registration in [EntityRegistration(.player, [2]), EntityRegistration(.track, [])] {
        try await bench.write(registration.encoded, to: .entityUpdate)
      }
      await bench.pass()
      let before = bench.updates.count
      try await bench.perform(.remote(.nextTrack), .remote(.volumeUp))
      #expect(bench.updates[before...].map(\.attribute) == [.queueIndex, .volume])
      #expect(bench.updates.last?.text == "0.5625")
    }
  }

  @Test("Remote commands control the player")
  func remoteCommands() throws {
    try run { loop, bench in
      nonisolated(nonsending) func press(_ command: RemoteCommand) async throws {
        try await bench.write([command.rawValue], to: .remoteCommand)
      }
      await bench.pass(.seconds(5))
      try await press(.pause)
      #expect(bench.phone.player.state == .paused)
      let here = bench.phone.player.elapsed(at: loop.clock.now)
      #expect((5..<5.1).contains(here))
      try await press(.togglePlayPause)
      try await press(.skipForward)
      #expect((here + 15..<here + 15.1).contains(bench.phone.player.elapsed(at: loop.clock.now)))
      try await press(.skipBackward)
      try await press(.skipBackward)
      #expect((0..<0.1).contains(bench.phone.player.elapsed(at: loop.clock.now)))
      for _ in 0..<20 { try await press(.volumeUp) }
      #expect(bench.phone.player.volume == 1)
      try await press(.volumeDown)
      #expect(bench.phone.player.volume == 0.9375)
      try await press(.advanceRepeatMode)
      try await press(.advanceShuffleMode)
      #expect(bench.phone.player.repeatMode == .all)
      #expect(bench.phone.player.shuffleMode == .all)
      for _ in 0..<4 { try await press(.nextTrack) }
      #expect(bench.phone.player.index == 1)
      try await press(.previousTrack)
      try await press(.likeTrack)
      #expect(bench.violations == [])
      await bench.pass()
      #expect(bench.updates.last { $0.attribute == .title }?.text == "Sinnerman")
    }
  }

  @Test("The list of commands changes with the player; other commands do nothing")
  func supportedCommands() throws {
    try run { _, bench in
      var podcasts = MediaState()
      podcasts.player.name = "Podcasts"
      podcasts.commands = [.play, .pause, .skipForward, .skipBackward]
      try await bench.perform(.media(podcasts))
      #expect(bench.commands.last == podcasts.commands)
      try await bench.write([RemoteCommand.nextTrack.rawValue], to: .remoteCommand)
      #expect(bench.phone.player.index == 0)
      #expect(bench.violations == [])
    }
  }

  @Test("A value that does not fit is flagged and read whole", arguments: [23, 50, 158, 185])
  func truncation(mtu: Int) throws {
    try run(mtu: mtu) { _, bench in
      var last = MediaState()
      last.queue.index = 2
      try await bench.perform(.media(last))
      let title = try #require(bench.updates.last { $0.attribute == .title })
      #expect(title.isTruncated)
      #expect(title.value.count == mtu - 6)
      let whole = try bench.handle(of: .entityAttribute)
      try await bench.write(MediaAttribute.title.selection, to: .entityAttribute)
      let value = try await bench.client.readLong(whole)
      #expect(String(decoding: value, as: UTF8.self) == Self.playlist[2].title)
      // The selected value stays the same when the track changes.
      try bench.phone.perform(.remote(.previousTrack))
      #expect(try await bench.client.readLong(whole) == value)
    }
  }

  @Test(
    "Invalid writes are refused with AMS's Invalid Command",
    arguments: [
      (UUID.entityUpdate, ""), (.entityUpdate, "03"), (.entityUpdate, "0003"), (.entityUpdate, "0104"),
      (.entityUpdate, "0200 04"), (.entityAttribute, ""), (.entityAttribute, "02"), (.entityAttribute, "0204"),
      (.entityAttribute, "0202 00"), (.entityAttribute, "0300"), (.remoteCommand, ""), (.remoteCommand, "0e"),
      (.remoteCommand, "0001"), (.remoteCommand, "ff"),
    ] as [(UUID, String)])
  func refusals(uuid: UUID, value: String) throws {
    try run { _, bench in
      let bytes = try #require([UInt8](hex: value))
      #expect(await bench.refusal(of: bytes, to: uuid) == 0xA1)
      #expect(bench.violations.count == 1)
    }
  }

  @Test("An absent attribute cannot be selected, and writes need a subscription")
  func states() throws {
    try run { _, bench in
      let whole = try bench.handle(of: .entityAttribute)
      #expect(await bench.refusal { () throws(ATTFailure) in _ = try await bench.client.read(whole) } == 0xA0)
      try bench.phone.perform(.mediaAttribute(.album, []))
      #expect(await bench.refusal(of: MediaAttribute.album.selection, to: .entityAttribute) == 0xA2)
      try await bench.perform(.mediaAttribute(.playbackInfo, Array("0,1,00,-0,00".utf8)))
      #expect(bench.updates.suffix(2).map(\.text) == ["", "0,1,00,-0,00"])
      try await bench.perform(.mediaAttribute(.album, nil))
      #expect(bench.updates.last?.text == "Pastel Blues")

      try await bench.configure(.entityUpdate, [])
      #expect(await bench.refusal(of: [0, 0], to: .entityUpdate) == 0xA0)
      #expect(await bench.refusal(of: [2, 0], to: .entityAttribute) == 0xA0)
    }
  }

  @Test("The playlist ends or starts again, depending on the repeat mode")
  func player() {
    var player = MediaPlayer(playlist: Self.playlist)
    let start = Instant.zero
    player.perform(.play, at: start)
    player.select(2, at: start)
    player.perform(.skipForward, at: start)
    #expect(player.index == 0)
    #expect(player.state == .paused)
    player.perform(.play, at: start)
    player.repeatMode = .all
    player.select(2, at: start)
    player.perform(.nextTrack, at: start)
    #expect(player.index == 0)
    #expect(player.state == .playing)
    let later = start + .seconds(4)
    player.perform(.previousTrack, at: later)
    #expect(player.index == 0, "a track that has begun is begun again")
    #expect(player.elapsed(at: later) == 0)
    player.change(state: .rewinding, rate: 2, at: start + .seconds(14))
    #expect(player.elapsed(at: start + .seconds(16)) == 6)
    #expect(player.text(of: .playbackInfo, at: start + .seconds(16)) == "2,-2.000,6.000")
    #expect(MediaPlayer().text(of: .playbackInfo, at: start) == "")
  }
}
