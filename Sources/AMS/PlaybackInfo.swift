// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What the player is doing (PlaybackState). Reserved numbers are kept.
public struct PlaybackState: NamedNumber {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let paused = PlaybackState(rawValue: 0)
  public static let playing = PlaybackState(rawValue: 1)
  public static let rewinding = PlaybackState(rawValue: 2)
  public static let fastForwarding = PlaybackState(rawValue: 3)

  public static let names = ["paused", "playing", "rewinding", "fast-forwarding"]
}

/// The player's state, rate and position: three numbers separated by commas (PlayerAttributeID
/// PlaybackInfo). Each may be empty.
public struct PlaybackInfo: Hashable, Sendable {
  public var state: PlaybackState?
  /// The playback rate: 1 is normal, negative is backwards.
  public var rate: Double?
  /// The position in seconds as sent, which was seen to be negative.
  public var elapsed: Double?

  public init(state: PlaybackState? = nil, rate: Double? = nil, elapsed: Double? = nil) {
    self.state = state
    self.rate = rate
    self.elapsed = elapsed
  }

  /// Decodes the attribute's value; an empty one means that nothing is known. Nil if there are not three
  /// fields or one is not a number, as from phones that write `0,1,00,-0,00`.
  public init?(decoding value: [UInt8]) {
    if value.isEmpty { return }
    let fields = value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    guard fields.count == 3 else { return nil }
    if !fields[0].isEmpty {
      guard let number = MediaNumber.count(fields[0]), let known = UInt8(exactly: number) else {
        return nil
      }
      state = PlaybackState(rawValue: known)
    }
    if !fields[1].isEmpty {
      guard let number = MediaNumber.double(fields[1]) else { return nil }
      rate = number
    }
    if !fields[2].isEmpty {
      guard let number = MediaNumber.double(fields[2]) else { return nil }
      elapsed = number
    }
  }

  /// The attribute's value.
  public var encoded: String {
    let fields = [state.map { String($0.rawValue) }, rate.map(MediaNumber.text), elapsed.map(MediaNumber.text)]
    return fields.map { $0 ?? "" }.joined(separator: ",")
  }
}

/// Numbers in media attributes as phones write them: `12.345`, `-.1`, `21.`, and in some locales `1,5`.
public enum MediaNumber {
  /// Longer than any meaningful number.
  private static let longest = 64

  /// The number, always finite; nil if the text is not one or is empty. A NUL ends the text.
  public static func double(_ text: some Sequence<UInt8>) -> Double? {
    var plain: [UInt8] = []
    var digits = 0
    var hasPoint = false
    for byte in text.prefix(while: { $0 != 0 }) {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        digits += 1
        plain.append(byte)
      case UInt8(ascii: "-") where plain.isEmpty: plain.append(byte)
      case UInt8(ascii: ".") where !hasPoint, UInt8(ascii: ",") where !hasPoint:
        hasPoint = true
        // Double's parser requires a digit on both sides of the point.
        plain.append(contentsOf: (digits == 0 ? "0." : ".").utf8)
      default: return nil
      }
      if plain.count > longest { return nil }
    }
    guard digits > 0 else { return nil }
    if hasPoint { plain.append(UInt8(ascii: "0")) }
    return Double(String(decoding: plain, as: UTF8.self))
  }

  /// The number as an integer; nil if it is not one, is negative or exceeds 32 bits.
  public static func count(_ text: some Sequence<UInt8>) -> Int? {
    guard let number = double(text), number >= 0, number <= Double(Int32.max) else { return nil }
    return Int(exactly: number)
  }

  /// The number with three decimals, as phones write it: `71.147`; empty if it is not finite.
  public static func text(_ number: Double) -> String {
    let thousandths = (number * 1000).rounded()
    guard thousandths.magnitude < 1e15 else { return "" }
    let whole = Int64(thousandths.magnitude)
    let decimals = String(whole % 1000, digits: 3)
    return "\(thousandths < 0 ? "-" : "")\(whole / 1000).\(decimals)"
  }
}
