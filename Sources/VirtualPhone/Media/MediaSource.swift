// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ATT
import Wire

/// The phone's end of AMS: the Media Source. The player goes on from one connection to the next; what
/// the remote registered for does not.
final class MediaSource {
  private(set) var player = MediaPlayer()

  /// Takes what happens here.
  var report: (PhoneEvent) -> Void = { _ in }
  /// Notifies Entity Update, on a later turn and in order: as much of the value as `room` holds.
  var notifyUpdate: (_ value: @escaping (_ room: Int) -> [UInt8]) -> Void = { _ in }
  /// Notifies Remote Command.
  var notifyCommands: ([UInt8]) -> Void = { _ in }

  private let scheduler: any Scheduler
  private var overrides: [MediaAttribute: [UInt8]] = [:]
  private var registered: [Entity: [MediaAttribute]] = [:]
  private var hasUpdates = false
  private var hasCommands = false
  private var selected: [UInt8]?

  init(scheduler: any Scheduler) { self.scheduler = scheduler }

  // MARK: What happens on the phone

  /// Changes the player; the remote hears of what is different.
  func change(_ body: (inout MediaPlayer, Instant) -> Void) {
    let before = player
    body(&player, scheduler.now)
    for attribute in player.changes(since: before) where overrides[attribute] == nil {
      tell(attribute)
    }
    if hasCommands, player.commands != before.commands { tellCommands() }
  }

  /// Has an attribute say this, whatever the player says; nil: the same as the player again.
  func override(_ attribute: MediaAttribute, _ value: [UInt8]?) {
    overrides[attribute] = value
    tell(attribute)
  }

  private func value(of attribute: MediaAttribute) -> [UInt8] {
    overrides[attribute] ?? Array(player.text(of: attribute, at: scheduler.now).utf8)
  }

  private func tell(_ attribute: MediaAttribute) {
    guard hasUpdates, registered[attribute.entity]?.contains(attribute) == true else { return }
    let value = value(of: attribute)
    notifyUpdate { room in
      let part = value.prefix(max(0, room - 3))
      return EntityUpdate(
        attribute, Array(part), flags: part.count < value.count ? .truncated : []
      ).encoded
    }
  }

  private func tellCommands() { notifyCommands(player.commands.map(\.rawValue)) }

  // MARK: What the remote does

  /// The remote subscribed to Remote Command, or no longer is.
  func subscribeCommands(_ wanted: Bool) {
    let isNew = wanted && !hasCommands
    hasCommands = wanted
    if isNew { tellCommands() }
  }

  /// The remote subscribed to Entity Update, or no longer is: then it has to register anew.
  func subscribeUpdates(_ wanted: Bool) {
    hasUpdates = wanted
    if !wanted { registered = [:] }
  }

  /// The link is gone, or the service is: nothing of the remote is remembered.
  func forgetRemote() {
    registered = [:]
    hasUpdates = false
    hasCommands = false
    selected = nil
  }

  /// Takes what was written to Remote Command.
  func take(remoteCommand value: [UInt8]) throws(ErrorCode) {
    guard value.count == 1, let first = value.first, first < 14 else {
      report(.violation("no remote command: \(value.hex)"))
      throw .invalidCommand
    }
    let command = RemoteCommand(rawValue: first)
    report(.remoteCommand(command))
    guard player.commands.contains(command) else {
      return report(.violation("the player does not support \(command)"))
    }
    change { player, now in player.perform(command, at: now) }
  }

  /// Takes what was written to Entity Update; the values that are registered for follow at once.
  func take(registration value: [UInt8]) throws(ErrorCode) {
    guard hasUpdates else {
      report(.violation("a registration without a subscription to Entity Update"))
      throw .invalidState
    }
    guard let registration = try? EntityRegistration(decoding: value) else {
      report(.violation("an empty registration"))
      throw .invalidCommand
    }
    let attributes = registration.attributes.map { MediaAttribute(registration.entity, $0) }
    let known = registration.entity.attributes
    guard !known.isEmpty, attributes.allSatisfy(known.contains) else {
      report(.violation("a registration for what does not exist: \(value.hex)"))
      throw .invalidCommand
    }
    report(.registered(registration))
    registered[registration.entity] = attributes
    for attribute in attributes { tell(attribute) }
  }

  /// Takes what was written to Entity Attribute: the value of that attribute is now its value.
  func take(selection value: [UInt8]) throws(ErrorCode) {
    guard hasUpdates else {
      report(.violation("a selection without a subscription to Entity Update"))
      throw .invalidState
    }
    guard let attribute = try? MediaAttribute(decoding: value),
      attribute.entity.attributes.contains(attribute)
    else {
      report(.violation("a selection of what does not exist: \(value.hex)"))
      throw .invalidCommand
    }
    let selection = self.value(of: attribute)
    guard !selection.isEmpty else { throw .absentAttribute }
    selected = selection
  }

  /// What reading Entity Attribute shows: the value as it was when it was selected.
  func readSelection() throws(ErrorCode) -> [UInt8] {
    guard let selected else { throw .invalidState }
    return selected
  }
}

extension ErrorCode {
  fileprivate static let invalidState = ErrorCode(MediaError.invalidState.rawValue)
  fileprivate static let invalidCommand = ErrorCode(MediaError.invalidCommand.rawValue)
  fileprivate static let absentAttribute = ErrorCode(MediaError.absentAttribute.rawValue)
}

extension MediaChange {
  /// Does to the player what this says.
  func apply(to player: inout MediaPlayer, at now: Instant) {
    if let playlist {
      player.playlist = playlist
      player.go(to: index ?? 0, at: now)
    } else if let index {
      player.go(to: index, at: now)
    }
    if let track { player.change(track: track) }
    if let name = playerName { player.name = name.isEmpty ? nil : name }
    if let volume { player.volume = min(max(0, volume), 1) }
    if let shuffleMode { player.shuffleMode = shuffleMode }
    if let repeatMode { player.repeatMode = repeatMode }
    if let count { player.count = count }
    if let commands { player.commands = commands }
    if state != nil || rate != nil {
      player.change(state: state ?? player.state, rate: rate, at: now)
    }
    if let elapsed { player.seek(to: elapsed, at: now) }
  }
}
