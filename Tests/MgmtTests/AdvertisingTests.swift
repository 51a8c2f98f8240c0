// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Mgmt
import Testing
import Wire

@Suite("Advertising data")
struct AdvertisingTests {
  static let ancs = "d0002d121e4b0fa4994ecEb531f40579".lowercased()

  @Test("Solicitation is the structure that the lab saw on air, with a short name behind it")
  func solicit() {
    #expect(
      AdvertisingProfile.solicit.data(name: "board").encoded.hex
        == "1115\(Self.ancs)" + "0609626f617264")
  }

  @Test("The Heart Rate UUID leaves four bytes for the name")
  func heartRate() {
    #expect(
      AdvertisingProfile.solicitHeartRate.data(name: "kitchen").encoded.hex
        == "1115\(Self.ancs)" + "03030d18" + "05086b697463")
  }

  @Test("A keyboard names its service, its appearance and itself")
  func hid() {
    #expect(
      AdvertisingProfile.hid.data(name: "kitchen").encoded.hex
        == "03031218" + "0319c103" + "08096b69746368656e")
  }

  static let names = [
    "", "b", "board", "Küchenradio", "📻📻📻📻📻📻📻📻📻📻", "a name of more than thirty-one bytes",
  ]

  @Test("With the kernel's Flags every profile fits into 31 bytes", arguments: names)
  func fits(name: String) {
    for profile in AdvertisingProfile.allCases {
      let data = profile.data(name: name)
      #expect(data.encoded.count + 3 <= 31)
      let shown = data.localName
      #expect(shown.map { name.hasPrefix($0) } ?? true, "cut in a character: \(shown ?? "")")
    }
    let response = AdvertisingProfile.scanResponse(name: name)
    #expect(response.encoded.count <= 31)
    if name.utf8.count <= 29, !name.isEmpty { #expect(response.localName == name) }
  }

  @Test("A name that does not fit is cut between characters and called shortened")
  func cut() {
    let data = AdvertisingProfile.solicit.data(name: "Küchenradio")
    #expect(data.structures.last == AdvertisingStructure(.shortenedName, Array("Küchenr".utf8)))
    let tight = AdvertisingProfile.solicitHeartRate.data(name: "Büro №5")
    #expect(tight.structures.last == AdvertisingStructure(.shortenedName, Array("Bür".utf8)))
    let none = AdvertisingProfile.solicitHeartRate.data(name: "📻")
    #expect(none.localName == "📻")
    #expect(AdvertisingProfile.scanResponse(name: "").encoded == [])
  }

  @Test("The choices are written as on the command line")
  func choices() {
    #expect(AdvertisingProfile.allCases.map(\.rawValue) == ["solicit", "solicit+hr", "hid"])
    #expect(AdvertisingProfile(rawValue: "none") == nil)
  }

  @Test("Where the kernel can, an advertisement goes out with its own interval")
  func commands() {
    let advertisement = Advertisement(profile: .solicit, name: "b", pace: .fast)
    let data = "1115\(Self.ancs)" + "020962"
    #expect(
      hex(advertisement, .extended) == [
        "540000001200" + "01" + "03400000" + "00000000" + "2000000020000000" + "7f",
        "550000001b00" + "01" + "1503" + data + "020962",
      ])
    #expect(
      hex(advertisement, .plain) == [
        "4c0000000a00" + "0a00022000" + "0b00022000",
        "3e0000002300" + "01" + "03000000" + "00000000" + "1503" + data + "020962",
      ])
    #expect(advertisement.steps(.plain).map(\.isEssential) == [false, true])
    #expect(AdvertisingPace.slow.rawValue == 244)
    let quiet = Advertisement(profile: .solicit, name: "b", pace: .slow, reach: .visible)
    #expect(hex(quiet, .extended).first?.contains("0102400000") == true)
  }

  private func hex(_ advertisement: Advertisement, _ method: Advertisement.Method) -> [String] {
    advertisement.steps(method).map { $0.command.packet(index: Sample.hci0).encoded.hex }
  }
}
