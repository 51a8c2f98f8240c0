// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import JSON
import TestLoop
import Wire

/// What our server does in one transcript besides answering: one step whenever a line says so.
struct ServerRun {
  /// The link's present security.
  final class Security {
    var link: LinkSecurity
    init(_ link: LinkSecurity) { self.link = link }
  }

  let security: Security
  /// The last indication that was sent, and whether it was confirmed.
  private(set) var indication: Started<Bool>?
  private let indicate: (Server, Handle, [UInt8]) -> Started<Bool>
  private var steps: [JSONValue]

  /// - Parameters:
  ///   - step: the step of the transcript, or an object with a list of them (`steps`), and the link's
  ///     initial security.
  ///   - indicate: sends an indication, on the loop.
  init(_ step: JSONValue, indicate: @escaping (Server, Handle, [UInt8]) -> Started<Bool>) {
    self.indicate = indicate
    steps = step["steps"]?.array ?? (step["op"] == nil ? [] : [step])
    security = Security(LinkSecurity(step["security"]))
  }

  var isFinished: Bool { steps.isEmpty }

  /// Performs the next step.
  mutating func next(_ server: Server) throws {
    guard !steps.isEmpty else { throw Verdict.failed("it has no step to do") }
    let step = steps.removeFirst()
    let operation = step["op"]?.string ?? ""
    let handle = step.u16("handle")
    let value = step.octets("value") ?? []
    switch (operation, handle) {
    case ("server_notification", let handle?): try server.notify(handle, value)
    case ("server_indication", let handle?):
      indication = indicate(server, handle, value)
    case ("server_multiple_notification", _):
      try server.notify(
        (step["values"]?.array ?? []).map {
          .init(handle: $0.u16("handle") ?? 0, value: $0.octets("value") ?? [])
        })
    case ("add_service", _):
      try TranscriptDatabase(step).add(to: server.database, subscribing: false)
    case ("remove_service", let handle?): server.database.remove(at: handle)
    case ("secure", _): security.link = LinkSecurity(step["security"])
    default:
      throw Verdict.notApplicable("a server's step \(operation) is not known, or has no handle")
    }
  }
}

extension LinkSecurity {
  /// A link's security as a transcript describes it: `encrypted`, `authenticated`, `authorized` and
  /// `bonded` are true or false, false by default; `key_size` is in octets.
  fileprivate init(_ json: JSONValue?) {
    func isTrue(_ name: String) -> Bool { json?[name]?.bool == true }
    self.init(
      encrypted: isTrue("encrypted"), authenticated: isTrue("authenticated"),
      keySize: Int(json?.u16("key_size") ?? 0), authorized: isTrue("authorized"),
      bonded: isTrue("bonded"))
  }
}
