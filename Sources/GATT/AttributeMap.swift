// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// What all attributes of a server are: their handles and types, as Find Information tells them.
public struct AttributeMap: Hashable, Sendable {
  /// In the order of their handles.
  public let attributes: [PDU.AttributeInformation]

  public init(_ types: [Handle: UUID]) {
    attributes = types.sorted { $0.key < $1.key }.map {
      PDU.AttributeInformation(handle: $0.key, type: $0.value)
    }
  }

  /// What this one has, and what another one has besides.
  public func merging(_ other: AttributeMap) -> AttributeMap {
    var types: [Handle: UUID] = [:]
    for attribute in other.attributes + attributes { types[attribute.handle] = attribute.type }
    return AttributeMap(types)
  }

  /// The type of the attribute at `handle`.
  public func type(at handle: Handle) -> UUID? {
    attributes.first { $0.handle == handle }?.type
  }

  /// All attributes of a type.
  public func handles(of type: UUID) -> [Handle] {
    attributes.filter { $0.type == type }.map(\.handle)
  }

  /// The declaration of the characteristic that the attribute at `handle` belongs to, and all handles
  /// up to the next declaration; nil where it belongs to none, or is not there.
  public func characteristic(around handle: Handle) -> HandleRange? {
    guard type(at: handle) != nil else { return nil }
    let before = attributes.last { $0.handle <= handle && $0.type.isDeclaration }
    guard let before, before.type == GATTType.characteristic else { return nil }
    let next = attributes.first { $0.handle > before.handle && $0.type.isDeclaration }?.handle
    return HandleRange(before.handle, next.map { $0 - 1 } ?? .max)
  }

  /// The first attribute of a type in `range`.
  public func first(_ type: UUID, in range: HandleRange) -> Handle? {
    attributes.first { $0.type == type && range.contains($0.handle) }?.handle
  }
}

extension UUID {
  /// Whether an attribute of this type ends the characteristic before it.
  fileprivate var isDeclaration: Bool {
    [GATTType.primaryService, GATTType.secondaryService, GATTType.characteristic].contains(self)
  }
}
