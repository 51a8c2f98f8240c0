// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Arguments
import Control
import GATT
import Wire

extension GATTSession {
  /// Values, whole; of a type every one. What one is refused does not keep the others.
  func read(_ references: [AttributeReference]) async throws(Failure) {
    var refusals: [Failure] = []
    for reference in references {
      switch reference {
      case .handle(let handle): try await readOne(handle, nil, &refusals)
      case .type(let type): try await readAll(type, &refusals)
      }
    }
    for refusal in refusals.dropLast() { report(refusal) }
    if let last = refusals.last { throw last }
  }

  /// One value; where the device does not read on in a long one, what it has read.
  ///
  /// - Parameter type: nil where it is to be asked for.
  private func readOne(
    _ handle: Handle, _ type: UUID?, _ refusals: inout [Failure]
  ) async throws(Failure) {
    var value: [UInt8]?
    var failure: Failure?
    do throws(ATTFailure) {
      var read = try await client.read(handle)
      defer { value = read }
      try await client.readRest(of: &read, at: handle)
    } catch {
      let place = value.map { " behind its first \($0.count) bytes" } ?? ""
      failure = self.failure("reading \(hexadecimal(handle))\(place)", error)
      if error.isEnd, value == nil { throw failure ?? Failure("reading", error) }
    }
    if let value {
      var type = type
      if type == nil, link.isOpen { type = await self.type(at: handle) }
      printer.value(value, at: handle, type, isWhole: failure == nil)
    }
    guard let failure else { return }
    guard link.isOpen else { throw failure }
    refusals.append(failure)
  }

  /// The type of one attribute; nil where the device does not tell.
  private func type(at handle: Handle) async -> UUID? {
    if let map { return map.type(at: handle) }
    return try? await client.attributes(in: HandleRange(handle, handle)).first?.type
  }

  /// Read Using Characteristic UUID over all handles, round what is refused, and what an answer has no
  /// room for by Read Blob.
  private func readAll(_ type: UUID, _ refusals: inout [Failure]) async throws(Failure) {
    var rest = HandleRange.all
    var isThere = false
    while rest.isValid {
      var found: [PDU.AttributeValue] = []
      var last: Handle?
      do throws(ATTFailure) {
        found = try await valuesInOneAnswer(type, rest)
        last = found.last?.handle
      } catch {
        last = try await goRound(error, type, rest, &refusals)
      }
      for entry in found {
        if entry.value.count >= min(mtu - 4, 253) {
          try await readOne(entry.handle, type, &refusals)
        } else {
          printer.value(entry.value, at: entry.handle, type)
        }
      }
      guard let last else { break }
      isThere = true
      guard last < .max else { break }
      rest.start = last + 1
    }
    guard isThere || !refusals.isEmpty else {
      throw Failure(.refused, "reading \(type)", "the device has no attribute of this type")
    }
  }

  /// Goes round a refusal: past the attribute that it names, or, since not every server says which one
  /// it is, by reading the next one by itself.
  ///
  /// - Returns: the attribute that is done with; nil where nothing is left.
  private func goRound(
    _ error: ATTFailure, _ type: UUID, _ range: HandleRange, _ refusals: inout [Failure]
  ) async throws(Failure) -> Handle? {
    if error.isEnd { throw failure("reading \(type)", error) }
    if case .refused(let answer) = error, answer.handle > range.start {
      refusals.append(failure("reading \(hexadecimal(answer.handle))", error))
      return answer.handle
    }
    let handles = try await attributeMap().handles(of: type)
    let next = handles.first { range.contains($0) }
    if next == nil || error.code == nil {
      refusals.append(failure("reading \(type) in \(range)", error))
    }
    if let next { try await readOne(next, type, &refusals) }
    return next
  }

  /// The values that one answer holds; none where there are none.
  private func valuesInOneAnswer(
    _ type: UUID, _ range: HandleRange
  ) async throws(ATTFailure) -> [PDU.AttributeValue] {
    let found = try await client.read(type, in: range)
    var least = Int(range.start)
    for entry in found {
      guard Int(entry.handle) >= least else {
        throw .protocolViolation(
          "a value at \(hexadecimal(entry.handle)) in an answer about \(range)")
      }
      least = Int(entry.handle) + 1
    }
    return found
  }
}
