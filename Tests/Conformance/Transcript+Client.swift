// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import JSON
import TestLoop
import Wire

extension Transcripts {
  /// Our client's step against the transcript's server.
  static func playClient(_ transcript: Transcript, _ loop: isolated TestLoop) async throws {
    let player = TranscriptPlayer(transcript, scheduler: loop.clock)
    let client = Client(player.bearer)
    let run = ClientRun(transcript: transcript, client: client, player: player)
    if transcript.step["auto_security"]?.bool == true {
      // The link's security can be raised, and is.
      player.bearer.raiseSecurity = { done in done(true) }
    }
    let work = loop.start { try await run.all() }
    let difference = await player.play(loop)
    if let verdict = work.failure as? Verdict { throw verdict }
    if let difference { throw Verdict.failed(difference) }
    switch work.result {
    case .success: break
    case .failure(let error): throw Verdict.failed("\(error)")
    case nil where mayStayUnfinished(transcript): break
    case nil: throw Verdict.failed("the step waits for more than the transcript has")
    }
  }

  /// A transcript without a step may end in the discovery; one about an unsolicited value may send that of
  /// another characteristic.
  private static func mayStayUnfinished(_ transcript: Transcript) -> Bool {
    guard transcript.lines.last?.isSent == true else { return false }
    switch transcript.step["op"]?.string {
    case nil: return transcript.role == "client"
    case "notification", "indication":
      guard (transcript.step["expected_att_ecode"]?.int ?? 0) == 0 else { return false }
      return !transcript.lines.contains { line in
        guard !line.isSent, let pdu = try? PDU(decoding: line.bytes) else { return false }
        switch pdu {
        case .handleValueNotification(let handle, _), .handleValueIndication(let handle, _):
          return handle == transcript.step.u16("handle")
        case .multipleHandleValueNotification(let values):
          return values.contains { $0.handle == transcript.step.u16("handle") }
        default: return false
        }
      }
    default: return false
    }
  }
}

/// Our client's side of one transcript.
struct ClientRun {
  let transcript: Transcript
  let client: Client
  let player: TranscriptPlayer
  var step: JSONValue { transcript.step }

  func all() async throws {
    try await client.bearer.exchangeMTU()
    guard transcript.role == "client" else { return try await procedure() }
    var discovery = Discovery()
    try await discovery.run(client, player)
    if let expected = transcript.database?.summary, expected != discovery.summary {
      let one = Set(expected).symmetricDifference(discovery.summary).min() ?? ""
      throw Verdict.failed("what was discovered differs from the database: \(one)")
    }
    guard let operation = step["op"]?.string else { return }
    try await checked { try await self.perform(operation, discovery) }
  }

  /// Runs one procedure, whose result (a value, or the server's error) must be the expected one.
  ///
  /// Attribute Not Found is the end of a search (Vol 3 Part G, 4.4.1): where it is expected, the procedure
  /// succeeds with what it has found.
  /// What is expected is the value of each attribute that was read.
  private func checked(_ work: () async throws -> [[UInt8]]) async throws {
    let code = step["expected_att_ecode"]?.int ?? 0
    let values: [[UInt8]]
    do {
      values = try await work()
    } catch let failure as ATTFailure {
      guard let found = failure.code, Int64(found.rawValue) == code else {
        throw Verdict.failed("ended with \(failure)")
      }
      return
    }
    guard code == 0 || code == 0x0A else {
      throw Verdict.failed("succeeded where error \(code) was expected")
    }
    guard let expected = step.octets("value") else { return }
    if let wrong = values.first(where: { $0 != expected }) {
      throw Verdict.failed("read \(wrong.hex) instead of \(expected.hex)")
    }
  }

  // MARK: Procedures on their own (role `att`)

  private func procedure() async throws {
    let name = step["func"]?.string ?? ""
    let range = range
    let text = step["uuid"]?.string
    let uuid = text.flatMap { UUID($0) }
    try await checked {
      switch name {
      case "search_primary":
        if let uuid, let text {
          // A type written with all its digits is sent with all its octets.
          _ = try await client.primaryServices(uuid, in: range, wide: text.utf8.count > 8)
        } else {
          _ = try await client.primaryServices()
        }
      case "search_secondary": _ = try await Discovery.secondaryServices(client, in: range)
      case "search_included": _ = try await Discovery.includedServices(client, in: range)
      case "search_chars": _ = try await client.characteristics(in: range)
      case "search_descs": _ = try await client.attributes(in: range)
      case "read_by_type":
        guard let uuid else { throw Verdict.notApplicable("its step names no type") }
        return try await client.collect(range) { (rest) throws(ATTFailure) in
          try await client.bearer.request(.readByType(rest, type: uuid)).map {
            (HandleRange($0.handle, $0.handle), $0.value)
          }
        }
      default: throw Verdict.notApplicable("the procedure \(name) is not known")
      }
      return []
    }
  }

  /// The handles that the step names, otherwise those of the transcript's next request.
  private var range: HandleRange {
    if let start = step.u16("handle") { return HandleRange(start, step.u16("end_handle") ?? .max) }
    return player.askedRange ?? .all
  }

  // MARK: Operations on what was discovered (role `client`)

  private func perform(_ operation: String, _ discovery: Discovery) async throws -> [[UInt8]] {
    let handle = step.u16("handle") ?? 0
    let value = step.octets("value") ?? []
    switch operation {
    case "read": return [try await client.read(handle)]
    case "long_read": return [try await client.readLong(handle)]
    case "write": try await client.write(handle, value)
    case "long_write": try await client.writeLong(handle, value)
    case "write_without_response": try client.writeCommand(handle, value)
    case "notification": return try await firstValue(handle, .notifications, discovery)
    case "indication": return try await firstValue(handle, .indications, discovery)
    default: throw Verdict.notApplicable("a client's step \(operation) is not known")
    }
    return []
  }

  /// Subscribes, and waits for a value.
  private func firstValue(
    _ handle: Handle, _ subscription: ClientConfiguration, _ discovery: Discovery
  ) async throws -> [[UInt8]] {
    guard let cccd = discovery.configuration(of: handle) else {
      throw Verdict.failed("no configuration was found for \(hexadecimal(handle))")
    }
    let values = Mailbox<[UInt8]>()
    client.setHandler(for: handle) { values.post($0) }
    try await client.configure(cccd, subscription)
    return await values.next().map { [$0] } ?? []
  }
}
