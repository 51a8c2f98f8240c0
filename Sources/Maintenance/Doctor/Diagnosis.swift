// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Control
import ControlClients
import Mgmt
import System
import Wire

extension DoctorFacts {
  /// The conclusions, causes before their effects.
  var findings: [Finding] {
    [kernel] + (bluetooth == nil ? [permission] + adapterFindings : [])
      + [bluetoothdFinding, secureConnections, silentLinks, stateFinding]
      + daemonFindings + [clockFinding]
  }

  /// Whether a daemon is running and responding, so it has what it needs.
  private var isServed: Bool { if case .status = daemon { true } else { false } }

  private var kernel: Finding {
    guard let bluetooth else {
      return Finding("kernel", .ok, "it has Bluetooth (\(kernelRelease))")
    }
    if bluetooth.isUnsupported {
      return Finding("kernel", .problem, "\(bluetooth)", command: "modprobe bluetooth")
    }
    return Finding(
      "kernel", .problem, "its Bluetooth can't be opened: \(bluetooth)", isPermission: bluetooth.isNotPermitted)
  }

  private var permission: Finding {
    if missingCapabilities.isEmpty {
      return Finding("permission", .ok, "this user may manage Bluetooth")
    }
    let missing = missingCapabilities.joined(separator: " and ")
    if isServed {
      return Finding("permission", .ok, "the daemon has what this user lacks (\(missing))")
    }
    return Finding(
      "permission", .problem,
      "this user may not manage Bluetooth: it lacks \(missing); the daemon runs as root, or by its unit",
      command: "sudo ancsd doctor", isPermission: true)
  }

  // MARK: Adapters

  private var adapterFindings: [Finding] {
    if adapters.isEmpty, unconfigured.isEmpty {
      let known = knownFaults(.problem)
      guard known.isEmpty else { return known }
      return [
        Finding(
          "adapter", .problem, "there is none: plug one in, or find out what happened to the built-in one",
          command: "dmesg | grep -i bluetooth")
      ]
    }
    let each =
      adapters.map { [finding(about: $0)] + radio(of: $0) }
      + unconfigured.sorted { $0.key < $1.key }.map {
        [finding(about: $0.key, needsOnlyAddress: $0.value)]
      }
    // One usable adapter is enough.
    let isAnyUsable = each.contains { $0.allSatisfy { $0.verdict == .ok } }
    let findings = each.joined().map { finding in
      var finding = finding
      if isAnyUsable, finding.verdict == .problem { finding.verdict = .warning }
      return finding
    }
    return findings + knownFaults(.warning)
  }

  private func finding(about adapter: AdapterFacts) -> Finding {
    let name = "\(adapter.index) \(adapter.address)"
    guard adapter.supported.contains(.lowEnergy) else {
      return Finding("adapter", .problem, "\(name) has no Bluetooth LE: use a different adapter")
    }
    guard adapter.supported.contains(.secureConnections) else {
      return Finding(
        "adapter", .problem,
        "\(name) has Bluetooth LE without Secure Connections: phones could only use legacy pairing",
        command: "ancsd --\(adapter.index) --allow-legacy")
    }
    if adapter.address.isPlaceholder {
      return Finding(
        "adapter", .ok,
        "\(adapter.index) has no valid address (\(adapter.address)); the daemon gives it one and keeps it")
    }
    let power = adapter.current.contains(.powered) ? "switched on" : "switched off until the daemon serves it"
    return Finding("adapter", .ok, "\(name) has Bluetooth LE and Secure Connections; \(power)")
  }

  private func finding(about index: ControllerIndex, needsOnlyAddress: Bool) -> Finding {
    guard needsOnlyAddress else {
      return Finding(
        "adapter", .problem, "\(index) is unconfigured, and needs a tool from its vendor",
        command: "dmesg | grep -i bluetooth")
    }
    return Finding(
      "adapter", .ok, "\(index) is unconfigured, for lack of a valid address; the daemon gives it one and keeps it")
  }

  private func radio(of adapter: AdapterFacts) -> [Finding] {
    let block = "\(adapter.index) is blocked by"
    return switch radios[adapter.index.value] {
    case .soft:
      [Finding("radio", .problem, "\(block) software", command: "rfkill unblock bluetooth")]
    case .hard:
      [Finding("radio", .problem, "\(block) a hardware switch")]
    case nil, .unblocked: []
    }
  }

  // MARK: Everything around

  private var bluetoothdFinding: Finding {
    let start = host.daemon.map { host.commands(to: .start, $0) } ?? []
    let service = host.bluetooth
    let stop = service.map { host.commands(to: .stop, $0) } ?? []
    guard let bluetoothd else {
      guard service?.isEnabled == true else {
        return Finding("bluetoothd", .ok, "it is not running")
      }
      return Finding(
        "bluetoothd", .warning, "it is not running, but the next boot may start it instead of ancsd",
        command: (stop + start).line)
    }
    let isService = service?.isStarted == true
    return Finding(
      "bluetoothd", .problem,
      "it is running, and takes every phone's connection\(isService ? "" : "; no service has started it"); "
        + "to use ancsd instead", command: ((isService ? stop : [["kill", "\(bluetoothd)"]]) + start).line)
  }

  private var secureConnections: Finding {
    if crypto.hasP256 == true { return Finding("crypto", .ok, "the kernel has P-256 for pairing") }
    if let missing = crypto.missing, !missing.isEmpty {
      return Finding(
        "crypto", .problem,
        "the kernel lacks \(missing.joined(separator: ", ")), without which its P-256 fails its self-"
          + "test, and so does pairing by Secure Connections: install all of the kernel's modules")
    }
    let isNeeded = adapters.contains { $0.current.isSuperset(of: [.powered, .lowEnergy]) }
    if crypto.hasP256 == false || isNeeded {
      return Finding(
        "crypto", .problem,
        "the kernel's P-256 is missing or failed its self-test, so phones can't pair by Secure "
          + "Connections; load the modules that it needs, then replug the adapter or reboot",
        command: KernelCrypto.command)
    }
    if crypto.missing == nil {
      return Finding(
        "crypto", .warning, "the kernel shows whether it has P-256 for pairing only once an adapter is switched on")
    }
    return Finding("crypto", .ok, "the modules for P-256 are available, and are loaded when pairing needs them")
  }

  private var silentLinks: Finding {
    let kernel = KernelVersion(release: kernelRelease, build: kernelBuild)
    guard SilentLink.isDangerous(kernel) else {
      let isKnown = KnownRadioFaults.bluetoothdRegressions.contains { $0 == kernel }
      return Finding(
        "kernel-bug", .ok,
        isKnown
          ? "this kernel's fault with Bluetooth (\(kernelRelease)) concerns bluetoothd, not ancsd"
          : "no known bug in this kernel")
    }
    return Finding(
      "kernel-bug", .warning,
      "this kernel (\(kernelRelease)) has a bug: it crashes on closing a link on which the phone never sent a byte; "
        + "the daemon leaves such links open, so reboot the board now and then; other kernels "
        + "(6.1.170, 6.12.117) do not have the bug",
      command: "apt install -t bookworm-backports linux-image-$(dpkg --print-architecture)")
  }

  private var stateFinding: Finding {
    switch state {
    case .fine(let bonds, let unusable) where !unusable.isEmpty:
      return Finding(
        "state", bonds == 0 ? .problem : .warning,
        "bonds of this board can't be used (\(unusable.joined(separator: ", "))), so no phone can pair "
          + "without “ancsd pair”; make the phone forget this board, pair again, and remove those files",
        command: "ancsd pair")
    case .fine(let bonds, _):
      let phones = bonds == 1 ? "1 phone is" : "\(bonds) phones are"
      return Finding("state", .ok, "\(stateDirectory) is usable; \(phones) bonded")
    case .missing:
      return Finding("state", .ok, "\(stateDirectory) does not exist yet; the daemon creates it")
    case .unusable(let error) where error.errno == .permissionDenied:
      if isServed { return Finding("state", .ok, "\(stateDirectory) is in use by the daemon") }
      return Finding(
        "state", .problem, "\(stateDirectory) is not this user's: \(error); --state-dir DIR names another",
        command: "sudo ancsd doctor", isPermission: true)
    case .unusable(let error):
      return Finding(
        "state", .problem, "bonds can't be saved in \(stateDirectory): \(error); --state-dir DIR names another")
    case .refused(let fault):
      let failure = Failure(in: stateDirectory, fault)
      // A daemon running as that user has no problem with it.
      return Finding(
        "state", isServed ? .ok : .problem,
        "\(stateDirectory): \(failure.why)\(failure.remedy.map { "; " + $0 } ?? "")")
    }
  }

  private func findings(about bridge: BridgeReport) -> [Finding] {
    let who = "as “\(bridge.user ?? bridge.client)”"
    let isConnected = bridge.state == .connected
    let how = isConnected ? "is connected to" : "is not connected to"
    let why = bridge.why.map { ": \($0)" } ?? ""
    var findings = [
      Finding(
        "mqtt", isConnected ? .ok : .warning, "the bridge \(how) \(bridge.broker) \(who)\(isConnected ? "" : why)")
    ]
    if !bridge.refused.isEmpty {
      findings.append(
        Finding(
          "mqtt", .warning, "the broker refuses \(bridge.refused.joined(separator: ", ")); the bridge's log says why"))
    }
    return findings
  }

  private func finding(about forward: ForwardReport) -> Finding {
    let state = forward.why ?? "\(forward.sent) sent"
    return Finding("forward", forward.why == nil ? .ok : .warning, "\(forward.shown): \(state)")
  }

  /// No daemon is running.
  private var absence: Finding {
    guard let service = host.daemon else {
      return Finding("daemon", .warning, "none is running", command: "ancsd --hci0")
    }
    guard service.isStarted else {
      return Finding(
        "daemon", .warning, "none is running: the service is stopped", command: host.commands(to: .start, service).line)
    }
    return Finding(
      "daemon", .warning, "none is running, although the service is started", command: host.log(of: service))
  }

  private var daemonFindings: [Finding] {
    switch daemon {
    case .none: return [absence]
    case .closed(let path):
      return [
        Finding(
          "daemon", .problem, "one is running at \(path), but refuses this user: join its group, then log in again",
          command: host.admitting("$USER"), isPermission: true)
      ]
    case .mute(let path):
      let isService = host.daemon?.isStarted == true
      return [
        Finding(
          "daemon", .problem, "one is running at \(path), but does not respond",
          command: isService ? host.daemon.flatMap { host.commands(to: .restart, $0).line } : nil)
      ]
    case .status(let report):
      let waits = report.waits.map { wait in
        let subject = [wait.adapter, wait.phone?.description].compactMap { $0 }
        return Finding("daemon", wait.isFine ? .ok : .warning, (subject + [wait.why]).joined(separator: ": "))
      }
      let refusals = report.adapters.compactMap { adapter in
        adapter.parametersRefusalText.map {
          Finding("parameters", .warning, "\(adapter.adapter): \($0); a newer adapter can")
        }
      }
      return [Finding("daemon", .ok, "version \(report.version) is running")] + waits
        + refusals + report.bridges.flatMap { findings(about: $0) }
        + report.forwards.map { finding(about: $0) }
    }
  }

  private var clockFinding: Finding {
    // A time before this program was written: boards without a battery start in 1970.
    guard clock < 1_750_000_000 else { return Finding("clock", .ok, "it has been set") }
    return Finding(
      "clock", .warning,
      "it is wrong, and so are the times of events: it shows the year "
        + "\(WallTime(seconds: clock).rfc3339.prefix(4))", command: "timedatectl set-ntp true")
  }
}
