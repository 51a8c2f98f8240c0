// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// Read Blob and the two Read Multiple (Vol 3 Part F, 3.4.4.5 to 3.4.4.12).
extension Server {
  /// A blob from just behind the value is empty, one from further on is an error. Values that one
  /// Read Response holds may be read this way too: Attribute Not Long is never sent.
  func readBlob(_ handle: Handle, _ offset: Int) throws(Refusal) -> PDU {
    let value = try value(at: handle)
    guard offset <= value.count else { throw Refusal(code: .invalidOffset, handle: handle) }
    return .readBlobResponse(Array(value[offset...].prefix(bearer.mtu - 1)))
  }

  func readMultiple(_ handles: [Handle]) throws(Refusal) -> PDU {
    var values: [UInt8] = []
    for handle in handles { values += try value(at: handle) }
    return .readMultipleResponse(Array(values.prefix(bearer.mtu - 1)))
  }

  /// All handles are checked, also those whose values there is no room for.
  func readMultipleVariable(_ handles: [Handle]) throws(Refusal) -> PDU {
    var values: [PDU.LengthValue] = []
    var room = bearer.mtu - 1
    for handle in handles {
      let value = try value(at: handle)
      room -= 2
      guard room >= 0 else { continue }
      values.append(
        .init(length: UInt16(clamping: value.count), value: Array(value.prefix(room))))
      room = value.count <= room ? room - value.count : 0
    }
    return .readMultipleVariableResponse(values)
  }
}
