// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Mgmt
import Wire

/// Serves links, whatever they come from.
@LoopActor package protocol LinkServer: AnyObject {
  /// Whether no link is served any more, because the daemon stops.
  var isStopping: Bool { get }
  /// Runs a session on a link, until it ends.
  ///
  /// - Returns: whether the session ever subscribed.
  @discardableResult func serve(_ link: any Link) async -> Bool
  /// What is to be on the air beside a phone on this adapter that does not share its notifications yet; nil: none
  /// is there.
  func sharingAdvertisement(on adapter: String) -> SharingAdvertisement?
  /// Drops everything known of a phone whose bond was removed.
  func forget(_ phone: DeviceAddress)
}

/// What a daemon gives to its radio.
@LoopActor package struct RadioContext {
  let settings: RadioSettings
  /// The name that phones see.
  let name: String
  /// The name of this life of the daemon.
  let life: String
  let platform: any Platform
  let log: Log
  /// For lines that any phone in reach can cause, however often it comes.
  let strangersLog: Log
  let feed: EventFeed
  let waits: WaitBoard
  let timeline: Timeline
  let bonds: BondStore
  unowned let sessions: any LinkServer

  package init(
    _ settings: RadioSettings, name: String, life: String, _ platform: any Platform, _ log: Log,
    strangersLog: Log, _ feed: EventFeed, _ waits: WaitBoard, _ timeline: Timeline,
    _ bonds: BondStore, _ sessions: any LinkServer
  ) {
    self.settings = settings
    self.name = name
    self.life = life
    self.platform = platform
    self.log = log
    self.strangersLog = strangersLog
    self.feed = feed
    self.waits = waits
    self.timeline = timeline
    self.bonds = bonds
    self.sessions = sessions
  }
}
