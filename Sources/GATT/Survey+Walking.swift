// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

extension Survey {
  /// So many faults are gone round.
  private static let patience = 64

  /// An attribute that declares something; `end` where the answer told it.
  struct Declaration {
    var handle: Handle
    var end: Handle?
    var value: [UInt8]

    var entry: PDU.AttributeValue { PDU.AttributeValue(handle: handle, value: value) }
  }

  /// Hands every declaration of `type` in `range` to `take`, which throws where one makes no sense.
  func walk(
    _ step: SurveyFault.Step, _ range: HandleRange, _ type: UUID,
    take: (Declaration) async throws(ATTFailure) -> Void
  ) async throws(ATTFailure) {
    var rest = range
    var refusals = 0
    while rest.isValid {
      do throws(ATTFailure) {
        for found in try await declarations(step, type, rest) {
          guard found.handle >= rest.start, found.end ?? found.handle >= found.handle,
            found.end ?? found.handle <= range.end
          else {
            throw .nonsense(
              "a declaration at \(hexadecimal(found.handle)) in an answer about \(rest)")
          }
          try await accept(step, found, take)
          guard let next = (found.end ?? found.handle).next else { return }
          rest.start = next
        }
        refusals = 0
      } catch {
        if error.isEnd { throw error }
        if Self.isNone(error, step) { return }
        refusals += 1
        guard faults.count < Self.patience else {
          return note(step, rest, error, lost: rest)
        }
        guard let next = try await goRound(step, rest, type, error, all: refusals > 1, take) else {
          return
        }
        rest.start = next
      }
    }
  }

  /// One request for declarations.
  private func declarations(
    _ step: SurveyFault.Step, _ type: UUID, _ range: HandleRange
  ) async throws(ATTFailure) -> [Declaration] {
    switch step {
    case .primaryServices, .secondaryServices:
      try await client.readByGroupType(type, in: range).map {
        Declaration(handle: $0.range.start, end: $0.range.end, value: $0.value)
      }
    case .includes, .characteristics, .descriptors, .attributes:
      try await client.readByType(type, in: range).map {
        Declaration(handle: $0.handle, end: nil, value: $0.value)
      }
    }
  }

  /// Whether a refusal only says that there are none. Servers without secondary services need not know
  /// that there is such a group.
  private static func isNone(_ failure: ATTFailure, _ step: SurveyFault.Step) -> Bool {
    switch failure.code {
    case .attributeNotFound?: true
    case .unsupportedGroupType?, .requestNotSupported?: step == .secondaryServices
    default: false
    }
  }

  /// Takes a declaration; one that makes no sense is a fault and nothing more.
  private func accept(
    _ step: SurveyFault.Step, _ declaration: Declaration,
    _ take: (Declaration) async throws(ATTFailure) -> Void
  ) async throws(ATTFailure) {
    do throws(ATTFailure) {
      try await take(declaration)
    } catch {
      if error.isEnd { throw error }
      let place = HandleRange(declaration.handle, declaration.handle)
      note(step, place, error, lost: place)
    }
  }

  /// Goes round a refusal: reads the next declaration (or `all` that are left) by itself.
  ///
  /// - Returns: where to go on; nil where nothing is left.
  private func goRound(
    _ step: SurveyFault.Step, _ range: HandleRange, _ type: UUID, _ failure: ATTFailure,
    all: Bool, _ take: (Declaration) async throws(ATTFailure) -> Void
  ) async throws(ATTFailure) -> Handle? {
    let types = try await attributeTypes()
    let handles = types.filter { $0.value == type && range.contains($0.key) }.keys.sorted()
    guard let first = handles.first else {
      // Where the types are known, there is none.
      note(step, range, failure, lost: types.isEmpty ? range : nil)
      return nil
    }
    if all { note(step, range, failure, lost: nil) }
    for handle in all ? handles : [first] {
      var refusal: ATTFailure?
      do throws(ATTFailure) {
        let value = try await client.readLong(handle)
        try await accept(step, Declaration(handle: handle, end: nil, value: value), take)
      } catch {
        if error.isEnd { throw error }
        refusal = error
      }
      let place = HandleRange(handle, handle)
      if !all {
        note(step, range, failure, lost: refusal == nil ? nil : place)
      } else if let refusal, faults.count < Self.patience {
        note(step, place, refusal, lost: place)
      }
    }
    return all ? nil : first.next
  }
}
