// SPDX-License-Identifier: GPL-3.0-or-later

/// What the player does (PlaybackState). Numbers that the specification reserves are kept.
public struct PlaybackState: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let paused = PlaybackState(rawValue: 0)
  public static let playing = PlaybackState(rawValue: 1)
  public static let rewinding = PlaybackState(rawValue: 2)
  public static let fastForwarding = PlaybackState(rawValue: 3)
}

extension PlaybackState: CustomStringConvertible {
  /// `paused`, `playing`, `rewinding`, `fast-forwarding`, or the number of one that is reserved.
  public var description: String {
    switch self {
    case .paused: "paused"
    case .playing: "playing"
    case .rewinding: "rewinding"
    case .fastForwarding: "fast-forwarding"
    default: String(rawValue)
    }
  }
}

/// The player's state, rate and position: three numbers with commas between them (PlayerAttributeID
/// PlaybackInfo). Each may be left out.
public struct PlaybackInfo: Hashable, Sendable {
  public var state: PlaybackState?
  /// How fast the position moves: 1 is normal, below 0 backwards.
  public var rate: Double?
  /// The position in seconds, as sent: phones were seen to send it below zero.
  public var elapsed: Double?

  public init(state: PlaybackState? = nil, rate: Double? = nil, elapsed: Double? = nil) {
    self.state = state
    self.rate = rate
    self.elapsed = elapsed
  }

  /// Reads the attribute's value. An empty one says that nothing is known; nil is what can't be read:
  /// not three fields, or a field that is no number, as from phones that write `0,1,00,-0,00`.
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

  /// The attribute's value for the air.
  public var encoded: String {
    let fields = [
      state.map { String($0.rawValue) }, rate.map(MediaNumber.text), elapsed.map(MediaNumber.text),
    ]
    return fields.map { $0 ?? "" }.joined(separator: ",")
  }
}
