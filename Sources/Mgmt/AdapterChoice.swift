// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// An adapter as it is named on a command line.
public enum AdapterChoice: Hashable, Sendable {
  /// By its number, as in `hci0`.
  case index(UInt16)
  case address(Address)

  /// Whether it means this adapter.
  public func matches(_ index: ControllerIndex, _ address: Address) -> Bool {
    switch self {
    case .index(let number): index == ControllerIndex(number)
    case .address(let named): named == address
    }
  }
}

extension AdapterChoice: LosslessStringConvertible {
  /// Reads `hci0` or `00:1A:7D:DA:71:13`.
  public init?(_ description: String) {
    if let address = Address(description) {
      self = .address(address)
    } else if description.hasPrefix("hci"), let index = UInt16(description.dropFirst(3)),
      index != UInt16.max, description.dropFirst(3).utf8.allSatisfy({ (48...57).contains($0) })
    {
      self = .index(index)
    } else {
      return nil
    }
  }

  public var description: String {
    switch self {
    case .index(let index): "hci\(index)"
    case .address(let address): address.description
    }
  }
}
