// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// Find Information, Find By Type Value, Read By Type, Read By Group Type: the requests that go
/// through a range of handles (Vol 3 Part F, 3.4.3 and 3.4.4). Their answers hold as many entries of
/// one form as the MTU has room for; the client asks again behind the last.
extension Server {
  func findInformation(_ range: HandleRange) throws(Refusal) -> PDU {
    try check(range)
    var entries: [PDU.AttributeInformation] = []
    var room = bearer.mtu - 2
    for attribute in database.attributes(in: range) {
      let isShort = attribute.type.short != nil
      guard entries.first.map({ ($0.type.short != nil) == isShort }) ?? true else { break }
      room -= isShort ? 4 : 18
      guard room >= 0 else { break }
      entries.append(.init(handle: attribute.handle, type: attribute.type))
    }
    guard !entries.isEmpty else { throw nothing(in: range) }
    return .findInformationResponse(entries)
  }

  func findByTypeValue(
    _ range: HandleRange, _ type: UUID, _ value: [UInt8]
  ) throws(Refusal) -> PDU {
    try check(range)
    var found: [HandleRange] = []
    for attribute in database.attributes(in: range) where attribute.type == type {
      guard (found.count + 1) * 4 < bearer.mtu else { break }
      guard let own = try? self.value(of: attribute), matches(own, value, type) else { continue }
      found.append(
        isGroup(type) ? groupRange(attribute) : .init(attribute.handle, attribute.handle))
    }
    guard !found.isEmpty else { throw nothing(in: range) }
    return .findByTypeValueResponse(found)
  }

  /// A service's type may be asked for in either of its forms (Vol 3 Part F, 3.2.1).
  private func matches(_ own: [UInt8], _ asked: [UInt8], _ type: UUID) -> Bool {
    if own == asked { return true }
    guard isGroup(type), asked.count == 16 || asked.count == 2 else { return false }
    return UUID(littleEndian: own) == UUID(littleEndian: asked)
  }

  func readByType(_ range: HandleRange, _ type: UUID) throws(Refusal) -> PDU {
    try check(range)
    var entries: [PDU.AttributeValue] = []
    var room = bearer.mtu - 2
    for attribute in database.attributes(in: range) where attribute.type == type {
      let value: [UInt8]
      do throws(Refusal) {
        value = Array(try self.value(of: attribute).prefix(min(bearer.mtu - 4, 253)))
      } catch {
        // Only where it is the first one the client learns of it; else asking again shows it.
        guard !entries.isEmpty else { throw error }
        break
      }
      room -= 2 + value.count
      guard room >= 0, entries.first.map({ $0.value.count == value.count }) ?? true else { break }
      entries.append(.init(handle: attribute.handle, value: value))
    }
    guard !entries.isEmpty else { throw nothing(in: range) }
    if type == GATTType.databaseHash { hashWasRead() }
    return .readByTypeResponse(entries)
  }

  func readByGroupType(_ range: HandleRange, _ type: UUID) throws(Refusal) -> PDU {
    try check(range)
    guard isGroup(type) else {
      throw Refusal(code: .unsupportedGroupType, handle: range.start)
    }
    var groups: [PDU.GroupValue] = []
    var room = bearer.mtu - 2
    for attribute in database.attributes(in: range) where attribute.type == type {
      let value = Array(try self.value(of: attribute).prefix(min(bearer.mtu - 6, 251)))
      room -= 4 + value.count
      guard room >= 0, groups.first.map({ $0.value.count == value.count }) ?? true else { break }
      groups.append(.init(range: groupRange(attribute), value: value))
    }
    guard !groups.isEmpty else { throw nothing(in: range) }
    return .readByGroupTypeResponse(groups)
  }

  /// The types that lead a group of attributes (Vol 3 Part G, 2.5.3).
  private func isGroup(_ type: UUID) -> Bool {
    type == GATTType.primaryService || type == GATTType.secondaryService
  }

  private func groupRange(_ attribute: Attribute) -> HandleRange {
    database.group(of: attribute.handle)?.range ?? .init(attribute.handle, attribute.handle)
  }

  private func nothing(in range: HandleRange) -> Refusal {
    Refusal(code: .attributeNotFound, handle: range.start)
  }
}
