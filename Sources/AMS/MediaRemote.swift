// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

/// The accessory's side of the Apple Media Service on one link: knows what plays, and takes commands.
///
///     Entity Update ──▶ received ──┬──▶ MediaState ──▶ gathered ──▶ onChange
///                                  └──▶ cut: read whole through Entity Attribute first
///     Remote Command ─▶ the list of commands; written to by `send`
///
/// Set the closures, `subscribe`, then let `run` go on until it throws because the link is gone, or
/// returns because `end` was called.
public final class MediaRemote {
  /// Takes the state whenever it has changed, and what is different; changes that come together are
  /// told together.
  public var onChange: (MediaState, [MediaField]) -> Void = { _, _ in }
  /// Takes bytes that make no sense, and why, for the log.
  public var onDropped: ([UInt8], String) -> Void = { _, _ in }

  /// What plays.
  public private(set) var state = MediaState()

  private let client: Client
  private let service: LocatedService
  private let settings: RemoteSettings
  private let alarm: Alarm
  private var truncated = TruncatedValues()
  private var changed: Set<MediaField> = []
  /// When what has changed is told.
  private var tellAt: Instant?
  private var commandsAreStale = false
  /// The attributes that were registered and of which nothing was heard yet.
  private var awaited: Set<MediaAttribute> = []
  private var isRunning = false
  private var isEnded = false
  /// The longest text that is read: players were not seen to have longer ones.
  private static let longestValue = 4096

  /// A remote for the service that was located; nil where it can neither be listened to nor commanded.
  public init?(
    _ client: Client, _ service: LocatedService, settings: RemoteSettings = .init()
  ) {
    guard service[.entityUpdate]?.cccd != nil || service[.remoteCommand] != nil else { return nil }
    self.client = client
    self.service = service
    self.settings = settings
    alarm = Alarm(client.bearer)
  }

  private var now: Instant { client.bearer.scheduler.now }

  // MARK: Subscribing

  /// Subscribes to both characteristics. The phone says nothing about its player before `run` registers
  /// the attributes.
  ///
  /// - Parameter anew: ends a subscription that may be there first. A phone says which commands its player
  ///   takes when it is subscribed to, and writing a subscription that stands is nothing new to it.
  public func subscribe(anew: Bool = false) async throws(ATTFailure) {
    if let commands = service[.remoteCommand], let cccd = commands.cccd {
      client.take(commands.value) { [weak self] in self?.receivedCommands($0) }
      do {
        if anew { try await client.configure(cccd, .none) }
        try await client.configure(cccd, .notifications)
      } catch {
        guard error.code != nil else { throw error }
      }
    }
    if let updates = service[.entityUpdate], let cccd = updates.cccd {
      client.take(updates.value) { [weak self] in self?.receivedUpdate($0) }
      try await client.insistOnNotifications(cccd, tries: 2)
    }
  }

  /// Registers the attributes, one entity a write (AMS specification, Entity Update). What the phone
  /// refuses of it is done without, but not all.
  private func register() async throws(ATTFailure) {
    tellAt = now + settings.firstGathering
    guard let updates = service[.entityUpdate], updates.cccd != nil else { return }
    defer { tellAt = now + (awaited.isEmpty ? .zero : settings.firstGathering) }
    var refusal: ATTFailure?
    var registered = false
    for entity in Entity.all {
      do {
        let registration = EntityRegistration(entity, without: settings.unwanted)
        awaited.formUnion(registration.attributes.map { MediaAttribute(entity, $0) })
        try await client.write(updates.value, registration.encoded)
        registered = true
      } catch {
        guard error.code != nil else { throw error }
        refusal = error
      }
    }
    if let refusal, !registered { throw refusal }
  }

  // MARK: What the phone says

  private func receivedCommands(_ value: [UInt8]) {
    note(state.apply(commands: RemoteCommand.list(decoding: value)))
  }

  private func receivedUpdate(_ value: [UInt8]) {
    let update: EntityUpdate
    do {
      update = try EntityUpdate(decoding: value)
    } catch {
      return onDropped(value, "no value of Entity Update: \(error)")
    }
    let attribute = update.attribute
    if awaited.remove(attribute) != nil, awaited.isEmpty, tellAt != nil {
      tellAt = now
      alarm.ring()
    }
    if service[.entityAttribute] != nil, attribute.entity.attributes.contains(attribute),
      truncated.take(update, at: now)
    {
      alarm.ring()
    } else {
      apply(update, at: now)
    }
  }

  private func apply(_ update: EntityUpdate, at instant: Instant) {
    let before = state.player.name
    note(state.apply(update, at: instant))
    // Some phones notify the new player's commands only to who subscribes anew (rdar 21938452).
    if let before, before != state.player.name { commandsAreStale = true }
  }

  private func note(_ fields: [MediaField]) {
    guard !fields.isEmpty else { return }
    changed.formUnion(fields)
    tellAt = tellAt ?? now + settings.gathering
    alarm.ring()
  }

  // MARK: The session

  /// Registers what is wanted, reads cut values whole, and tells what has changed, until the session ends.
  ///
  /// - Throws: why the link has ended, or that the phone lets nothing be registered; returns where `end` was called, and at once where it runs.
  public func run() async throws(ATTFailure) {
    guard !isRunning else { return }
    isRunning = true
    defer { end() }
    try await register()
    while !isEnded {
      if let entry = truncated.first, let attribute = service[.entityAttribute] {
        try await readWhole(entry, at: attribute.value)
      } else if let deadline = tellAt, now >= deadline {
        tell()
      } else if commandsAreStale {
        try await refreshCommands()
      } else {
        try await alarm.wait(until: tellAt)
      }
    }
  }

  private func tell() {
    tellAt = nil
    guard !changed.isEmpty else { return }
    let fields = changed.inOrder
    changed = []
    onChange(state, fields)
  }

  /// Selects an attribute and reads it (AMS specification, Entity Attribute). One that the phone does
  /// not give whole stays as it came; one that it says is absent is empty.
  private func readWhole(
    _ entry: TruncatedValues.Entry, at handle: Handle
  ) async throws(ATTFailure) {
    var update = entry.update
    update.flags.remove(.truncated)
    do {
      try await client.write(handle, update.attribute.selection)
      update.value = try await client.readLong(handle, limit: Self.longestValue)
    } catch {
      if error.isEnd { throw error }
      if error.code?.rawValue == MediaError.absentAttribute.rawValue { update.value = [] }
    }
    if !isEnded, truncated.finish(entry) { apply(update, at: entry.instant) }
  }

  /// Subscribes to the list of commands again, so that the phone says it.
  private func refreshCommands() async throws(ATTFailure) {
    commandsAreStale = false
    guard let cccd = service[.remoteCommand]?.cccd else { return }
    for subscription in [Subscription.none, .notifications] {
      do {
        try await client.configure(cccd, subscription)
      } catch {
        if error.isEnd { throw error }
      }
    }
  }

  /// Sends a command. That the phone takes it does not say that the player obeys.
  ///
  /// - Throws: why it was not sent or not taken. Where the player has said what it takes, anything else
  ///   is refused here.
  public func send(_ command: RemoteCommand) async throws(MediaFailure) {
    guard let remote = service[.remoteCommand] else { throw .noRemoteCommand }
    if let supported = state.commands, !supported.contains(command) {
      throw .unsupported(command)
    }
    do {
      if remote.properties.contains(.writeWithoutResponse), !remote.properties.contains(.write) {
        try client.writeCommand(remote.value, [command.rawValue])
      } else {
        try await client.write(remote.value, [command.rawValue])
      }
    } catch {
      throw error.code.map(MediaFailure.refused) ?? .undelivered(error)
    }
  }

  /// Ends the session: nothing more is taken. Harmless where it has ended.
  public func end() {
    guard !isEnded else { return }
    isEnded = true
    for characteristic in [service[.remoteCommand], service[.entityUpdate]] {
      if let characteristic { client.take(characteristic.value, nil) }
    }
    alarm.ring()
  }
}
