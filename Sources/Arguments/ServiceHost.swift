// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import System

/// The board's service manager and its two services: the daemon's, and bluetoothd's. Setup, doctor and the remedies of
/// failures all ask it what is installed and which commands this board has.
public struct ServiceHost: Hashable, Sendable {
  /// The service manager that is running.
  public enum Manager: Hashable, Sendable {
    case systemd, openRC
    /// None, or an unknown one: daemons are started by hand.
    case none
  }

  /// An installed service.
  public struct Service: Hashable, Sendable {
    public let name: String
    /// Whether it starts at boot.
    public var isEnabled: Bool
    /// Whether the manager has started it. Its process may have ended, and be about to be started again.
    public var isStarted: Bool
    /// The user that it runs as, by name or number.
    public var user: String

    public init(_ name: String, isEnabled: Bool = true, isStarted: Bool = true, user: String = "root") {
      self.name = name
      self.isEnabled = isEnabled
      self.isStarted = isStarted
      self.user = user
    }
  }

  public var manager: Manager
  /// The daemon's service; nil: it is not installed.
  public var daemon: Service?
  /// bluetoothd's; nil: it is not installed.
  public var bluetooth: Service?
  /// Whether the tools of the shadow suite change users and groups; otherwise busybox does.
  public var hasShadow: Bool

  public init(_ manager: Manager, daemon: Service? = nil, bluetooth: Service? = nil, hasShadow: Bool = true) {
    self.manager = manager
    self.daemon = daemon
    self.bluetooth = bluetooth
    self.hasShadow = hasShadow
  }

  /// This machine.
  public static var here: ServiceHost { ServiceHost(root: "") }

  /// The host whose files are below `root`.
  public init(root: String) {
    let files = HostFiles(root: root)
    // The directories that only the running manager creates: sd_booted(3), OpenRC's librc.
    manager = files.has("/run/systemd/system") ? .systemd : files.has("/run/openrc") ? .openRC : .none
    hasShadow = ["/usr/sbin/usermod", "/sbin/usermod"].contains(where: files.has)
    daemon = files.service("ancsd", manager)
    bluetooth = files.service("bluetooth", manager)
  }

  // MARK: Commands

  /// A change of a service.
  public enum Change: Hashable, Sendable {
    /// It runs, now and at every boot.
    case start
    /// The same, with its current settings.
    case restart
    /// It does not run, neither now nor at the next boot.
    case stop
  }

  /// The commands for a change, in order.
  public func commands(to change: Change, _ service: Service) -> [[String]] {
    let name = service.name
    return switch (manager, change) {
    case (.systemd, .start): [["systemctl", "enable", "--now", name]]
    case (.systemd, .restart): [["systemctl", "enable", name], ["systemctl", "restart", name]]
    case (.systemd, .stop): [["systemctl", "disable", "--now", name]]
    case (.openRC, .start): enabling(true, service) + [["rc-service", name, "start"]]
    case (.openRC, .restart): enabling(true, service) + [["rc-service", name, "restart"]]
    case (.openRC, .stop): [["rc-service", name, "stop"]] + enabling(false, service)
    case (.none, _): []
    }
  }

  /// The commands that make a service again what it is here, after those for a change.
  public func commands(undoing change: Change, _ service: Service) -> [[String]] {
    var changed = service
    changed.isEnabled = change != .stop
    let verb = !service.isStarted ? "stop" : change == .stop ? "start" : "restart"
    return switch manager {
    case .systemd: enabling(service.isEnabled, changed) + [["systemctl", verb, service.name]]
    case .openRC: enabling(service.isEnabled, changed) + [["rc-service", service.name, verb]]
    case .none: []
    }
  }

  /// Has a service start at boot or not; nothing if it is so already.
  private func enabling(_ isEnabled: Bool, _ service: Service) -> [[String]] {
    guard isEnabled != service.isEnabled else { return [] }
    return switch manager {
    case .systemd: [["systemctl", isEnabled ? "enable" : "disable", service.name]]
    case .openRC:
      [isEnabled ? ["rc-update", "add", service.name, "default"] : ["rc-update", "--all", "del", service.name]]
    case .none: []
    }
  }

  /// Shows why a service does not run.
  public func log(of service: Service) -> String? {
    switch manager {
    case .systemd: "journalctl -u \(service.name) -n 20"
    case .openRC: "tail /var/log/\(service.name).log"
    case .none: nil
    }
  }

  /// Adds a user to a group.
  public func admit(_ user: String, to group: String) -> [String] {
    hasShadow ? ["usermod", "-aG", group, user] : ["addgroup", user, group]
  }

  /// The command that lets a user use the daemon, from the next login on.
  public func admitting(_ user: String = Host.variable("USER") ?? "NAME") -> String {
    "sudo " + admit(user, to: DefaultPaths.group).joined(separator: " ")
  }

  /// Creates a group.
  public func makeGroup(_ name: String) -> [String] {
    hasShadow ? ["groupadd", "--system", name] : ["addgroup", "-S", name]
  }
}

extension [[String]] {
  /// The commands on one line, each if the one before has succeeded; nil if there are none.
  public var line: String? {
    isEmpty ? nil : map { $0.joined(separator: " ") }.joined(separator: " && ")
  }
}

/// Files below a root directory.
private struct HostFiles {
  let root: String

  func has(_ path: String) -> Bool { ((try? Files.kind(of: root + path)) ?? nil) != nil }

  private func names(in path: String) -> [String] { (try? Files.names(in: root + path)) ?? [] }

  func service(_ name: String, _ manager: ServiceHost.Manager) -> ServiceHost.Service? {
    switch manager {
    case .systemd: unit(name)
    case .openRC: script(name)
    case .none: nil
    }
  }

  /// Where systemd looks for units, the first overriding the others (systemd.unit(5)).
  private static let unitFolders = ["/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"].map {
    "\($0)/systemd/system"
  }

  private func unit(_ name: String) -> ServiceHost.Service? {
    let unit = "\(name).service"
    guard let file = Self.unitFolders.map({ "\($0)/\(unit)" }).first(where: has) else { return nil }
    // Of drop-ins with the same name, that in the first folder counts.
    var dropIns: [String: String] = [:]
    for folder in Self.unitFolders.reversed() {
      for dropIn in names(in: "\(folder)/\(unit).d") {
        dropIns[dropIn] = "\(folder)/\(unit).d/\(dropIn)"
      }
    }
    let files = [file] + dropIns.sorted { $0.key < $1.key }.map(\.value)
    let configured = Self.unitFolders.first ?? ""
    return ServiceHost.Service(
      name,
      isEnabled: names(in: configured).contains {
        ($0.hasSuffix(".wants") || $0.hasSuffix(".requires")) && has("\(configured)/\($0)/\(unit)")
      },
      // A link that systemd has while the unit is neither inactive nor failed.
      isStarted: has("/run/systemd/units/invocation:\(unit)"),
      user: files.compactMap { value(of: "User", in: $0) }.last ?? "root")
  }

  private func script(_ name: String) -> ServiceHost.Service? {
    guard has("/etc/init.d/\(name)") else { return nil }
    return ServiceHost.Service(
      name, isEnabled: names(in: "/etc/runlevels").contains { has("/etc/runlevels/\($0)/\(name)") },
      isStarted: has("/run/openrc/started/\(name)"), user: value(of: "\(name)_user", in: "/etc/conf.d/\(name)") ?? name)
  }

  /// The last value of a variable in a unit or a shell script, without quotes.
  private func value(of variable: String, in path: String) -> String? {
    let text = String(decoding: (try? Files.read(root + path)) ?? [], as: UTF8.self)
    return text.split(whereSeparator: \.isNewline).compactMap { line in
      let parts = line.split(separator: "=", maxSplits: 1).map { part in
        String(part.filter { !"\"' \t".contains($0) })
      }
      return parts.count == 2 && parts[0] == variable ? parts[1] : nil
    }.last
  }
}
