// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Companion
import GATT
import Wire

// MARK: - Commands

/// What the phone does on command.
extension VirtualPhone {
  /// Carries out a command; what it leads to is sent on later turns of the loop.
  @discardableResult
  public func perform(_ command: PhoneCommand) throws(PhoneRefusal) -> PhoneAnswer {
    switch command {
    case .add(let contents, let uid):
      return .added([try provider.add(contents, uid: uid)])
    case .burst(let count, let contents):
      return .added(try burst(count, contents))
    case .modify(let uid, let contents): try provider.modify(uid, contents)
    case .remove(let uid): try provider.remove(uid)
    case .removeAll: provider.removeAll()
    case .renumber: provider.renumber()
    case .nameApp(let app, let name): provider.apps[app] = name
    case .authorize(let granted): provider.authorize(granted)
    case .media, .mediaAttribute, .remote: performMedia(command)
    case .battery(let level): set(batteryLevel: level)
    case .time(let time, let zone): set(time, zone)
    case .fragments, .pace, .failCommands, .silence, .cutAnswers: misbehave(command)
    default: try performOnLink(command)
    }
    return .done
  }

  private func burst(
    _ count: Int, _ contents: NotificationContents
  ) throws(PhoneRefusal) -> [NotificationUID] {
    var uids: [NotificationUID] = []
    for number in 1...max(1, count) {
      var numbered = contents
      numbered[.title] = [contents[.title], String(number)].compactMap(\.self).joined(
        separator: " ")
      uids.append(try provider.add(numbered, uid: nil))
    }
    return uids
  }

  // MARK: Media, battery and time

  private func performMedia(_ command: PhoneCommand) {
    switch command {
    case .media(let change): media.change { player, now in change.apply(to: &player, at: now) }
    case .mediaAttribute(let attribute, let value): media.override(attribute, value)
    case .remote(let command): media.change { player, now in player.perform(command, at: now) }
    default: break
    }
  }

  private func set(batteryLevel percent: UInt8) {
    guard percent != state.batteryLevel else { return }
    state.batteryLevel = percent
    enqueue { $0.notify(.batteryLevel, [percent]) }
  }

  private func set(_ time: CivilTime, _ zone: LocalTimeInformation?) {
    let now = scheduler.now
    state.clock = PhoneClock(time, zone: zone ?? state.clock.zone, at: now)
    let value = state.clock.value(at: now, adjusted: .manual)
    enqueue { $0.notify(.currentTime, value) }
  }

  // MARK: Misbehaviour

  private func misbehave(_ command: PhoneCommand) {
    switch command {
    case .fragments(let size): provider.faults.fragmentSize = size.map { max(1, $0) }
    case .pace(let answer, let fragment):
      provider.sender.answerDelay = max(.zero, answer)
      provider.sender.fragmentDelay = max(.zero, fragment)
    case .failCommands(let code, let count): provider.faults.refuse(code, count: max(0, count))
    case .silence(let count): provider.faults.silence(max(0, count))
    case .cutAnswers(let count): provider.faults.cut(max(0, count))
    default: break
    }
  }

  // MARK: The link and the database

  private func performOnLink(_ command: PhoneCommand) throws(PhoneRefusal) {
    switch command {
    case .publish(let service, let fresh): try database.publish(service, freshHandles: fresh)
    case .unpublish(let service): try unpublish(service)
    case .forgetSubscriptions(let service): try forgetSubscriptions(of: service)
    case .encrypt(let encrypted): state.isEncrypted = encrypted
    case .limitMTU(let mtu): state.receiveMTU = mtu
    case .freeze(let frozen): state.isFrozen = frozen
    case .disconnect: try connected().hangUp("the phone hung up")
    case .leave:
      setReachable(false)
      connection?.hangUp("the phone is out of reach")
    case .comeBack: setReachable(true)
    case .send(let bytes): try connected().sendRaw(bytes)
    case .notify(let characteristic, let value):
      let pdu = PDU.handleValueNotification(try handle(of: characteristic), value: value)
      try connected().sendRaw(pdu.encoded)
    case .indicate(let characteristic, let value):
      let handle = try handle(of: characteristic)
      try connected().bearer.indicate(handle, value) { [weak self] answer in
        if case .success = answer { self?.onEvent(.confirmed(characteristic)) }
      }
    default: break
    }
  }

  private func unpublish(_ service: PublishedService) throws(PhoneRefusal) {
    try database.unpublish(service)
    switch service {
    case .ancs: provider.endSession()
    case .ams: media.forgetRemote()
    case .battery, .time: break
    }
  }

  private func forgetSubscriptions(of service: PublishedService?) throws(PhoneRefusal) {
    let connection = try connected()
    let wanted = PhoneCharacteristic.allCases.filter {
      service == nil || $0.service == service?.uuid
    }
    let range = service.map { database.range(of: $0) } ?? .all
    guard let range else { throw PhoneRefusal("\(service?.rawValue ?? "it") is not there") }
    connection.forgetSubscriptions(in: range)
    for characteristic in wanted { apply(characteristic, isSubscribed: false) }
  }

  private func connected() throws(PhoneRefusal) -> PhoneConnection {
    guard let connection else { throw PhoneRefusal("nobody is connected") }
    return connection
  }

  private func handle(of characteristic: PhoneCharacteristic) throws(PhoneRefusal) -> Handle {
    guard let handle = database.handle(of: characteristic) else {
      throw PhoneRefusal("\(characteristic.rawValue) is not there")
    }
    return handle
  }
}

// MARK: - Questions to the peer's server

/// A request of the phone, which is a GATT client too, to the peer's server.
public enum PhoneQuestion: Hashable, Sendable {
  /// Exchanges MTUs.
  case exchangeMTU
  /// Discovers all primary services.
  case discover
  /// Reads the characteristics of a type, as phones read the device name.
  case read(UUID)
}

extension VirtualPhone {
  /// Asks the peer's server; the answer is an event.
  public func ask(_ question: PhoneQuestion) async {
    guard let connection else {
      return onEvent(.failed("\(question)", .closed("nobody is connected")))
    }
    do throws(ATTFailure) {
      switch question {
      case .exchangeMTU:
        try await connection.bearer.exchangeMTU()
        reportMTU()
      case .discover:
        onEvent(.discovered(try await connection.client.primaryServices()))
      case .read(let type):
        // Not by `Client.read(_:in:)`, which does not throw Attribute Not Found.
        for value in try await connection.bearer.request(.readByType(.all, type: type)) {
          onEvent(.read(type, handle: value.handle, value: value.value))
        }
      }
    } catch {
      onEvent(.failed("\(question)", error))
    }
  }
}

extension PhoneQuestion: CustomStringConvertible {
  public var description: String {
    switch self {
    case .exchangeMTU: "exchange-mtu"
    case .discover: "discover"
    case .read(let type): "read \(type)"
    }
  }
}
