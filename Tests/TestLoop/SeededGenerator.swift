// SPDX-License-Identifier: GPL-3.0-or-later

/// Random numbers that are the same in every run (SplitMix64), so that failures can be reproduced.
public struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }

  /// Up to `length` random bytes.
  public mutating func bytes(upTo length: Int) -> [UInt8] {
    (0..<Int.random(in: 0...length, using: &self)).map { _ in .random(in: 0...255, using: &self) }
  }

  /// `bytes` as a broken peer sends them, with some changed, cut off, repeated or inserted.
  public mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
    var result = bytes
    for _ in 0...Int.random(in: 0...3, using: &self) {
      let index = Int.random(in: 0...result.count, using: &self)
      switch Int.random(in: 0..<5, using: &self) {
      case 0 where index < result.count: result[index] = .random(in: 0...255, using: &self)
      case 1: result = Array(result[..<index])
      case 2: result.insert(contentsOf: self.bytes(upTo: 4), at: index)
      case 3 where index < result.count: result.remove(at: index)
      default: result += result[index...].prefix(32)
      }
    }
    return result
  }

  /// `bytes` cut into pieces at random positions.
  public mutating func pieces(of bytes: [UInt8]) -> [[UInt8]] {
    var rest = bytes[...]
    var pieces: [[UInt8]] = []
    let longest = [1, 3, 20, 182, 512][Int.random(in: 0..<5, using: &self)]
    while !rest.isEmpty {
      let length = Int.random(in: 1...longest, using: &self)
      pieces.append(Array(rest.prefix(length)))
      rest = rest.dropFirst(length)
    }
    return pieces
  }
}
