// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ATT
import GATT
import TestLoop
import Testing
import Wire

@Suite("AMS: the media remote")
struct RemoteTests {
  private static let playing: [MediaAttribute: String] = [
    .playerName: "Music", .playbackInfo: "1,1.0,10.0", .volume: "0.5", .queueIndex: "0",
    .queueCount: "9", .shuffleMode: "0", .repeatMode: "2", .artist: "Miles Davis",
    .album: "Kind of Blue", .title: "So What", .duration: "562.0",
  ]

  @Test("Two writes subscribe, then one registers each entity, and the first values come as one")
  func subscribe() throws {
    try RemoteSession.run { loop, session in
      session.source.values = Self.playing
      session.source.commands = [0, 1, 2]
      try await session.remote.subscribe()
      #expect(session.source.log == ["53 = 0100", "50 = 0100"])
      loop.start { try await session.remote.run() }
      await loop.sleep(for: .milliseconds(10))
      #expect(session.source.log.dropFirst(2) == ["52 = 00000102", "52 = 0100010203", "52 = 0200010203"])
      #expect(session.told == [MediaField.allCases])
      await loop.sleep(for: .seconds(1))
      #expect(session.told.count == 1)
      let state = session.remote.state
      #expect(state.track.title == "So What")
      #expect(state.commands == [.play, .pause, .togglePlayPause])
      #expect(state.elapsed(at: loop.clock.now).map { $0 > 10.9 && $0 < 11.1 } == true)
    }
  }

  @Test("Changes that arrive together are published together")
  func gathering() throws {
    try RemoteSession.run { loop, session in
      session.source.values = Self.playing
      try await session.begin(loop)
      session.source.notify(.title, "Blue in Green")
      await loop.sleep(for: .milliseconds(20))
      session.source.notify(.duration, "337")
      await loop.sleep(for: .seconds(1))
      #expect(session.told.count == 2)
      #expect(session.told.last == [.trackTitle, .trackDuration])
      session.source.notify(.duration, "337")
      await loop.sleep(for: .seconds(1))
      #expect(session.told.count == 2)
    }
  }

  @Test("A truncated value is read whole before it is published", arguments: [18, 22, 44, 400])
  func truncated(length: Int) throws {
    try RemoteSession.run { loop, session in
      session.source.values = Self.playing
      session.source.values[.title] = String(repeating: "é", count: length)
      try await session.begin(loop)
      #expect(session.told == [MediaField.allCases.filter { $0 != .commands }])
      #expect(session.remote.state.track.title == String(repeating: "é", count: length))
      #expect(session.source.log.contains("55 = 0202"))
    }
  }

  @Test("A newer value replaces one that is being read", arguments: ["Short", "Another very, very long title"])
  func superseded(title: String) throws {
    try RemoteSession.run { loop, session in
      try await session.begin(loop)
      session.source.notify(.title, "A very, very long title indeed")
      // Half of it has been read.
      await loop.sleep(for: .microseconds(2_500))
      session.source.notify(.title, title)
      await loop.sleep(for: .seconds(1))
      #expect(session.states.map(\.track.title) == ["", title])
    }
  }

  @Test(
    "A value that cannot be read whole stays truncated, an absent one is empty",
    arguments: [(UInt8(0x0E), "Größe und ande"), (0xA2, "")])
  func unreadable(code: UInt8, title: String) throws {
    try RemoteSession.run { loop, session in
      session.source.refuse = { handle, _ in handle == StubSource.entityAttribute ? code : nil }
      try await session.begin(loop)
      session.source.notify(.title, "Größe und andeåres mehr")
      await loop.sleep(for: .seconds(1))
      #expect(session.remote.state.track.title == title)
    }
  }

  @Test("When the player changes, its commands are requested")
  func playerChange() throws {
    try RemoteSession.run { loop, session in
      session.source.values = Self.playing
      session.source.commands = [0, 1]
      try await session.begin(loop)
      #expect(session.source.log.count == 5)
      session.source.commands = [0, 1, 9, 10]
      session.source.notify(.playerName, "Podcasts")
      await loop.sleep(for: .seconds(1))
      #expect(session.source.log.suffix(2) == ["50 = 0000", "50 = 0100"])
      #expect(session.remote.state.commands?.last == .skipBackward)
      #expect(session.told.last == [.playerName, .commands])
    }
  }

  @Test("Every command is sent, whatever the player's list says")
  func commands() throws {
    try RemoteSession.run { loop, session in
      try await session.begin(loop)
      for list in [nil, [0, 1], []] as [[UInt8]?] {
        if let list { session.source.notify(StubSource.remoteCommand, list) }
        for (command, write) in [(RemoteCommand.likeTrack, "49 = 0b"), (.pause, "49 = 01")] {
          try await session.remote.send(command)
          #expect(session.source.log.last == write)
        }
      }
      session.source.refuse = { _, _ in 0xA0 }
      let failed = loop.start { try await session.remote.send(.play) }
      await loop.sleep(for: .seconds(1))
      #expect((failed.failure as? MediaFailure)?.description == "Invalid State")
    }
  }

  @Test("A characteristic that only has Write Without Response is written so")
  func withoutResponse() throws {
    try TestLoop.run { loop in
      var service = StubSource.service
      service.characteristics[0].properties = [.writeWithoutResponse, .notify]
      let session = try RemoteSession(loop.clock, service)
      try await session.remote.send(.play)
      await loop.sleep(for: .seconds(1))
      #expect(session.source.log == ["49 ! 00"])
    }
  }

  @Test("Any part of the service can be used")
  func parts() throws {
    try TestLoop.run { loop in
      var service = StubSource.service
      service.characteristics = [StubSource.service.characteristics[0]]
      let commands = try RemoteSession(loop.clock, service)
      try await commands.remote.subscribe()
      #expect(commands.source.log == ["50 = 0100"])

      service.characteristics = [StubSource.service.characteristics[1]]
      let updates = try RemoteSession(loop.clock, service)
      try await updates.remote.subscribe()
      loop.start { try await updates.remote.run() }
      updates.source.notify(.title, "A very, very long title indeed")
      await loop.sleep(for: .seconds(1))
      #expect(updates.remote.state.track.title == "A very, very long")
      let refused = loop.start { try await updates.remote.send(.play) }
      await loop.settle()
      #expect(refused.failure as? MediaFailure == .noRemoteCommand)

      service.characteristics = []
      #expect(MediaRemote(updates.source.client, service) == nil)
    }
  }

  @Test("A refused entity does not affect the others")
  func refusedRegistration() throws {
    try RemoteSession.run { loop, session in
      session.source.refuse = { handle, value in
        handle == StubSource.entityUpdate && value.first == 1 ? 0xA1 : nil
      }
      try await session.begin(loop)
      #expect(session.source.log.count == 5)
      let none = try RemoteSession(loop.clock)
      none.source.refuse = { handle, _ in handle == StubSource.entityUpdate ? 0xA1 : nil }
      try await none.remote.subscribe()
      let failed = loop.start { try await none.remote.run() }
      await loop.sleep(for: .seconds(1))
      #expect((failed.failure as? ATTFailure)?.code == ErrorCode(0xA1))
    }
  }

  @Test("What a phone does not send after the registration is read, once; what has come is not")
  func changesOnly() throws {
    try RemoteSession.run { loop, session in
      session.source.tellsAll = false
      session.source.values = Self.playing
      session.source.values[.album] = nil
      try await session.begin(loop)
      session.source.notify(.title, "Blue in Green")
      await loop.sleep(for: .seconds(10))
      let state = session.remote.state
      #expect(state.player.name == "Music" && state.queue.count == 9 && state.player.volume == 0.5)
      #expect(state.track.title == "Blue in Green" && state.track.album == "")
      let elapsed = try #require(state.elapsed(at: loop.clock.now))
      #expect((14...16).contains(elapsed))
      #expect(session.source.log.count { $0.hasSuffix("read 0") } == 10)
      await loop.sleep(for: .seconds(60))
      #expect(session.source.log.count { $0.hasSuffix("read 0") } == 10)
    }
  }

  @Test("An unwanted attribute is not registered")
  func unwanted() throws {
    try TestLoop.run { loop in
      let session = try RemoteSession(loop.clock, without: [.playerName])
      try await session.begin(loop)
      #expect(session.source.log.contains("52 = 000102"))
    }
  }

  @Test("run throws at the end of the link, and returns at the end of the service")
  func end() throws {
    try TestLoop.run { loop in
      let lost = try RemoteSession(loop.clock)
      try await lost.remote.subscribe()
      let run = loop.start { try await lost.remote.run() }
      await loop.sleep(for: .seconds(1))
      #expect(loop.clock.scheduled == 0)
      lost.source.bearer.close(.closed("gone"))
      await loop.settle()
      #expect(run.failure as? ATTFailure == .closed("gone"))

      let gone = try RemoteSession(loop.clock)
      try await gone.remote.subscribe()
      let other = loop.start { try await gone.remote.run() }
      await loop.sleep(for: .seconds(1))
      gone.source.notify(.title, "A very, very long title, which is being read")
      await loop.sleep(for: .milliseconds(2))
      gone.remote.end()
      await loop.sleep(for: .seconds(1))
      #expect(other.result != nil)
      #expect(other.failure == nil)
      let told = gone.told.count
      gone.source.notify(.title, "late")
      await loop.sleep(for: .seconds(1))
      #expect(gone.told.count == told)
    }
  }

  @Test("A service that has ended is not written to: where it was, there may be another one")
  func lateWrites() throws {
    try RemoteSession.run { loop, session in
      try await session.remote.subscribe()
      _ = loop.start { try await session.remote.run() }
      await loop.settle()
      session.remote.end()
      await loop.sleep(for: .seconds(1))
      #expect(session.source.log == ["53 = 0100", "50 = 0100", "52 = 00000102"])

      let changing = try RemoteSession(loop.clock)
      changing.source.values = Self.playing
      try await changing.begin(loop)
      changing.source.notify(.playerName, "Podcasts")
      await loop.settle()
      changing.remote.end()
      await loop.sleep(for: .seconds(1))
      #expect(changing.source.log.count == 6)
    }
  }
}

@Suite("AMS: the media state")
struct MediaStateTests {
  private func update(_ attribute: MediaAttribute, _ text: String) -> EntityUpdate {
    EntityUpdate(attribute, Array(text.utf8))
  }

  private func at(_ seconds: Int) -> Instant { .zero + .seconds(seconds) }

  @Test("Every attribute is applied, and changes are reported")
  func all() {
    var state = MediaState()
    #expect(state.apply(update(.playbackInfo, "1,1.0,71.5"), at: .zero) == [.playerState, .playerRate, .playerElapsed])
    #expect(state.apply(update(.playerName, "Music"), at: .zero) == [.playerName])
    #expect(state.apply(update(.volume, "0.5"), at: .zero) == [.playerVolume])
    #expect(state.apply(update(.queueIndex, "2"), at: .zero) == [.queueIndex])
    #expect(state.apply(update(.queueCount, "10"), at: .zero) == [.queueCount])
    #expect(state.apply(update(.shuffleMode, "2"), at: .zero) == [.queueShuffle])
    #expect(state.apply(update(.repeatMode, "1"), at: .zero) == [.queueRepeat])
    #expect(state.apply(update(.artist, "Miles"), at: .zero) == [.trackArtist])
    #expect(state.apply(update(.album, "Blue"), at: .zero) == [.trackAlbum])
    #expect(state.apply(update(.title, "So What"), at: .zero) == [.trackTitle])
    #expect(state.apply(update(.duration, "562.1"), at: .zero) == [.trackDuration])
    #expect(state.apply(commands: [.play, .pause]) == [.commands])
    #expect(state.apply(update(.duration, "562.1"), at: .zero) == [])
    #expect(state.apply(commands: [.play, .pause]) == [])
    #expect(state.elapsed(at: .zero) == 71.5)
    #expect(state.queue.shuffleMode?.description == "all")
    #expect(state.queue.repeatMode?.description == "one")
    #expect(state.player.state?.description == "playing")
  }

  @Test("The position advances by the rate while something plays, within the track")
  func elapsed() {
    var state = MediaState()
    _ = state.apply(update(.playbackInfo, "1,2.0,10"), at: .zero)
    #expect(state.elapsed(at: at(5)) == 20)
    _ = state.apply(update(.duration, "15"), at: at(5))
    #expect(state.elapsed(at: at(5)) == 15)
    _ = state.apply(update(.playbackInfo, "2,-1.0,3"), at: at(6))
    #expect(state.elapsed(at: at(8)) == 1)
    #expect(state.elapsed(at: at(60)) == 0)
    _ = state.apply(update(.playbackInfo, "0,0,7"), at: at(61))
    #expect(state.elapsed(at: at(100)) == 7)
    _ = state.apply(update(.playbackInfo, "1,,7"), at: at(100))
    #expect(state.elapsed(at: at(101)) == 8)
    // A negative position is taken as 0.
    _ = state.apply(update(.playbackInfo, "1,1.0,-4.3"), at: at(101))
    #expect(state.elapsed(at: at(102)) == 1)
    _ = state.apply(update(.playbackInfo, ""), at: at(101))
    #expect(state.elapsed(at: at(101)) == nil)
    #expect(state.player.state == nil)
  }

  @Test("A position that was expected is no change")
  func expectedPosition() {
    var state = MediaState()
    _ = state.apply(update(.playbackInfo, "1,1,10"), at: .zero)
    #expect(state.apply(update(.playbackInfo, "1,1,20.1"), at: at(10)) == [])
    #expect(state.apply(update(.playbackInfo, "0,1,20.1"), at: at(10)) == [.playerState])
    #expect(state.apply(update(.playbackInfo, "0,1,60"), at: at(10)) == [.playerElapsed])
  }

  @Test("A new title starts at 0, the first one at the phone's position")
  func titles() {
    var state = MediaState()
    _ = state.apply(update(.playbackInfo, "1,1,50"), at: .zero)
    #expect(state.apply(update(.title, "One"), at: at(1)) == [.trackTitle])
    #expect(state.elapsed(at: at(1)) == 51)
    #expect(state.apply(update(.title, "One"), at: at(2)) == [])
    #expect(state.apply(update(.title, "Two"), at: at(3)) == [.trackTitle])
    #expect(state.elapsed(at: at(5)) == 2)
    // The title was read whole after the phone had sent its position.
    _ = state.apply(update(.playbackInfo, "1,1,30"), at: at(7))
    #expect(state.apply(update(.title, "Three"), at: at(6)) == [.trackTitle])
    #expect(state.elapsed(at: at(7)) == 30)
  }

  @Test("Empty values mean unknown; what is out of range, or an unknown attribute, changes nothing")
  func unreadable() {
    var state = MediaState()
    for attribute in [MediaAttribute.volume, .queueIndex, .queueCount, .shuffleMode, .duration] {
      _ = state.apply(update(attribute, "1"), at: .zero)
      #expect(state.apply(update(attribute, ""), at: .zero).count == 1)
    }
    #expect(state == MediaState())
    #expect(state.apply(update(.queueIndex, "-1"), at: .zero) == [])
    #expect(state.apply(update(.queueCount, "1e9"), at: .zero) == [])
    #expect(state.apply(update(.volume, "7"), at: .zero) == [.playerVolume])
    #expect(state.player.volume == 1)
    #expect(state.apply(update(MediaAttribute(.player, 9), "x"), at: .zero) == [])
    #expect(state.apply(update(MediaAttribute(Entity(rawValue: 7), 0), "x"), at: .zero) == [])
  }

  @Test("Playback info is decoded as it was encoded")
  func writing() {
    // A state of a newer iOS.
    #expect(PlaybackInfo(decoding: Array("7,1,2".utf8)) != nil)
    #expect(PlaybackInfo(decoding: Array("256,1,2".utf8)) == nil)
    let info = PlaybackInfo(state: .playing, rate: -1, elapsed: 71.147)
    #expect(info.encoded == "1,-1.000,71.147")
    #expect(PlaybackInfo(decoding: Array(info.encoded.utf8)) == info)
    #expect(PlaybackInfo().encoded == ",,")
    #expect(MediaNumber.text(.infinity) == "")
    #expect(MediaNumber.text(.nan) == "")
    #expect(MediaNumber.text(0.0625) == "0.063")
    #expect(MediaNumber.text(-0.0001) == "0.000")
  }

  @Test("Commands have names in the order of their numbers")
  func commands() {
    #expect(RemoteCommand.names.count == 14)
    for (number, name) in RemoteCommand.names.enumerated() {
      #expect(RemoteCommand(name: name)?.rawValue == UInt8(number))
      #expect(RemoteCommand(rawValue: UInt8(number)).name == name)
    }
    #expect(RemoteCommand(name: "eject") == nil)
    #expect(RemoteCommand.list(decoding: [0, 2, 0, 99]).map(\.rawValue) == [0, 2, 99])
  }
}
