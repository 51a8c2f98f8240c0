// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import JSON
import TestLoop
import Wire

extension Transcripts {
  /// Our server's side of a transcript. Besides answering, it does one step whenever a line says so: the step of the
  /// transcript, or the next of its list (`steps`).
  static func playServer(_ transcript: Transcript, _ loop: isolated TestLoop) async throws {
    guard let description = transcript.database else {
      throw Verdict.failed("it names no database to serve")
    }
    let step = transcript.step
    let function = step["func"]?.string ?? "server"
    guard function == "server" || function == "hash_db" else {
      throw Verdict.notApplicable("the procedure \(function) is not known")
    }
    let database = AttributeDatabase()
    try description.add(to: database, subscribing: step["op"] != nil)
    if function == "hash_db" { try checkHash(of: database, step) }

    let player = TranscriptPlayer(transcript, scheduler: loop.clock)
    var security = LinkSecurity(step["security"])
    let server = Server(player.bearer, database: database, security: { security })
    var steps = (step["steps"]?.array ?? (step["op"] == nil ? [] : [step]))[...]
    var indication: Started<Bool>?
    let difference = await player.play(loop) {
      guard let step = steps.popFirst() else { throw Verdict.failed("it has no step to do") }
      let operation = step["op"]?.string ?? ""
      let value = step.octets("value") ?? []
      switch (operation, step.u16("handle")) {
      case ("server_notification", let handle?): try server.notify(handle, value)
      case ("server_indication", let handle?):
        indication = loop.start { try await server.indicate(handle, value) }
      case ("server_multiple_notification", _):
        try server.notify(
          (step["values"]?.array ?? []).map {
            .init(handle: $0.u16("handle") ?? 0, value: $0.octets("value") ?? [])
          })
      case ("add_service", _):
        try TranscriptDatabase(step).add(to: database, subscribing: false)
      case ("remove_service", let handle?): database.remove(at: handle)
      case ("secure", _): security = LinkSecurity(step["security"])
      default: throw Verdict.notApplicable("a server's step \(operation) is not known, or has no handle")
      }
    }
    if let difference { throw Verdict.failed(difference) }
    guard steps.isEmpty else { throw Verdict.failed("not all steps were done") }
    if step["post"] != nil, indication?.value != true {
      throw Verdict.failed("the indication was not taken as confirmed")
    }
  }

  /// The hash of a database must be that of the file, if it names one; in any case it must be the same
  /// whenever it is computed, and differ for another database.
  private static func checkHash(of database: AttributeDatabase, _ step: JSONValue) throws {
    let hash = database.hash
    if let expected = step.octets("hash") ?? step.octets("value"), hash != expected {
      throw Verdict.failed("the hash is \(hash.hex) instead of \(expected.hex)")
    }
    guard let first = database.services.first?.service.range.start,
      let last = database.services.last?.service.range.end
    else { throw Verdict.notApplicable("the database is empty") }
    if last < .max {
      try database.add(ServiceDefinition(0x1812, at: last + 1))
      guard database.hash != hash else {
        throw Verdict.failed("a service more does not change the hash")
      }
      database.remove(at: last + 1)
    }
    guard database.hash == hash else { throw Verdict.failed("the hash does not stay the same") }
    database.remove(at: first)
    guard database.hash != hash else {
      throw Verdict.failed("a service less does not change the hash")
    }
  }
}

extension LinkSecurity {
  /// A link's security as a transcript describes it: `encrypted`, `authenticated`, `authorized` and
  /// `bonded` are true or false, false by default; `key_size` is in octets.
  fileprivate init(_ json: JSONValue?) {
    func isTrue(_ name: String) -> Bool { json?[name]?.bool == true }
    self.init(
      encrypted: isTrue("encrypted"), authenticated: isTrue("authenticated"), keySize: Int(json?.u16("key_size") ?? 0),
      authorized: isTrue("authorized"), bonded: isTrue("bonded"))
  }
}
