// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import JSON
import TestLoop
import Wire

extension Transcripts {
  /// Our server's side of a transcript.
  static func playServer(_ transcript: Transcript, _ loop: isolated TestLoop) async throws {
    guard let description = transcript.database else {
      throw Verdict.failed("it names no database to serve")
    }
    let step = transcript.step
    let function = step["func"]?.string ?? "server"
    guard function == "server" || function == "hash_db" else {
      throw Verdict.notApplicable("the procedure \(function) is not known")
    }
    let database = try description.served(subscribing: step["op"] != nil)
    if function == "hash_db" { try checkHash(of: database, step) }

    let player = TranscriptPlayer(transcript, scheduler: loop.clock)
    var run = ServerRun(step) { server, handle, value in
      loop.start { try await server.indicate(handle, value) }
    }
    let security = run.security
    let server = Server(player.bearer, database: database, security: { security.link })
    let difference = await player.play(loop) { try run.next(server) }
    if let difference { throw Verdict.failed(difference) }
    guard run.isFinished else { throw Verdict.failed("not all steps were done") }
    if step["post"] != nil, run.indication?.value != true {
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
