// SPDX-License-Identifier: GPL-3.0-or-later

/// A report that says what something waits for.
protocol Waiting {
  /// By name; nil where it waits for nothing.
  var wait: String? { get set }
  /// In words.
  var why: String? { get set }
}

extension Waiting {
  /// Says it.
  mutating func stand(_ wait: Wait?, name: String) {
    self.wait = wait?.name
    why = wait?.sentence(name: name)
  }

  /// How it is shown: what is as it should be does not ask for attention.
  var paint: Paint { Wait.fineNames.contains(wait ?? "") ? .faint : .attention }
}

extension StatusReport: Waiting {}
extension AdapterReport: Waiting {}
extension LinkReport: Waiting {}
