// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// Which attribute is meant: one handle, or all of a type.
enum AttributeReference: Hashable, Sendable {
  case handle(Handle)
  case type(UUID)
}

extension AttributeReference: LosslessStringConvertible {
  /// Reads a handle (`0x002A`) or a UUID (`2A19`, or 32 digits with or without hyphens).
  init?(_ description: String) {
    if description.hasPrefix("0x") || description.hasPrefix("0X"), description.utf8.count <= 6 {
      guard let handle = Handle(description.dropFirst(2), radix: 16), handle != 0 else {
        return nil
      }
      self = .handle(handle)
    } else if description.utf8.count >= 4, let uuid = UUID(description) {
      self = .type(uuid)
    } else {
      return nil
    }
  }

  var description: String {
    switch self {
    case .handle(let handle): hexadecimal(handle)
    case .type(let uuid): uuid.description
    }
  }
}
