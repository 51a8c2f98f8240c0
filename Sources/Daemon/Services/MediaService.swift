// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ATT
import Board
import Control
import EventLoop
import GAP
import GATT
import Wire

/// The Apple Media Service.
@LoopActor final class MediaService: ServiceClient {
  let uuid = UUID.mediaService
  let characteristics = [UUID.remoteCommand, .entityUpdate, .entityAttribute]
  let name: PhoneService? = .ams
  let title = "media"
  let phase = ServicePhase.first

  /// The running subscription.
  private(set) var remote: MediaRemote?

  private let context: ServiceContext

  init(_ context: ServiceContext) { self.context = context }

  var isActive: Bool { remote != nil }

  /// The media state, with its position as of now.
  var state: MediaState? { remote?.state.carried(to: context.shared.scheduler.now) }

  func subscribe(to service: LocatedService, anew: Bool) async throws(SubscriptionFailure) {
    guard let remote = MediaRemote(context.client, service, settings: context.shared.quirks.media)
    else {
      throw .incomplete("AMS")
    }
    remote.onChange = { [context] state, changed in
      context.publish(.media(state.carried(to: context.shared.scheduler.now), changed: changed))
    }
    remote.onDropped = context.logDropped
    do {
      try await remote.subscribe(anew: anew)
      self.remote = remote
    } catch {
      remote.end()
      throw .failed(error)
    }
  }

  func run() async throws(ATTFailure) { try await remote?.run() }

  func end() {
    remote?.end()
    remote = nil
  }
}
