// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import Fleet
import JSON
import MQTT
import System
import TOML
import Wire

/// The settings of a bridge, with the contents of the files that they name.
struct BridgePlan {
  let topics: BoardTopics
  let policy: MirrorPolicy
  let phones: [Address: TopicName]
  let identity: BrokerIdentity
  /// The key for digests; nil: no digests.
  let digestKey: [UInt8]?

  /// The systemd credential with the password, if the settings name no file.
  private static let credential = "mqtt-password"

  /// Reads the settings, and the files that they name.
  init(file: String?) throws(Failure) {
    let settings = try Self.settings(file)
    let conflict = settings.conflict
    guard conflict == nil, let broker = settings.broker else {
      throw Failure(.badSettings, "[mqtt]", conflict ?? "there is no broker")
    }
    let board = settings.board ?? TopicName(from: Host.name, or: .board)
    topics = BoardTopics(prefix: settings.prefix, board: board)
    policy = settings.policy
    phones = settings.phones
    identity = try BrokerIdentity(broker, settings, clientID: "ancsd-\(board)", will: topics.will)
    digestKey = try settings.digestKeyFile.map { path throws(Failure) in
      try Self.secret(path, "the key of the digests (dedupe-key-file)")
    }
  }

  /// A log line for the start: the broker and the published content.
  var sentence: String {
    let rules = policy.content.rules.count
    let more = rules == 0 ? "" : ", except for \(rules.counted("rule"))"
    let tells = policy.discovery.map { "; Home Assistant discovery under \($0)/" } ?? ""
    return "publishing to \(identity.address) as “\(identity.clientID)”, below \(topics.root): "
      + "\(policy.content.level.sentence)\(more)\(tells)"
  }

  static func settings(_ file: String?) throws(Failure) -> BridgeSettings {
    var settings = BridgeSettings()
    for (path, text) in try SettingsFolder.read(file) {
      guard let text else {
        throw Failure(
          .badSettings, path, "others can write to it",
          remedy: "chown root \(path) && chmod go-w \(path)")
      }
      do throws(TOMLValue.Fault) {
        var document = TableReader(try TOMLValue(parsing: text))
        guard let entry = document.entry(BridgeSettings.table) else { continue }
        var table = TableReader(entry.value)
        settings.read(&table)
        if let fault = table.finish().first { throw fault }
      } catch {
        throw Failure(
          .badSettings, "\(path):\(error.position)", error.message, remedy: "“ancsd config check” shows all errors")
      }
    }
    return settings
  }

  fileprivate static func password(_ settings: BridgeSettings) throws(Failure) -> String? {
    if let path = settings.passwordFile {
      return String(decoding: try secret(path, "the password (password-file)"), as: UTF8.self)
    }
    guard settings.user != nil, let folder = Host.variable("CREDENTIALS_DIRECTORY"),
      let bytes = try? Files.read("\(folder)/\(credential)", limit: 4_096)
    else { return nil }
    return String(decoding: firstLine(of: bytes), as: UTF8.self)
  }

  /// The first line of a file that other users must not be able to read.
  private static func secret(_ path: String, _ what: String) throws(Failure) -> [UInt8] {
    let line = firstLine(of: try unshared(path, what))
    guard !line.isEmpty else {
      throw Failure(.badSettings, what, "the first line of \(path) is empty")
    }
    return line
  }

  /// A file that other users must not be able to read.
  @discardableResult fileprivate static func unshared(
    _ path: String, _ what: String
  ) throws(Failure) -> [UInt8] {
    // systemd itself sets the permissions of credentials.
    let isCredential = Host.variable("CREDENTIALS_DIRECTORY").map { path.hasPrefix($0 + "/") } ?? false
    let bytes = try attempt(
      try isCredential ? Files.read(path, limit: 65_536) : Files.readUnshared(path, limit: 65_536)
    ) { (error: SystemError) in
      Failure(ExitStatus(error.errno, otherwise: .noInput), what, "\(error)")
    }
    guard let bytes else {
      throw Failure(
        .noPermission, what, "others can read \(path)", remedy: "chmod 600 \(path)")
    }
    return bytes
  }

  private static func firstLine(of bytes: [UInt8]) -> [UInt8] {
    Array(bytes.prefix { $0 != 0x0A && $0 != 0x0D })
  }
}

extension BrokerIdentity {
  /// The certificates from ca-certificates: in one file, and in a directory that has each under its hash.
  private static let (authorityFile, authorityFolder) = ("/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs")

  /// From the settings, with the password from its file.
  init(_ broker: BrokerAddress, _ settings: BridgeSettings, clientID: String, will: Publication?) throws(Failure) {
    self.init(broker, clientID: clientID, will: will, authorities: settings.authorities ?? Self.systemAuthorities)
    user = settings.user
    password = try BridgePlan.password(settings)
    certificateFile = settings.certificateFile
    keyFile = settings.keyFile
    if let keyFile { try BridgePlan.unshared(keyFile, "the key of the certificate (key-file)") }
  }

  /// OpenSSL reads only the certificate that it needs from the directory, but all from the file.
  private static var systemAuthorities: String {
    let names = (try? Files.names(in: authorityFolder)) ?? []
    return names.contains { $0.hasSuffix(".0") } ? authorityFolder : authorityFile
  }
}
