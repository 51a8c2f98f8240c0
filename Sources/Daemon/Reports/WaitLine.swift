// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON
import Wire

/// What one adapter, link, or the daemon itself waits for, as `status --why` prints it.
public struct WaitLine: Hashable, Sendable {
  public var adapter: String?
  public var phone: String?
  /// By name.
  public var wait: String
  /// In words.
  public var why: String

  public init(adapter: String? = nil, phone: String? = nil, wait: String, why: String) {
    self.adapter = adapter
    self.phone = phone
    self.wait = wait
    self.why = why
  }

  public var json: JSONValue {
    var object = JSONObject()
    object.add("adapter", adapter)
    object.add("phone", phone)
    object.add("wait", wait)
    object.add("why", why)
    return .object(object)
  }

  /// The line as a person reads it.
  public func text(_ style: TextStyle) -> String {
    var line = StyledText()
    for subject in [adapter, phone].compactMap({ $0 }) { line.add("\(subject):", .strong) }
    line.add(why, Wait.fineNames.contains(wait) ? .plain : .attention)
    return line.lines(style, indent: 2).joined(separator: "\n")
  }
}

extension StatusReport {
  /// What is waited for: by the daemon, the adapters and the links.
  public var waits: [WaitLine] {
    func line(_ report: some Waiting, _ adapter: String?, _ phone: String? = nil) -> WaitLine? {
      guard let wait = report.wait, let why = report.why else { return nil }
      return WaitLine(adapter: adapter, phone: phone, wait: wait, why: why)
    }
    return [line(self, nil)].compactMap { $0 }
      + adapters.compactMap { line($0, $0.adapter) }
      + links.compactMap { line($0, $0.adapter, $0.phone?.description) }
  }
}
