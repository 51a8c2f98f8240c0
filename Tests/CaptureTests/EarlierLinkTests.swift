// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Capture
import GAP
import GATT
import Testing
import Wire

@testable import FuzzTargets

@Suite("Links that were up before the capture began")
struct EarlierLinkTests {
  private static let source = LocatedService(
    service: Service(uuid: .notificationCenter, range: HandleRange(0x10, 0x1F)),
    characteristics: [
      Characteristic(
        declaration: 0x14, properties: .notify, value: 0x15, uuid: .notificationSource, end: 0x16, cccd: 0x16)
    ])
  private static let event: [UInt8] = [0x1B, 0x15, 0, 0, 0, 4, 1, 7, 0, 0, 0]

  @Test("Services that are known from elsewhere name the attributes")
  func known() {
    var link = DecodedLink()
    link.decoder.addLink(to: Sample.phone.address, handle: 0x40, adapter: 0, remote: [Self.source])
    let unit = link.receive(Self.event)
    #expect(unit?.link?.peer == Sample.phone.address)
    #expect(unit?.value("uid") == "7")
    let subscribed = link.send([0x12, 0x16, 0, 1, 0])
    #expect(subscribed?.attributes.first?.name == "Client Characteristic Configuration (2902) of Notification Source")
    #expect(subscribed?.profiles == [.ancs])
  }
}
