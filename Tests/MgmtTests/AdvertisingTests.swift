// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
@testable import Mgmt
import Testing
import Wire

@Suite("Advertising data")
struct AdvertisingTests {
  static let ancs = "d0002d121e4b0fa4994ecEb531f40579".lowercased()

  /// What is on the air with this name, in hexadecimal digits: advertisement and scan response. The kernel
  /// adds Flags and the transmit power before the data.
  struct Payload: Sendable, CustomTestStringConvertible {
    var profile: AdvertisingProfile
    var name: String
    var data: String
    var scanResponse: String
    var flags: AdvertisingFlags = [.discoverable, .txPower]
    var testDescription: String { "\(profile.rawValue) \(name)" }
  }

  static let payloads = [
    Payload(
      profile: .solicit, name: "board", data: "1115\(ancs)" + "0609626f617264",
      scanResponse: "0609626f617264"),
    Payload(
      profile: .time, name: "kitchen", data: "03140518" + "08096b69746368656e",
      scanResponse: "08096b69746368656e"),
    Payload(
      profile: .heartRate, name: "kitchen", data: "03030d18" + "08096b69746368656e",
      scanResponse: "1115\(ancs)" + "08096b69746368656e"),
    Payload(
      profile: .solicitWithData, name: "kitchen", data: "1115\(ancs)" + "04ffffff00" + "0416999900" + "020106",
      scanResponse: "08096b69746368656e", flags: []),
    Payload(
      profile: .solicitHeartRate, name: "kitchen", data: "1115\(ancs)" + "03030d18" + "05086b697463",
      scanResponse: "08096b69746368656e", flags: .discoverable),
    Payload(
      profile: .hid, name: "kitchen", data: "03031218" + "0319c103" + "08096b69746368656e",
      scanResponse: "08096b69746368656e"),
  ]

  @Test("Each profile is what was documented to work", arguments: payloads)
  func payload(_ payload: Payload) {
    #expect(payload.profile.data(name: payload.name).encoded.hex == payload.data)
    #expect(payload.profile.scanResponse(name: payload.name).encoded.hex == payload.scanResponse)
    #expect(payload.profile.flags == payload.flags)
  }

  static let names = ["", "b", "board", "Küchenradio", "📻📻📻📻📻📻📻📻📻📻", "a name of more than thirty-one bytes"]

  @Test("With what the kernel adds every profile fits into 31 bytes", arguments: names)
  func fits(name: String) {
    for profile in AdvertisingProfile.allCases {
      let data = profile.data(name: name)
      let added = [AdvertisingFlags.discoverable, .txPower].count { profile.flags.contains($0) }
      #expect(data.encoded.count + 3 * added <= 31)
      let shown = data.localName
      #expect(shown.map { name.hasPrefix($0) } ?? true, "cut in a character: \(shown ?? "")")
      let response = profile.scanResponse(name: name)
      #expect(response.encoded.count <= 31)
      let isWhole = data.localName == name || response.localName == name
      #expect(isWhole || name.utf8.count > 29 || name.isEmpty)
    }
  }

  @Test("Where the kernel can, an advertisement goes out with its own interval")
  func commands() {
    let advertisement = Advertisement(profile: .solicit, name: "b", pace: .fast)
    let data = "1115\(Self.ancs)" + "020962"
    #expect(
      hex(advertisement, .extended) == [
        "540000001200" + "01" + "13400000" + "00000000" + "2000000020000000" + "7f",
        "550000001b00" + "01" + "1503" + data + "020962",
      ])
    #expect(
      hex(advertisement, .plain) == [
        "4c0000000a00" + "0a00022000" + "0b00022000",
        "3e0000000b00" + "01" + "13000000" + "00000000" + "0000",
        "3e0000002300" + "01" + "13000000" + "00000000" + "1503" + data + "020962",
      ])
    #expect(advertisement.steps(.plain).map(\.isEssential) == [false, false, true])
    #expect(hex(advertisement, .withoutPower).last?.contains("0103000000") == true)
    #expect(AdvertisingPace.slow.rawValue == 244)
    let quiet = Advertisement(profile: .solicit, name: "b", pace: .slow, isConnectable: false)
    #expect(hex(quiet, .extended).first?.contains("0112400000") == true)
  }

  private func hex(_ advertisement: Advertisement, _ method: Advertisement.Method) -> [String] {
    advertisement.steps(method).map { $0.command.packet(index: Sample.hci0).encoded.hex }
  }
}

@Suite("What is on the air, when it changes, and what follows a failure")
struct AdvertisingPlanTests {
  private func at(_ seconds: Double) -> Instant { .zero + .milliseconds(Int64(seconds * 1_000)) }

  /// A plan whose fast pace began at 0.
  private func plan(choice: AdvertisingProfile? = .solicit) -> AdvertisingPlan {
    var plan = AdvertisingPlan(name: "board", choice: choice)
    plan.begin(at: .zero)
    return plan
  }

  private func advertise(_ pace: AdvertisingPace) -> AdvertisingPlan.Step {
    .advertise(Advertisement(profile: .solicit, name: "board", pace: pace))
  }

  @Test(
    "While any phone may pair the profiles take turns, otherwise there is the solicitation alone")
  func turns() {
    var plan = plan(choice: nil)
    func profile(_ audience: AdvertisingPlan.Audience, turn: Int) -> AdvertisingProfile? {
      let now = Instant.zero + AdvertisingProfile.turn * turn
      guard case .advertise(let advertisement)? = plan.step(for: audience, at: now) else {
        return nil
      }
      return advertisement.profile
    }
    let profiles = AdvertisingProfile.allCases
    // A round is over within the half minute in which a phone is to find a board.
    #expect(AdvertisingProfile.turn * profiles.count <= .seconds(30))
    #expect((0..<3).map { profile(.bonded, turn: $0) } == [.solicit, .solicit, .solicit])
    #expect(plan.deadline(for: .anybody, at: at(0.5)) == at(0) + AdvertisingProfile.turn)
    // After a phone has dropped links, for a while no keyboard is among them.
    plan.avoidKeyboard(until: at(3_600))
    let others = profiles.filter { $0 != .hid }
    #expect((0..<others.count).map { profile(.anybody, turn: $0) } == others)
    #expect((720..<726).compactMap { profile(.anybody, turn: $0) }.contains(.hid))
  }

  @Test("What has failed is tried again after 1, 2, 4, 8, 16, 30, 30 s, and reported once")
  func failure() {
    var plan = plan()
    var now = at(100)
    var pauses: [Duration] = []
    for round in 0..<7 {
      #expect(plan.step(for: .bonded, at: now) == advertise(.slow))
      #expect(plan.failed(advertise(.slow), for: .bonded, isAlone: true, why: "no", at: now) == (round == 0))
      #expect(plan.step(for: .bonded, at: now) == nil && plan.failure == "no")
      let again = plan.deadline(for: .bonded, at: now) ?? now
      pauses.append(again - now)
      now = again
    }
    #expect(pauses == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    plan.succeeded(advertise(.slow))
    #expect(plan.failure == nil)
    #expect(plan.failed(advertise(.slow), for: .bonded, isAlone: true, why: "no", at: now) == true)
  }

  @Test("A failure beside a phone waits until the phone has gone or another audience is there")
  func failureBesidePhone() {
    var plan = plan()
    _ = plan.failed(advertise(.slow), for: .bonded, isAlone: false, why: "no", at: at(100))
    #expect(plan.deadline(for: .bonded, at: at(100)) == nil)
    #expect(plan.step(for: .bonded, at: at(999)) == nil)
    #expect(plan.step(for: .nobody, at: at(999)) == .remove)
    plan.begin(at: at(1_000))
    #expect(plan.step(for: .bonded, at: at(1_000)) == advertise(.fast))
  }
}
