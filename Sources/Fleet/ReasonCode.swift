// SPDX-License-Identifier: GPL-3.0-or-later

/// Why a broker refuses something (MQTT 5, 2.4), in words.
public struct ReasonCode: Hashable, Sendable {
  public let rawValue: UInt8

  public init(_ rawValue: UInt8) { self.rawValue = rawValue }

  /// From CONNACK, which has a return code if the broker only speaks MQTT 3.1.1 (3.2.2.3 there).
  public init(connack code: UInt8) {
    self.init([1: 0x84, 2: 0x85, 3: 0x88, 4: 0x86, 5: 0x87][code] ?? code)
  }

  /// What the broker refuses.
  public enum Attempt: Hashable, Sendable {
    case connecting
    /// Keeping the connection.
    case staying
    case publishing(String)
    /// Removing what is retained on a topic.
    case removing(String)
    case subscribing(String)
  }

  public var isRefusal: Bool { rawValue >= 0x80 }

  /// Whether the broker has no space for a message now, and may have later (4.13.2).
  public var isLackOfSpace: Bool { rawValue == 0x97 }

  /// Whether a retry would be refused too, until the user changes something.
  public var isPersistent: Bool { Self.persistent.contains(rawValue) }

  /// What failed, why, and what to do.
  ///
  /// - Parameters:
  ///   - name: the code's name in the specification.
  ///   - user: the user that the broker knows this client as.
  ///   - remark: what the broker itself says about it, or the other server that it names.
  public func sentence(_ attempt: Attempt, named name: String, as user: String, remark: String? = nil) -> String {
    let what =
      switch attempt {
      case .connecting: "the broker refuses the connection"
      case .staying: "the broker has ended the connection"
      case .publishing(let topic): "the broker does not let “\(user)” publish \(topic)"
      case .removing(let topic): "the broker does not let “\(user)” remove \(topic)"
      case .subscribing(let filter): "the broker does not let “\(user)” subscribe to \(filter)"
      }
    let number = "0x\(String(rawValue, radix: 16, uppercase: true))"
    let said = remark.map { ", “\($0)”" } ?? ""
    return "\(what): \(name) (\(number))\(said)\(remedy(attempt, user).map { "; \($0)" } ?? "")"
  }

  /// What to do about a packet that is too large.
  public static let tooLargeRemedy = "raise the broker's limit (mosquitto: max_packet_size)"

  private func remedy(_ attempt: Attempt, _ user: String) -> String? {
    switch (self, attempt) {
    case (.notAuthorized, .publishing(let topic)):
      "its ACL has to allow that (mosquitto: topic write \(topic))"
    case (.notAuthorized, .removing(let topic)):
      "remove it as a user who may: mosquitto_pub -r -n -t \(topic)"
    case (.notAuthorized, .subscribing(let filter)):
      "its ACL has to allow that (mosquitto: topic read \(filter))"
    default: Self.remedies[rawValue]
    }
  }

  private static let notAuthorized = ReasonCode(0x87)
  private static let persistent: Set<UInt8> = [0x84, 0x85, 0x86, 0x87, 0x8A, 0x8C, 0x90, 0x95, 0x99, 0x9D]

  /// What to do about a refusal, where there is anything to do.
  static let remedies: [UInt8: String] = [
    0x80: log, 0x81: fault, 0x82: fault, 0x83: log,
    0x84: "use a broker that supports MQTT 5 (mosquitto does since 1.6)",
    0x85: "the broker has to allow ids that begin with “ancsd-”", 0x86: "see user and password-file in [mqtt]",
    0x87: "see user and password-file in [mqtt]", 0x8A: "only the broker's administrator can change that",
    0x8C: "the broker has to accept a user and a password", 0x8D: "the network may have been interrupted",
    0x8E: "give each board its own name (board in [mqtt])", 0x8F: topics, 0x90: topics, 0x91: fault, 0x92: fault,
    0x93: fault, 0x94: fault, 0x95: tooLargeRemedy, 0x96: limit, 0x97: limit, 0x98: log,
    0x99: "the broker has to accept JSON on this topic", 0x9C: server, 0x9D: server, 0x9E: fault, 0xA1: fault,
    0xA2: "requests to boards need them",
  ]
  private static let log = "the broker's log may say why"
  private static let fault = "please report this fault of ancsd-mqtt or the broker"
  private static let topics = "try another prefix in [mqtt]"
  private static let limit = "raise the broker's limit for this user"
  private static let server = "change url in [mqtt]"
}
