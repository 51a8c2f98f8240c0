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
  /// What somebody does. A word of the file is an act here and a method in Tests/Lab/cases_stories.py.
  enum Act: String, Sendable {
    case daemonStarts = "daemon starts"
    case daemonStops = "daemon stops"
    case boardAccepts = "board accepts"
    case boardDeclines = "board declines"
    case boardOpensPairing = "board opens pairing"
    case boardForgetsPhone = "board forgets phone"
    case phoneConnects = "phone connects"
    case phoneLeaves = "phone leaves"
    case phoneIsLost = "phone is lost"
    case phoneRefuses = "phone refuses"
    case phoneAgrees = "phone agrees"
    case phoneWaitsToBeAsked = "phone waits to be asked"
    case phoneTypesTheNumber = "phone types the number"
    case phoneTypesAnotherNumber = "phone types another number"
    case phoneForgetsBoard = "phone forgets board"
    case phoneHasAnotherKey = "phone has another key"
    case adapterIsUnplugged = "adapter is unplugged"
    case adapterIsPluggedIn = "adapter is plugged in"
    case adapterIsPoweredOff = "adapter is powered off"
    case radioIsBlocked = "radio is blocked"
    case radioIsUnblocked = "radio is unblocked"
    case bluetoothdStarts = "bluetoothd starts"
    case bluetoothdEnds = "bluetoothd ends"
  }

  /// An act, and the events that follow. Those of one group come in either order.
  struct Scene: Sendable {
    var act: Act
    var groups: [[String]]

    init?(_ json: JSONValue) {
      guard let items = json.array, let act = items.first?.string.flatMap(Act.init) else {
        return nil
      }
      self.act = act
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
    scenes = try (json["scenes"]?.array ?? []).map {
      try #require(Scene($0), "no such act: \($0)")
    }
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
      fields = Dictionary(
        uniqueKeysWithValues: members.map { ($0.name, $0.value.array?.compactMap(\.string) ?? []) })
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
      try await perform(scene.act)
      for expected in scene.groups {
        var found: [String] = []
        for _ in expected {
          try? await world.until("an event", within: .seconds(15)) { hasEvent }
          if let event = try nextEvent() { found.append(event) }
        }
        try #require(
          found.count == expected.count
            && zip(found.sorted(), expected.sorted()).allSatisfy { Self.matches($0, $1) },
          "\(scene.act.rawValue); \(world.story)")
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
      ("connected", phone.connection != nil),
      ("encrypted", phone.connection?.isEncrypted == true),
      ("phone is bonded", phone.isBonded(to: world.adapter)),
      ("board is bonded", world.daemon?.phoneReports.isEmpty == false),
    ]
    let keys = world.adapter.keyKinds(of: phone.kind.identity).map {
      $0.isAuthenticated ? "authenticated key" : "unauthenticated key"
    }
    return facts.filter(\.1).map(\.0) + keys
  }

  private func perform(_ act: Story.Act) async throws {
    let (phone, kernel) = (world.phone, world.kernel)
    switch act {
    case .daemonStarts: world.launch { $0.io = story.io }
    case .daemonStops: try await world.stop()
    case .boardAccepts, .boardDeclines:
      try await world.respond(PairingResponse(accept: act == .boardAccepts))
    case .boardOpensPairing: try await world.openPairing(seconds: 60)
    case .boardForgetsPhone: try await world.forgetPhone()
    case .phoneConnects:
      phone.leave()
      try await world.until("the board is on the air") { world.adapter.isOnAir }
      phone.connect(to: world.adapter)
    case .phoneLeaves: phone.leave()
    case .phoneIsLost: phone.goOutOfRange()
    case .phoneRefuses: phone.consent = .refuses(after: .seconds(1))
    case .phoneAgrees: phone.consent = .accepts(after: .seconds(1))
    case .phoneWaitsToBeAsked: phone.encryptsAfter = nil
    case .phoneTypesTheNumber: phone.typesCorrectly = true
    case .phoneTypesAnotherNumber: phone.typesCorrectly = false
    case .phoneForgetsBoard: phone.forget(world.adapter)
    case .phoneHasAnotherKey: phone.spoilKey(of: world.adapter)
    case .adapterIsUnplugged: world.unplug()
    case .adapterIsPluggedIn: world.replug()
    case .adapterIsPoweredOff: try await world.command(.setPowered(false))
    case .radioIsBlocked: kernel.block(world.adapter, .soft)
    case .radioIsUnblocked: kernel.block(world.adapter, nil)
    case .bluetoothdStarts: kernel.startBluetoothDaemon()
    case .bluetoothdEnds: kernel.stopBluetoothDaemon()
    }
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
