// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A command to the kernel: an opcode and its parameters as they go over the socket. The commands
/// themselves are made by the functions beside this file, a topic each, which is where the layout
/// of every one stands.
///
/// Its description never holds the parameters, since some are keys.
public struct MgmtCommand: Hashable, Sendable {
  /// Which command it is.
  public let opcode: MgmtOpcode
  /// Its parameters, encoded.
  public let parameters: [UInt8]

  /// A command of bytes that the caller vouches for.
  public init(_ opcode: MgmtOpcode, _ parameters: [UInt8] = []) {
    self.opcode = opcode
    self.parameters = parameters
  }

  /// A command whose parameters `write` puts together.
  init(_ opcode: MgmtOpcode, write: (inout ByteWriter) -> Void) {
    var writer = ByteWriter()
    write(&writer)
    self.init(opcode, writer.bytes)
  }

  /// A command of one byte that is 0 or 1.
  init(_ opcode: MgmtOpcode, _ on: Bool) { self.init(opcode, [on ? 1 : 0]) }

  /// The packet for controller `index`.
  public func packet(index: ControllerIndex) -> Packet {
    Packet(code: opcode.rawValue, index: index, body: parameters)
  }

  /// How long its reply may take.
  ///
  /// Pair Device waits for two people and for the phone (32 s were seen for one that never
  /// answered, and each step of SMP may take 30 s: Vol 3 Part H, 3.4). Powering up may load
  /// firmware. The rest the kernel answers at once, or after HCI commands of 2 s each.
  public var timeout: Duration {
    switch opcode {
    case .pairDevice: .seconds(120)
    case .setPowered: .seconds(30)
    // Nice to know, but nobody should wait for it.
    case .getConnectionInformation: .seconds(2)
    default: .seconds(10)
    }
  }
}

extension MgmtCommand: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The command by name; with its value where that is a single byte, as settings have.
  public var description: String {
    parameters.count == 1 ? "\(opcode) \(parameters[0])" : "\(opcode)"
  }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["opcode": opcode]) }
}
