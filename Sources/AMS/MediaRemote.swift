// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import Wire

/// The accessory's side of the Apple Media Service on one link: follows the player, and sends commands.
///
///     Entity Update ──▶ received ──┬──▶ MediaState ──▶ gathered ──▶ onChange
///                                  └──▶ truncated, or not sent: read through Entity Attribute
///     Remote Command ─▶ the list of commands; written to by `send`
///
/// Set the closures, call `subscribe`, then `run`. It throws when the link has ended, and returns when
/// `end` was called.
public final class MediaRemote {
  /// Called with the state when it has changed, and with what is different; changes that arrive together
  /// are published together.
  public var onChange: (MediaState, [MediaField]) -> Void = { _, _ in }
  /// Called with bytes that were dropped, and the reason, for the log.
  public var onDropped: ([UInt8], String) -> Void = { _, _ in }

  /// The media state.
  public private(set) var state = MediaState()

  private let client: Client
  private let service: LocatedService
  private let unwanted: Set<MediaAttribute>
  private let alarm: Alarm
  /// The values that were truncated, or not sent, and are to be read whole, in order of arrival.
  private var incomplete: [Incomplete] = []
  private var changed: Set<MediaField> = []
  /// When the changes are published.
  private var publishAt: Instant?
  private var commandsAreStale = false
  /// The registered attributes that the phone has not sent yet.
  private var awaited: Set<MediaAttribute> = []
  /// When those are read, once.
  private var unsentDue: Instant?
  private var isRunning = false
  private var isEnded = false

  /// A value that was truncated, and its time of arrival.
  private struct Incomplete: Equatable {
    let update: EntityUpdate
    let instant: Instant
  }

  /// The longest text that is read; no player was seen to have a longer one.
  private static let longestValue = 4096
  /// How long changes are gathered before they are published, so that related ones stay together.
  private static let gathering: Duration = .milliseconds(50)
  /// The same for the first values after the registration, unless all have arrived earlier.
  private static let firstGathering: Duration = .milliseconds(200)

  /// A remote for a located service; nil if it can neither be subscribed to nor written to.
  ///
  /// - Parameter unwanted: attributes that are not registered. (Registering the player's name crashed the service on
  ///   iOS 8.3: rdar 21283910.)
  public init?(_ client: Client, _ service: LocatedService, without unwanted: Set<MediaAttribute> = []) {
    guard service[.entityUpdate]?.cccd != nil || service[.remoteCommand] != nil else { return nil }
    self.client = client
    self.service = service
    self.unwanted = unwanted
    alarm = Alarm(client.bearer)
  }

  private var now: Instant { client.bearer.scheduler.now }

  // MARK: Subscribing

  /// Subscribes to both characteristics. The phone sends no attributes before `run` registers them.
  ///
  /// - Parameter again: first ends a subscription that may exist. A phone sends its player's commands when
  ///   it is subscribed to, and not when an existing subscription is written again.
  public func subscribe(again: Bool = false) async throws(ATTFailure) {
    if again { try await client.endSubscriptions(of: service) }
    if let updates = service[.entityUpdate], let cccd = updates.cccd {
      client.setHandler(for: updates.value) { [weak self] in self?.receivedUpdate($0) }
      try await client.enable(cccd, attempts: 2)
    }
    if let commands = service[.remoteCommand], let cccd = commands.cccd {
      client.setHandler(for: commands.value) { [weak self] in self?.receivedCommands($0) }
      do {
        try await client.configure(cccd, .notifications)
      } catch { guard error.code != nil else { throw error } }
    }
  }

  /// Registers the attributes, one write for each entity (AMS specification, Entity Update); throws if
  /// the phone refuses all of them.
  private func register() async throws(ATTFailure) {
    publishAt = now + Self.firstGathering
    guard let updates = service[.entityUpdate], updates.cccd != nil else { return }
    defer {
      publishAt = now + (awaited.isEmpty ? .zero : Self.firstGathering)
      unsentDue = awaited.isEmpty ? nil : now + Self.patience
    }
    var refusal: ATTFailure?
    var registered = false
    // Where the service was, there may be another one once it has ended.
    for entity in Entity.all where !isEnded {
      let registration = EntityRegistration(entity, without: unwanted)
      let attributes = registration.attributes.map { MediaAttribute(entity, $0) }
      do {
        awaited.formUnion(attributes)
        try await client.write(updates.value, registration.encoded)
        registered = true
      } catch {
        guard error.code != nil else { throw error }
        awaited.subtract(attributes)
        refusal = error
      }
    }
    if let refusal, !registered { throw refusal }
  }

  // MARK: Updates from the phone

  private func receivedCommands(_ value: [UInt8]) {
    gather(state.apply(commands: RemoteCommand.list(decoding: value)))
  }

  private func receivedUpdate(_ value: [UInt8]) {
    let update: EntityUpdate
    do {
      update = try EntityUpdate(decoding: value)
    } catch { return onDropped(value, "an invalid Entity Update value: \(error)") }
    let attribute = update.attribute
    if awaited.remove(attribute) != nil, awaited.isEmpty {
      unsentDue = nil
      if publishAt != nil {
        publishAt = now
        alarm.ring()
      }
    }
    // A newer value replaces the older one.
    incomplete.removeAll { $0.update.attribute == attribute }
    if update.isTruncated, service[.entityAttribute] != nil, attribute.entity.attributes.contains(attribute) {
      incomplete.append(Incomplete(update: update, instant: now))
      alarm.ring()
    } else {
      apply(update, at: now)
    }
  }

  private func apply(_ update: EntityUpdate, at instant: Instant) {
    let before = state.player.name
    gather(state.apply(update, at: instant))
    // Some phones send a new player's commands only for a new subscription (rdar 21938452).
    if let before, before != state.player.name { commandsAreStale = true }
  }

  private func gather(_ fields: [MediaField]) {
    guard !fields.isEmpty else { return }
    changed.formUnion(fields)
    publishAt = publishAt ?? now + Self.gathering
    alarm.ring()
  }

  // MARK: The session

  /// Registers the attributes, reads truncated values, and publishes changes, until the session ends.
  ///
  /// - Throws: why the link has ended, or the phone's refusal of all registrations. Returns if `end` was called, and
  ///   at once if it is already running.
  public func run() async throws(ATTFailure) {
    guard !isRunning else { return }
    isRunning = true
    defer { end() }
    try await register()
    while !isEnded {
      if let value = incomplete.first, let attribute = service[.entityAttribute] {
        try await readWhole(value, at: attribute.value)
      } else if let deadline = publishAt, now >= deadline {
        publish()
      } else if commandsAreStale {
        try await refreshCommands()
      } else if let due = unsentDue, now >= due {
        unsentDue = nil
        readUnsent()
      } else {
        try await alarm.wait(until: [publishAt, unsentDue].compactMap { $0 }.min())
      }
    }
  }

  /// How long after the registration the phone may take to send what it has.
  private static let patience: Duration = .seconds(5)

  /// Has the attributes read that the phone did not send: it may tell only what changes.
  private func readUnsent() {
    guard service[.entityAttribute] != nil else { return }
    for attribute in Entity.all.flatMap({ $0.attributes }) where awaited.contains(attribute) {
      let update = EntityUpdate(attribute, [], flags: .truncated)
      incomplete.append(Incomplete(update: update, instant: now))
    }
    awaited = []
  }

  private func publish() {
    publishAt = nil
    guard !changed.isEmpty else { return }
    let fields = changed.inOrder
    changed = []
    onChange(state, fields)
  }

  /// Selects an attribute and reads it (AMS specification, Entity Attribute). If that fails, the
  /// truncated value is used, if there is one; an absent attribute is empty.
  private func readWhole(_ value: Incomplete, at handle: Handle) async throws(ATTFailure) {
    var update = value.update
    let wasSent = !update.value.isEmpty
    update.flags.remove(.truncated)
    var isKnown = true
    do {
      try await client.write(handle, update.attribute.selection)
      update.value = try await client.readLong(handle, limit: Self.longestValue)
    } catch {
      if error.isEnd { throw error }
      let isAbsent = error.code == .absentAttribute
      if isAbsent { update.value = [] }
      isKnown = isAbsent || wasSent
    }
    // A newer value may have come meanwhile.
    guard let place = incomplete.firstIndex(of: value) else { return }
    incomplete.remove(at: place)
    if !isEnded, isKnown { apply(update, at: wasSent ? value.instant : now) }
  }

  /// Subscribes to the list of commands again, so that the phone sends it.
  private func refreshCommands() async throws(ATTFailure) {
    commandsAreStale = false
    guard let cccd = service[.remoteCommand]?.cccd else { return }
    for wanted in [[], ClientConfiguration.notifications] where !isEnded {
      do { try await client.configure(cccd, wanted) } catch { if error.isEnd { throw error } }
    }
  }

  /// Sends a command. An accepted command is not necessarily carried out by the player.
  ///
  /// The player's list of commands is a hint only: phones were seen to leave it empty, or out of date, and
  /// `play` has to reach a phone on which nothing plays yet.
  ///
  /// - Throws: why it was not sent or not accepted.
  public func send(_ command: RemoteCommand, for purpose: Purpose = .session) async throws(MediaFailure) {
    guard let remote = service[.remoteCommand] else { throw .noRemoteCommand }
    let client = client.acting(for: purpose)
    do {
      if remote.properties.contains(.writeWithoutResponse), !remote.properties.contains(.write) {
        try client.writeCommand(remote.value, [command.rawValue])
      } else {
        try await client.write(remote.value, [command.rawValue])
      }
    } catch { throw error.code.map(MediaFailure.refused) ?? .undelivered(error) }
  }

  /// Ends the session: the handlers are removed. Harmless if it has ended.
  public func end() {
    guard !isEnded else { return }
    isEnded = true
    for characteristic in [service[.remoteCommand], service[.entityUpdate]] {
      if let characteristic { client.removeHandler(for: characteristic.value) }
    }
    alarm.ring()
  }
}
