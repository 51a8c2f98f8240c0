// SPDX-License-Identifier: GPL-3.0-or-later

/// AES-128, encryption only (FIPS 197), which is all that CMAC needs.
///
/// It is meant for hashes and signatures of a few hundred octets, and is neither fast nor constant-time.
struct AES128 {
  private var roundKeys: [UInt8]

  /// - Parameter key: 16 octets, most significant first.
  init(key: [UInt8]) {
    roundKeys = key
    var constant: UInt8 = 1
    for word in 4..<44 {
      var next = Array(roundKeys[(word - 1) * 4..<word * 4])
      if word % 4 == 0 {
        next = [next[1], next[2], next[3], next[0]].map(Self.substitute)
        next[0] ^= constant
        constant = Self.doubled(constant)
      }
      for index in 0..<4 { roundKeys.append(roundKeys[(word - 4) * 4 + index] ^ next[index]) }
    }
  }

  /// Encrypts a block of 16 octets.
  func encrypt(_ block: [UInt8]) -> [UInt8] {
    var state = block
    add(round: 0, to: &state)
    for round in 1...10 {
      // Row `r` is rotated left by `r`; the state is stored column by column.
      state = (0..<16).map { Self.substitute(state[($0 + 4 * ($0 % 4)) % 16]) }
      if round < 10 { state = Self.mixedColumns(state) }
      add(round: round, to: &state)
    }
    return state
  }

  private func add(round: Int, to state: inout [UInt8]) {
    for index in state.indices { state[index] ^= roundKeys[round * 16 + index] }
  }

  private static func mixedColumns(_ state: [UInt8]) -> [UInt8] {
    (0..<16).map { index in
      let column = index / 4 * 4
      let one = state[index]
      let two = state[column + (index + 1) % 4]
      let others = state[column + (index + 2) % 4] ^ state[column + (index + 3) % 4]
      return doubled(one) ^ doubled(two) ^ two ^ others
    }
  }

  /// Times x in the field of 256 elements.
  private static func doubled(_ value: UInt8) -> UInt8 {
    value << 1 ^ (value & 0x80 == 0 ? 0 : 0x1B)
  }

  private static func substitute(_ value: UInt8) -> UInt8 { box[Int(value)] }

  /// The substitution box: the inverse in the field, then an affine map (FIPS 197, 5.1.1).
  private static let box: [UInt8] = {
    var box = [UInt8](repeating: 0x63, count: 256)
    var power: UInt8 = 1
    var inverse: UInt8 = 1
    repeat {
      // Steps through the powers of the generator 3 and of its inverse 0xF6.
      power ^= doubled(power)
      inverse ^= inverse << 1
      inverse ^= inverse << 2
      inverse ^= inverse << 4
      if inverse & 0x80 != 0 { inverse ^= 0x09 }
      let turned = (1...4).reduce(inverse) { $0 ^ (inverse << $1 | inverse >> (8 - $1)) }
      box[Int(power)] = turned ^ 0x63
    } while power != 1
    return box
  }()
}

/// AES-CMAC (RFC 4493): the 16 octets that authenticate `message` under `key`.
func cmac(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
  let cipher = AES128(key: key)
  let first = shiftedSubkey(cipher.encrypt([UInt8](repeating: 0, count: 16)))
  let blocks = max(1, (message.count + 15) / 16)
  var last = Array(message[((blocks - 1) * 16)...])
  var subkey = first
  if last.count < 16 {
    subkey = shiftedSubkey(first)
    last.append(0x80)
    last += [UInt8](repeating: 0, count: 16 - last.count)
  }
  var chain = [UInt8](repeating: 0, count: 16)
  for block in 0..<blocks - 1 {
    chain = cipher.encrypt((0..<16).map { chain[$0] ^ message[block * 16 + $0] })
  }
  return cipher.encrypt((0..<16).map { chain[$0] ^ last[$0] ^ subkey[$0] })
}

/// Shifts left by one bit; a carry is reduced by the polynomial (RFC 4493, 2.3).
private func shiftedSubkey(_ key: [UInt8]) -> [UInt8] {
  var shifted = (0..<16).map { key[$0] << 1 | ($0 < 15 ? key[$0 + 1] >> 7 : 0) }
  if key[0] & 0x80 != 0 { shifted[15] ^= 0x87 }
  return shifted
}
