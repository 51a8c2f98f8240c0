// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Arguments
import Capture
import Control
import GAP
import JSON
import Testing
import Wire

@testable import CaptureTools

@Suite("Captures as text and JSON")
struct CaptureOutputTests {
  static let time = WallTime(seconds: 1_795_241_100, nanoseconds: 42_137_000)
  static let phone = DeviceAddress(Address(0x4455_6677_8899), .random)

  /// A connection, a discovery, a notification and its response.
  static let records: [CaptureRecord] = {
    var recorder = LinkRecorder()
    var micros = time.microseconds
    func now() -> WallTime {
      micros += 1_250
      return WallTime(microseconds: micros)
    }
    var records = recorder.begin(adapter: 0, address: nil, name: "hci0", at: now())
    let (handle, connected) = recorder.connect(adapter: 0, peer: phone, at: now())
    records.append(connected)
    func pdu(_ pdu: PDU, _ direction: CaptureDirection) {
      records.append(recorder.pdu(pdu.encoded, direction, handle: handle, adapter: 0, at: now()))
    }
    pdu(
      .findByTypeValueRequest(
        .all, type: 0x2800, value: UUID.notificationCenter.littleEndian), .sent)
    pdu(.findByTypeValueResponse([HandleRange(0x0010, 0x0019)]), .received)
    pdu(.readByTypeRequest(HandleRange(0x0010, 0x0019), type: 0x2803), .sent)
    pdu(
      .readByTypeResponse([
        .init(handle: 0x11, value: [0x08, 0x12, 0] + UUID.controlPoint.littleEndian),
        .init(handle: 0x14, value: [0x10, 0x15, 0] + UUID.notificationSource.littleEndian),
        .init(handle: 0x17, value: [0x10, 0x18, 0] + UUID.dataSource.littleEndian),
      ]), .received)
    let event = NotificationEvent(.added, 7, category: .social, flags: [.negativeAction])
    pdu(.handleValueNotification(0x15, value: event.encoded), .received)
    let command = ControlPointCommand.getNotificationAttributes(7, [.init(.title, maximumLength: 64)])
    pdu(.writeRequest(0x12, value: command.encoded), .sent)
    pdu(.writeResponse, .received)
    let response = DataSourceResponse(
      .notification(7), [.init(id: 1, value: Array("A\u{1B}[2J\nnn".utf8))])
    pdu(.handleValueNotification(0x18, value: response.encoded), .received)
    records.append(recorder.disconnect(handle: handle, adapter: 0, at: now()))
    return records
  }()

  /// A btsnoop file.
  static func file(_ records: some Sequence<CaptureRecord> = records) -> [UInt8] {
    BtsnoopWriter.header + records.flatMap(BtsnoopWriter.record)
  }

  private static func text(_ filter: CaptureFilter = .init(), clock: CaptureText.Clock = .offset) -> [String] {
    var decoder = CaptureDecoder()
    var text = CaptureText(style: TextStyle(), clock: clock)
    return records.flatMap { record in
      text.begin(at: record.time)
      return filter.apply(to: decoder.decode(record)).map { text.lines($0) } ?? []
    }
  }

  private static func json(_ filter: CaptureFilter = .init()) -> [JSONValue] {
    var decoder = CaptureDecoder()
    return records.compactMap { filter.apply(to: decoder.decode($0)) }
      .flatMap { frame in frame.units.map { $0.json(in: frame) } }
  }

  @Test("The text is laid out as btmon's is")
  func golden() {
    let expected = """
      = New Index: 00:00:00:00:00:00 (Primary,Virtual,hci0)         #1 [hci0] 0.000000
      = Open Index: hci0                                            #2 [hci0] 0.000000
      > HCI Event: LE Meta Event (0x3e) plen 19                     #3 [hci0] 0.001250
              Subevent: LE Connection Complete (0x01)
              Status: Success (0x00)
              Handle: 0
              Role: Peripheral (0x01)
              Peer Address Type: Random (0x01)
              Peer Address: 44:55:66:77:88:99 (resolvable)
              Interval: 30 ms
              Latency: 0
              Supervision Timeout: 5000 ms
              Clock Accuracy: 0x00
      < ACL Data TX: Handle 0 flags 0x00 dlen 27                    #4 [hci0] 0.002500
            ATT: Find By Type Value Request (0x06) len 22
              Handles: 0x0001-0xffff
              Type: Primary Service (2800)
              UUID: Apple Notification Center Service (7905F431-B5CE-4E99-A40F-4B1E122D00D0)
              Value: d0002d121e4b0fa4994eceb531f40579
      > ACL Data RX: Handle 0 flags 0x02 dlen 9                     #5 [hci0] 0.003750
            ATT: Find By Type Value Response (0x07) len 4
              Handles: 0x0010-0x0019 Primary Service (2800)
                Service: Apple Notification Center Service (7905F431-B5CE-4E99-A40F-4B1E122D00D0)
      """
    #expect(Self.text().prefix(23).joined(separator: "\n") == expected)
  }

  @Test("No control character from the air reaches the terminal")
  func printable() {
    let title = Self.text().first { $0.contains("Title: A") }
    #expect(title == "          Title: A␛[2J nn")
    #expect(Self.text().allSatisfy { !$0.utf8.contains { $0 < 0x20 } })
  }

  @Test("Time of day and date replace the offset")
  func clocks() {
    #expect(Self.text(clock: .time)[0].hasSuffix("#1 [hci0] 06:05:00.043387"))
    #expect(Self.text(clock: .date)[0].hasSuffix("#1 [hci0] 2026-11-21 06:05:00.043387"))
  }

  @Test("JSON has one object per PDU, with its subject")
  func json() {
    let objects = Self.json()
    #expect(objects.count == 12)
    #expect(["start", "end", "type"].map { objects[3][$0] } == [1, 65535, "2800"])
    let list = objects[6]["attributes"]?.array ?? []
    #expect(list.map { $0["decoded"]?["value_handle"] } == [0x12, 0x15, 0x18])
    #expect(
      objects[10].text == #"""
        {"frame":11,"time":"2026-11-21T06:05:00.054637Z","adapter":"hci0","direction":"rx",\#
        "layer":"att","connection":0,"phone":"44:55:66:77:88:99","cid":4,"opcode":27,\#
        "name":"Handle Value Notification","length":19,"handle":24,\#
        "uuid":"22EAC6E9-24D6-4BB5-BE44-B36ACE7C7BFB","attribute":"Data Source",\#
        "service":"7905F431-B5CE-4E99-A40F-4B1E122D00D0","value":"0007000000010800411b5b324a0a6e6e",\#
        "decoded":{"ancs_response":{"state":"complete","fragments":1,"bytes":16,"uid":7,\#
        "title":"A\u001b[2J\nnn"}}}
        """#)
  }

  @Test("Others are refused", arguments: [[], ["a", "-"], ["--phone", "x", "a"]])
  func refused(arguments: [String]) {
    var options = CaptureOptions()
    #expect(throws: Failure.self) { try Grammar.decode.parse(arguments, into: &options) }
  }
}
