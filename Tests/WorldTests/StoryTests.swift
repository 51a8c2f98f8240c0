// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import JSON
import Mgmt
import TestLoop
import Testing
import VirtualKernel
import Wire

@testable import Board
@testable import Daemon

/// A story of Tests/Vectors/stories.json. Tests/Lab/cases_stories.py plays the same stories on real
/// kernels, which judge the virtual one.
struct Story: CustomTestStringConvertible, Sendable {
  typealias Act = @LoopActor @Sendable (World, Story) async throws -> Void

  /// What somebody does. A word of the file is an act here and a method in Tests/Lab/cases_stories.py.
  private static let acts: [String: Act] = [
    "daemon starts": { world, story in world.launch { $0.radio.io = story.io } },
    "daemon stops": { world, _ in try await world.stop() },
    "board accepts": { world, _ in try await world.respond(PairingResponse(accept: true)) },
    "board declines": { world, _ in try await world.respond(PairingResponse(accept: false)) },
    "board opens pairing": { world, _ in try await world.openPairing(seconds: 60) },
    "board forgets phone": { world, _ in try await world.forgetPhone() },
    "phone connects": { world, _ in
      world.phone.leave()
      try await world.until("the board is on the air") { world.adapter.isOnAir }
      world.phone.connect(to: world.adapter)
    }, "phone leaves": { world, _ in world.phone.leave() }, "phone is lost": { world, _ in world.phone.goOutOfRange() },
    "phone refuses": { world, _ in world.phone.consent = .refuses(after: .seconds(1)) },
    "phone agrees": { world, _ in world.phone.consent = .accepts(after: .seconds(1)) },
    "phone waits to be asked": { world, _ in world.phone.encryptsAfter = nil },
    "phone types the number": { world, _ in world.phone.typesCorrectly = true },
    "phone types another number": { world, _ in world.phone.typesCorrectly = false },
    "phone forgets board": { world, _ in world.phone.forget(world.adapter) },
    "phone has another key": { world, _ in world.phone.spoilKey(of: world.adapter) },
    "adapter is unplugged": { world, _ in world.unplug() }, "adapter is plugged in": { world, _ in world.replug() },
    "adapter is powered off": { world, _ in try await world.command(.setPowered(false)) },
    "radio is blocked": { world, _ in world.kernel.block(world.adapter, .soft) },
    "radio is unblocked": { world, _ in world.kernel.block(world.adapter, nil) },
    "bluetoothd starts": { world, _ in world.kernel.startBluetoothDaemon() },
    "bluetoothd ends": { world, _ in world.kernel.stopBluetoothDaemon() },
  ]

  /// An act, and the events that follow. Those of one group come in either order.
  struct Scene: Sendable {
    var name: String
    var act: Act
    var groups: [[String]]

    init?(_ json: JSONValue) {
      guard let items = json.array, let name = items.first?.string, let act = acts[name] else {
        return nil
      }
      (self.name, self.act) = (name, act)
      groups = items.dropFirst().map { item in
        item.string.map { [$0] } ?? item.array?.compactMap(\.string) ?? []
      }
    }
  }

  var name: String
  var io: IOCapability
  /// Whether the phone uses private addresses.
  var isPrivate: Bool
  var scenes: [Scene]
  /// What holds in the end.
  var end: [String]

  var testDescription: String { name }

  init(_ json: JSONValue) throws {
    name = try #require(json["name"]?.string)
    var options = RunOptions()
    try Grammar.run.setting("io")?.set(.text(json["io"]?.string ?? "none"), in: &options)
    io = try #require(options.radio.io)
    isPrivate = json["private"]?.bool ?? false
    scenes = try (json["scenes"]?.array ?? []).map { try #require(Scene($0), "no such act: \($0)") }
    end = json["end"]?.array?.compactMap(\.string) ?? []
  }

  /// The file with the stories.
  struct Collection: Sendable {
    var stories: [Story]
    /// The events that are compared, and which of their members.
    var fields: [String: [String]]

    init() throws {
      let json = try JSONValue(parsing: Repository.read("Tests/Vectors/stories.json"))
      let members = json["fields"]?.object?.members ?? []
      fields = Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value.array?.compactMap(\.string) ?? []) })
      stories = try (json["stories"]?.array ?? []).map(Story.init)
    }

    /// An event in the words of the file; nil where it is not compared.
    func words(for event: Event) throws -> String? {
      guard let fields = fields[event.name.rawValue] else { return nil }
      let line = NumberedEvent(seq: 0, time: WallTime(seconds: 0), event)
      let json = try JSONValue(parsing: line.json)
      let members = fields.map { field in
        let value = json[field]
        return " \(field)=\(value?.string ?? value?.bool.map { "\($0)" } ?? "absent")"
      }
      return event.name.rawValue + members.joined()
    }
  }
}

/// Plays a story in a world.
@LoopActor
private final class StoryTeller {
  private let world: World
  private let story: Story
  private let file: Story.Collection
  /// How many of the world's events were compared, or passed over.
  private var seen = 0

  init(_ story: Story, of file: Story.Collection, in world: World) {
    self.story = story
    self.file = file
    self.world = world
  }

  /// Whether an event is one that the story expects; `*` stands for any rest.
  private static func matches(_ event: String, _ expected: String) -> Bool {
    expected.last == "*" ? event.hasPrefix(expected.dropLast()) : event == expected
  }

  func play() async throws {
    world.phone.encryptsAfter = .milliseconds(300)
    world.phone.pairsAfter = .milliseconds(300)
    for scene in story.scenes {
      try await scene.act(world, story)
      for expected in scene.groups {
        var found: [String] = []
        for _ in expected {
          try? await world.until("an event", within: .seconds(15)) { hasEvent }
          if let event = try nextEvent() { found.append(event) }
        }
        try #require(
          found.count == expected.count
            && zip(found.sorted(), expected.sorted()).allSatisfy { Self.matches($0, $1) },
          "\(scene.name); \(world.story)")
      }
    }
    await world.pass(.milliseconds(300))
    #expect(try nextEvent() == nil, "after the end")
    #expect(end == story.end)
  }

  private var hasEvent: Bool {
    world.events[seen...].contains { file.fields[$0.name.rawValue] != nil }
  }

  private func nextEvent() throws -> String? {
    while seen < world.events.count {
      seen += 1
      if let words = try file.words(for: world.events[seen - 1]) { return words }
    }
    return nil
  }

  /// How things stand.
  private var end: [String] {
    let phone = world.phone
    let facts = [
      ("connected", phone.connection != nil), ("encrypted", phone.connection?.isEncrypted == true),
      ("phone is bonded", phone.isBonded(to: world.adapter)),
      ("board is bonded", world.daemon?.phoneReports.isEmpty == false),
    ]
    let keys = world.adapter.keyKinds(of: phone.kind.identity).map {
      $0.isAuthenticated ? "authenticated key" : "unauthenticated key"
    }
    return facts.filter(\.1).map(\.0) + keys
  }
}

@Suite("The stories of Tests/Vectors/stories.json", .inWorld)
struct StoryTests: InWorld {
  nonisolated static let file = try? Story.Collection()

  @Test("The file can be read")
  func readable() throws {
    let file = try Story.Collection()
    #expect(file.stories.count >= 10 && file.stories.allSatisfy { !$0.scenes.isEmpty })
  }

  @Test("The virtual kernel's story is the real kernel's", arguments: file?.stories ?? [])
  func story(_ story: Story) async throws { try await tell(story) }

  @Test("A kernel that powers a blocked adapter off in good order has the same story")
  func blockedInOrder() async throws {
    let story = try #require(Self.file?.stories.first { $0.name == "blocked" })
    try await tell(story, powersOffInOrder: true)
  }

  private func tell(_ story: Story, powersOffInOrder: Bool = false) async throws {
    let file = try #require(Self.file)
    world.usePhone { if !story.isPrivate { $0.privateAddress = nil } }
    world.kernel.powersOffInOrder = powersOffInOrder
    try await StoryTeller(story, of: file, in: world).play()
  }
}
