// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON
public import Mgmt
public import Wire

/// How a phone pairs, and what the board's user has to do: the members of a `pairing` event, and
/// the `question` of `pairing.open`.
public struct PairingQuestion: JSONObjectCodable, Hashable, Sendable {
  public var method = PairingMethod.justWorks
  /// The number to compare, or to type on the phone.
  public var passkey: Passkey?
  /// The seconds left to answer; nil if there is nothing to do here.
  public var seconds: Int?

  public init() {}

  public init(_ method: PairingMethod, passkey: Passkey? = nil, seconds: Int? = nil) {
    self.method = method
    self.passkey = passkey
    self.seconds = seconds
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("method", &method)
    try json.optional("passkey", &passkey)
    try json.optional("seconds", &seconds)
  }
}

extension PairingMethod: JSONNamed { public static let jsonKind = "a method of pairing" }

/// The dialogue on a terminal about the question of a pairing.
public struct PairingDialogue: Hashable, Sendable {
  /// The result of a typed line.
  public enum Reply: Hashable, Sendable {
    /// There is no question.
    case nothing
    /// It is not an answer: print this, and wait for the next line.
    case ask(String)
    case respond(PairingResponse)
  }

  private var question: PairingQuestion?
  /// The phone that asks.
  public private(set) var phone: Address?

  public init() {}

  /// A phone is pairing.
  ///
  /// - Returns: the question for the terminal, if there is one.
  public mutating func begin(_ question: PairingQuestion, phone: Address?) -> String? {
    self.phone = phone
    self.question = question
    let left = question.seconds.map { " (\($0) s left)" } ?? ""
    switch question.method {
    case .confirm:
      let number = question.passkey?.description ?? "the same number"
      return "Does the phone show \(number)? [y/n]\(left)"
    case .entry: return "Type the six digits that the phone shows\(left):"
    case .justWorks where question.seconds != nil:
      let who = phone.map { "\($0)" } ?? "a phone"
      return "\(who) can't show a number, so it could be anybody's. Let it pair? [y/n]\(left)"
    case .justWorks, .display:
      self.question = nil
      return nil
    }
  }

  /// A line was typed; nil: nobody can answer, so the answer is no.
  public mutating func typed(_ line: String?) -> Reply {
    guard let question else { return .nothing }
    guard let line else {
      self.question = nil
      let passkey = question.method == .entry ? nil : question.passkey
      return .respond(PairingResponse(accept: false, passkey: passkey, phone: selector))
    }
    let typed = line.lowercased().filter { !$0.isWhitespace }
    let response: PairingResponse
    switch (question.method, Passkey(typed)) {
    case (.entry, let passkey?):
      response = PairingResponse(accept: true, passkey: passkey, phone: selector)
    case (.entry, nil): return .ask("Type six digits:")
    case _ where ["y", "yes", "n", "no"].contains(typed):
      response = PairingResponse(accept: typed.hasPrefix("y"), passkey: question.passkey, phone: selector)
    default: return .ask("Type y or n:")
    }
    self.question = nil
    return .respond(response)
  }

  private var selector: PhoneSelector? { phone.map(PhoneSelector.init) }

  /// The pairing is over, or was answered elsewhere.
  public mutating func end() { question = nil }
}
