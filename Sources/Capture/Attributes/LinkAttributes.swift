// SPDX-License-Identifier: GPL-3.0-or-later
public import ATT

extension LinkState {
  /// Decodes a PDU of ATT.
  ///
  /// - Parameters:
  ///   - bearer: its L2CAP channel. Each has its own transactions; the attributes are common.
  ///   - packet: the number of the packet that completes it.
  ///   - isWhole: false if only its beginning was captured; nothing is learned from it then.
  mutating func decodeATT(
    _ bytes: [UInt8], _ direction: CaptureDirection, bearer: UInt16 = 4, packet: Int, isWhole: Bool
  ) -> DecodedUnit {
    guard let first = bytes.first else {
      return DecodedUnit(layer: .att, name: "nothing", length: 0, problem: "an empty ATT PDU")
    }
    let opcode = Opcode(rawValue: first)
    var unit = DecodedUnit(layer: .att, name: "\(opcode)", code: UInt16(first), length: bytes.count)
    unit.bytes = bytes
    unit.request = requests.request(of: opcode.role, isSent: direction == .sent, bearer: bearer, packet: packet)
    guard isWhole else {
      unit.details = [.data(bytes.dropFirst())]
      unit.problem = "truncated in the capture"
      return unit
    }
    unit.isList = opcode.isOfSeveralAttributes
    if opcode.role.isToServer == (direction == .sent) {
      remote.read(bytes, bearer, packet, into: &unit)
    } else {
      local.read(bytes, bearer, packet, into: &unit)
    }
    unit.addProfiles()
    return unit
  }
}

/// The requests and indications of one link without a response so far, by the numbers of their packets.
public struct OpenRequests: Sendable {
  private struct Side: Hashable {
    var role: Opcode.Role
    var isSent: Bool
    var bearer: UInt16
  }

  private var packets: [Side: Int] = [:]

  public init() {}

  /// The packet with the request or indication that a PDU completes; nil if it completes none that is known.
  ///
  /// - Parameter bearer: its L2CAP channel; of a signalling command, its identifier.
  public mutating func request(of role: Opcode.Role, isSent: Bool, bearer: UInt16 = 4, packet: Int) -> Int? {
    switch role {
    case .request, .indication:
      packets[Side(role: role, isSent: isSent, bearer: bearer)] = packet
      return nil
    case .response, .confirmation:
      let asked: Opcode.Role = role == .response ? .request : .indication
      return packets.removeValue(forKey: Side(role: asked, isSent: !isSent, bearer: bearer))
    case .command, .notification: return nil
    }
  }
}

extension Opcode {
  private static let several: Set<Opcode> = [
    .findInformationResponse, .findByTypeValueResponse, .readByTypeResponse,
    .readByGroupTypeResponse, .readMultipleRequest, .readMultipleResponse,
    .readMultipleVariableRequest, .readMultipleVariableResponse, .multipleHandleValueNotification,
  ]

  fileprivate var isOfSeveralAttributes: Bool { Self.several.contains(self) }
}
