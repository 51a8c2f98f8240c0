// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Wire

extension Adapter {
  /// What the adapter is waiting for; nil while a phone is on it, whose session knows better.
  var wait: Wait? {
    if let trouble { return trouble }
    guard watch != nil else { return .settingUp }
    guard links.isEmpty else {
      return links.contains { $0.socket == nil } ? .channel : nil
    }
    if let (peer, bond) = suspicions.min(by: { $0.key.address < $1.key.address }) {
      return .oneSided(bond, phone: peer.address.description)
    }
    if let refusal = air.refusal { return .silent(refusal) }
    guard air.isOn else { return .settingUp }
    return switch (isPairable, bonds.isEmpty) {
    case (true, true): .firstPhone
    case (true, false): .anyPhone
    case (false, true): .nobody
    case (false, false): .bondedPhone
    }
  }

  /// Something that `wait` depends on may be different now.
  func waitsChanged() { supervisor.waits.mayHaveChanged() }
}
