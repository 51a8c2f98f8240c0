// SPDX-License-Identifier: GPL-3.0-or-later

/// A parser under attack: any bytes at all may be given to it.
///
/// scripts/fuzz looks for bytes that break it, and the suite FuzzTests plays those that it found.
public struct FuzzTarget: Sendable {
  public let name: String
  /// The longest input that is worth its time, in bytes.
  public let longest: Int
  /// Gives the parser the bytes; throws `Broken` if what it makes of them is wrong. A trap, and memory or
  /// time without bounds, are seen by whoever calls it.
  public let play: @Sendable ([UInt8]) throws -> Void

  init(_ name: String, longest: Int = 512, _ play: @escaping @Sendable ([UInt8]) throws -> Void) {
    self.name = name
    self.longest = longest
    self.play = play
  }

  /// All targets.
  public static let all: [FuzzTarget] = attributes + appleServices + companion + management + captures + texts
}

/// What a parser made of an input is not what it promises.
public struct Broken: Error, CustomStringConvertible { public let description: String }

/// Throws `Broken` unless `holds`.
func ensure(_ holds: Bool, _ rule: @autoclosure () -> String) throws(Broken) {
  if !holds { throw Broken(description: rule()) }
}

/// An input that is read from front to back, and as zeros behind its end.
struct FuzzInput {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  mutating func bytes(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func all() -> [UInt8] { bytes(rest.count) }

  /// A packet behind its length: one byte, which stands for itself up to 111, and for up to 512 from
  /// there on. The highest bit is left to the target.
  mutating func packet() -> (bytes: [UInt8], isMarked: Bool) {
    let head = byte()
    let length = Int(head & 0x7F)
    return (bytes(length < 112 ? length : (length - 111) * 32), head & 0x80 != 0)
  }

  /// The packets up to the end, but no more than `limit`.
  mutating func packets(atMost limit: Int = 64) -> [(bytes: [UInt8], isMarked: Bool)] {
    var packets: [(bytes: [UInt8], isMarked: Bool)] = []
    while !isAtEnd, packets.count < limit { packets.append(packet()) }
    return packets
  }
}
