// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ATT
import TestLoop
import Testing
import Wire

@Suite("AMS: the media state")
struct MediaStateTests {
  private func update(_ attribute: MediaAttribute, _ text: String) -> EntityUpdate {
    EntityUpdate(attribute, Array(text.utf8))
  }

  private func at(_ seconds: Int) -> Instant { .zero + .seconds(seconds) }

  @Test("Every attribute is applied, and changes are reported")
  func all() {
    var state = MediaState()
    #expect(
      state.apply(update(.playbackInfo, "1,1.0,71.5"), at: .zero)
        == [.playerState, .playerRate, .playerElapsed])
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

  @Test(
    "Numbers as phones write them",
    arguments: [
      ("-", nil), (".", nil), ("1-2", nil), ("+1", nil), ("1e5", nil), ("nan", nil), ("inf", nil),
      ("0x10", nil), (".5", 0.5), ("00012", 12), ("1.23456", 1.23456), ("1,", 1), ("12\u{0}x", 12),
      ("١", nil), (" 1", nil),
    ] as [(String, Double?)])
  func numbers(text: String, number: Double?) {
    #expect(MediaNumber.double(text.utf8) == number)
  }

  @Test("A value that does not fit is cut and flagged")
  func truncation() throws {
    let short = EntityUpdate(.title, Array("So What".utf8), fitting: 20)
    #expect(!short.isTruncated)
    let long = EntityUpdate(.title, Array("Größenwahn und mehr".utf8), fitting: 6)
    #expect(long.isTruncated)
    #expect(long.encoded.count == 6)
    #expect(long.text == "Gr")
    #expect(try EntityUpdate(decoding: long.encoded) == long)
    #expect(EntityUpdate(.title, [0x78], fitting: 0).encoded.count == 3)
    for length in 0..<3 {
      #expect(throws: DecodeError.self) {
        try EntityUpdate(decoding: Array(repeating: 0, count: length))
      }
    }
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

  @Test("No bytes cause a trap, and positions stay within the track")
  func fuzz() {
    var random = SeededGenerator(seed: 4)
    var state = MediaState()
    let texts = [
      "1,1.0,71.147", "0,,", "0.0625", "12", "So What – Größe", "-9,9999999999999999999",
    ]
    for round in 0..<40_000 {
      let text = Array(texts[round % texts.count].utf8)
      let value = round % 5 == 0 ? random.bytes(upTo: 40) : random.mutated(text)
      let bytes = [UInt8(round % 4), UInt8.random(in: 0...4, using: &random), 0] + value
      guard let update = try? EntityUpdate(decoding: bytes) else { continue }
      let now = Instant(nanoseconds: .random(in: .min ... .max, using: &random))
      #expect(update.encoded == bytes)
      let changed = state.apply(update, at: now)
      #expect(changed == changed.inOrder)
      if let elapsed = state.elapsed(
        at: Instant(nanoseconds: .random(in: .min ... .max, using: &random)))
      {
        #expect(elapsed >= 0 && elapsed <= state.track.duration ?? .infinity)
      }
      if let volume = state.player.volume { #expect((0...1).contains(volume)) }
      _ = try? EntityRegistration(decoding: value)
      _ = try? MediaAttribute(decoding: value)
      _ = RemoteCommand.list(decoding: value).map(\.description)
    }
  }
}
