// SPDX-License-Identifier: GPL-3.0-or-later

/// How a notification consumer goes about its work.
public struct ConsumerSettings: Hashable, Sendable {
  /// What is fetched without being asked for, and how much of each text.
  public var selection: AttributeSelection
  /// How long it waits for what.
  public var timing = Timing()

  public init(_ selection: AttributeSelection = .all) { self.selection = selection }

  /// How long it waits for what. The values are those that careful firmware came to (PebbleOS).
  public struct Timing: Hashable, Sendable {
    /// For the next part of an answer.
    public var answer: Duration = .seconds(10)
    /// For a whole answer, however it dribbles in.
    public var wholeAnswer: Duration = .seconds(120)
    /// Before the phone is asked whether it still knows the session; the first time, where nothing
    /// else has told whether it lets us read.
    public var firstProbe: Duration = .seconds(1)
    /// Between such questions.
    public var probe: Duration = .seconds(15 * 60)
    /// For the answer to one.
    public var probeAnswer: Duration = .seconds(5)
    /// Without a word of the Notification Source, before it is subscribed to again.
    public var silence: Duration = .seconds(6 * 3600)
    /// Before it is tried again whether the phone lets us read; doubled each time, up to `longestRetry`.
    public var retry: Duration = .seconds(5)
    public var longestRetry: Duration = .seconds(60)
    /// That a call rings at most, should its removal be lost.
    public var call: Duration = .seconds(120)

    public init() {}
  }
}
