// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ATT
import Wire

/// The phone's side of AMS, the Media Source: the player, which outlives a connection, and the
/// registrations of the connected remote.
final class MediaSource {
  private(set) var player = MediaPlayer()

  weak var phone: VirtualPhone?

  private let scheduler: any Scheduler
  private var overrides: [MediaAttribute: [UInt8]] = [:]
  /// Nil unless the remote is subscribed to Entity Update.
  private var registered: [Entity: [MediaAttribute]]?
  private var hasCommands = false
  private var selected: [UInt8]?

  init(scheduler: any Scheduler) { self.scheduler = scheduler }

  // MARK: What happens on the phone

  /// Changes the player, and notifies what has changed.
  func change(_ body: (inout MediaPlayer, Instant) -> Void) {
    let before = player
    body(&player, scheduler.now)
    for attribute in player.changes(since: before) where overrides[attribute] == nil {
      notify(attribute)
    }
    if hasCommands, player.commands != before.commands { notifyCommands() }
  }

  /// Overrides the value of an attribute; nil: the player's own value again.
  func override(_ attribute: MediaAttribute, _ value: [UInt8]?) {
    overrides[attribute] = value
    notify(attribute)
  }

  private func value(of attribute: MediaAttribute) -> [UInt8] {
    overrides[attribute] ?? Array(player.text(of: attribute, at: scheduler.now).utf8)
  }

  private func notify(_ attribute: MediaAttribute) {
    guard registered?[attribute.entity]?.contains(attribute) == true else { return }
    let value = value(of: attribute)
    phone?.enqueue { connection in
      let update = EntityUpdate(attribute, value, fitting: connection.bearer.mtu - 3)
      connection.notify(.entityUpdate, update.encoded)
    }
  }

  private func notifyCommands() {
    let value = player.commands.map(\.rawValue)
    phone?.enqueue { $0.notify(.remoteCommand, value) }
  }

  // MARK: Writes of the remote

  /// The remote subscribed to Remote Command, or unsubscribed.
  func subscribeCommands(_ wanted: Bool) {
    let isNew = wanted && !hasCommands
    hasCommands = wanted
    if isNew { notifyCommands() }
  }

  /// The remote subscribed to Entity Update, or unsubscribed, which ends its registrations.
  func subscribeUpdates(_ wanted: Bool) { registered = wanted ? registered ?? [:] : nil }

  /// The link has ended, or the service was removed: everything about the remote is forgotten.
  func forgetRemote() {
    registered = nil
    hasCommands = false
    selected = nil
  }

  /// Handles a value written to Remote Command.
  func handleRemoteCommand(_ value: [UInt8]) throws(ErrorCode) {
    guard value.count == 1, let first = value.first, first < 14 else {
      throw violation("not a remote command: \(value.hex)")
    }
    let command = RemoteCommand(rawValue: first)
    phone?.onEvent(.remoteCommand(command))
    guard player.commands.contains(command) else { return }
    change { player, now in player.perform(command, at: now) }
  }

  /// Handles a registration written to Entity Update; the registered values follow at once.
  func handleRegistration(_ value: [UInt8]) throws(ErrorCode) {
    try checkSubscription(for: "a registration")
    guard let registration = try? EntityRegistration(decoding: value) else {
      throw violation("an empty registration")
    }
    let attributes = registration.attributes.map { MediaAttribute(registration.entity, $0) }
    let known = registration.entity.attributes
    guard !known.isEmpty, attributes.allSatisfy(known.contains) else {
      throw violation("a registration for what does not exist: \(value.hex)")
    }
    phone?.onEvent(.registered(registration))
    registered?[registration.entity] = attributes
    if phone?.rules.updatesChangesOnly != true { for attribute in attributes { notify(attribute) } }
  }

  /// Handles a selection written to Entity Attribute, which then has the value of that attribute.
  func handleSelection(_ value: [UInt8]) throws(ErrorCode) {
    try checkSubscription(for: "a selection")
    guard let attribute = try? MediaAttribute(decoding: value),
      attribute.entity.attributes.contains(attribute)
    else {
      throw violation("a selection of what does not exist: \(value.hex)")
    }
    let selection = self.value(of: attribute)
    guard !selection.isEmpty else { throw .absentAttribute }
    selected = selection
  }

  /// The value of Entity Attribute: the attribute's value when it was selected.
  func readSelection() throws(ErrorCode) -> [UInt8] {
    guard let selected else { throw .invalidState }
    return selected
  }

  private func checkSubscription(for what: String) throws(ErrorCode) {
    guard registered != nil else {
      throw violation("\(what) without a subscription to Entity Update", .invalidState)
    }
  }

  /// Reports that the remote broke a rule; returns the error for it.
  private func violation(_ words: String, _ error: ErrorCode = .invalidCommand) -> ErrorCode {
    phone?.onEvent(.violation(words))
    return error
  }
}

extension MediaPlayer {
  /// Applies what is given of a state; nil leaves a value as it is.
  mutating func apply(_ change: MediaState, _ playlist: [MediaState.Track]?, at now: Instant) {
    if let playlist {
      self.playlist = playlist
      select(change.queue.index ?? 0, at: now)
    } else if let index = change.queue.index {
      select(index, at: now)
    }
    if change.track != MediaState.Track() { self.change(track: change.track) }
    if let name = change.player.name { self.name = name.isEmpty ? nil : name }
    if let volume = change.player.volume { self.volume = min(max(0, volume), 1) }
    shuffleMode = change.queue.shuffleMode ?? shuffleMode
    repeatMode = change.queue.repeatMode ?? repeatMode
    count = change.queue.count ?? count
    commands = change.commands ?? commands
    self.change(state: change.player.state ?? state, rate: change.player.rate, at: now)
    if let position = change.player.position { seek(to: position.seconds, at: now) }
  }
}
