// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

extension Survey {
  /// So often it is tried to get the types behind a refusal.
  private static let leaps = 20

  /// What all attributes are, as far as the server tells: asked for once.
  func attributeTypes() async throws(ATTFailure) -> [Handle: UUID] {
    if let types { return types }
    var found: [Handle: UUID] = [:]
    var rest = HandleRange.all
    var leap: Handle = 1
    var leaps = 0
    var refusal: (place: Handle, failure: ATTFailure)?
    while rest.isValid {
      do throws(ATTFailure) {
        let start = rest.start
        for entry in try await client.findInformation(rest) {
          guard entry.handle >= rest.start else {
            throw .nonsense("handle \(hexadecimal(entry.handle)) in an answer about \(rest)")
          }
          if let missed = refusal {
            let gap = HandleRange(missed.place, max(missed.place, entry.handle - 1))
            note(.attributes, HandleRange(missed.place, .max), missed.failure, lost: gap)
            refusal = nil
          }
          found[entry.handle] = entry.type
          guard let next = entry.handle.next else {
            types = found
            return found
          }
          rest.start = next
        }
        leap = rest.start > start ? 1 : leap
      } catch {
        if error.isEnd { throw error }
        if error.code == .attributeNotFound { break }
        refusal = refusal ?? (rest.start, error)
        leaps += 1
        guard leaps < Self.leaps, let next = Handle(exactly: Int(rest.start) + Int(leap)) else {
          break
        }
        rest.start = next
        if leaps >= 4 { leap = min(leap &* 2, 0x4000) }
      }
    }
    if let refusal {
      let behind = HandleRange(refusal.place, .max)
      note(.attributes, behind, refusal.failure, lost: behind)
    }
    types = found
    return found
  }
}
