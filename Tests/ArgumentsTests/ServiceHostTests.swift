// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Scratch
import System
import Testing

@Suite("The board's service manager")
struct ServiceHostTests {
  /// The host with these files, each with its content.
  private static func host(_ files: [String: String]) throws -> ServiceHost {
    let scratch = try Scratch()
    for (path, content) in files {
      try Files.makeDirectory(try #require(Files.parent(of: scratch.path + path)))
      try Files.create(scratch.path + path).writeAll(content.utf8)
    }
    return ServiceHost(root: scratch.path)
  }

  @Test("A board without a service manager has no services, whatever is installed")
  func none() throws {
    let host = try Self.host(["/lib/systemd/system/ancsd.service": "[Service]\nUser=ancsd\n"])
    #expect(host == ServiceHost(.none, hasShadow: false))
    let service = ServiceHost.Service("ancsd")
    #expect(host.commands(to: .start, service).line == nil && host.log(of: service) == nil)
  }

  @Test("A unit is found wherever it is installed", arguments: ["/lib", "/usr/lib", "/usr/local/lib", "/etc"])
  func unit(folder: String) throws {
    let host = try Self.host([
      "/run/systemd/system/x": "", "/usr/sbin/usermod": "",
      "\(folder)/systemd/system/ancsd.service": "[Service]\n# User=root\nUser=ancsd\n",
    ])
    let daemon = ServiceHost.Service("ancsd", isEnabled: false, isStarted: false, user: "ancsd")
    #expect(host == ServiceHost(.systemd, daemon: daemon))
  }

  @Test("systemd's links say whether a unit is enabled and started, and drop-ins as whom it runs")
  func systemd() throws {
    let host = try Self.host([
      "/run/systemd/system/x": "", "/run/systemd/units/invocation:ancsd.service": "",
      "/lib/systemd/system/ancsd.service": "User=ancsd\n",
      "/lib/systemd/system/bluetooth.service": "",
      "/lib/systemd/system/ancsd.service.d/user.conf": "User=first\n",
      "/etc/systemd/system/ancsd.service.d/user.conf": "[Service]\nUser = second\n",
      "/etc/systemd/system/ancsd.service.d/a.conf": "User=third\n",
      "/etc/systemd/system/multi-user.target.wants/ancsd.service": "",
    ])
    #expect(host.daemon == ServiceHost.Service("ancsd", user: "second"))
    let bluetooth = try #require(host.bluetooth)
    #expect(!bluetooth.isEnabled && !bluetooth.isStarted)
  }

  @Test("OpenRC's scripts, runlevels and started services are known, and busybox's tools")
  func openRC() throws {
    let host = try Self.host([
      "/run/openrc/softlevel": "", "/etc/init.d/ancsd": "", "/etc/init.d/bluetooth": "",
      "/etc/conf.d/ancsd": "ancsd_opts=\"--hci1\"\nancsd_user=\"phone\"\n",
      "/etc/runlevels/default/bluetooth": "", "/run/openrc/started/ancsd": "",
    ])
    #expect(
      host
        == ServiceHost(
          .openRC, daemon: .init("ancsd", isEnabled: false, user: "phone"),
          bluetooth: .init("bluetooth", isStarted: false, user: "bluetooth"), hasShadow: false))
    #expect(host.admitting("pi") == "sudo addgroup pi ancsd")
    #expect(host.makeGroup("ancsd") == ["addgroup", "-S", "ancsd"])
  }

  @Test(
    "What a change does, undoing it takes back, and no more",
    arguments: [
      (true, true, "enable bluetooth && start bluetooth"), (true, false, "enable bluetooth && stop bluetooth"),
      (false, true, "start bluetooth"), (false, false, "stop bluetooth"),
    ])
  func stopped(isEnabled: Bool, isStarted: Bool, undo: String) {
    let service = ServiceHost.Service("bluetooth", isEnabled: isEnabled, isStarted: isStarted)
    let systemd = ServiceHost(.systemd)
    #expect(systemd.commands(to: .stop, service).line == "systemctl disable --now bluetooth")
    let words = undo.split(separator: " ").map(String.init)
    #expect(
      systemd.commands(undoing: .stop, service).line
        == words.map { ["enable", "start", "stop"].contains($0) ? "systemctl \($0)" : $0 }
        .joined(separator: " "))
    let openRC = ServiceHost(.openRC)
    #expect(
      openRC.commands(to: .stop, service).line == "rc-service bluetooth stop"
        + (isEnabled ? " && rc-update --all del bluetooth" : ""))
    #expect(
      openRC.commands(undoing: .stop, service).line == (isEnabled ? "rc-update add bluetooth default && " : "")
        + "rc-service bluetooth \(isStarted ? "start" : "stop")")
  }
}
