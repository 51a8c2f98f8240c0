// SPDX-License-Identifier: GPL-3.0-or-later
import System
import Wire

/// Faults of radios, firmware and kernels that others have met, as data: how each shows itself, and what helps. Each
/// line names its source. (The addresses of controllers without one of their own are with `Address.isPlaceholder`.)
enum KnownRadioFaults {
  /// Debian's packages with the firmware of Bluetooth controllers, by the beginnings of the files' names (the lists of
  /// contents of `non-free-firmware` in Debian 12 and 13).
  static let firmware: [(prefix: String, package: String)] = [
    ("brcm/BCM", "bluez-firmware"), ("rtl_bt/", "firmware-realtek"), ("intel/ibt", "firmware-iwlwifi"),
    // Debian 12 has it in firmware-misc-nonfree.
    ("mediatek/BT", "firmware-mediatek"), ("mediatek/mt", "firmware-mediatek"), ("ar3k/", "firmware-atheros"),
    ("qca/", "firmware-atheros"),
  ]

  /// Files that most controllers work without, although the kernel complains when they are missing: settings of Realtek's
  /// firmware (lwfinger/rtlwifi_new 158) and of Intel's (Linux, drivers/bluetooth/btintel.c). A driver that needs one of them
  /// names it without its extension.
  static func isOptional(_ firmware: some StringProtocol) -> Bool {
    firmware.hasSuffix(".ddc") || firmware.hasSuffix(".bin") && firmware.contains(text: "_config")
  }

  /// A complaint in the kernel's log.
  struct Complaint: Hashable, Sendable {
    /// What the line contains, after `Bluetooth: `.
    let text: String
    /// A sentence without its full stop.
    let sentence: String
    /// Whether a new start of the controller helps.
    let isHang: Bool
  }

  static let complaints = [
    // raspberrypi/linux 6462 (one boot in ten on a Zero 2 W) and 5460, home-assistant/operating-system 4934
    Complaint(
      text: "Reading local name failed (-110)",
      sentence: "the controller did not respond when the kernel started it (-110)", isHang: true),
    Complaint(text: "tx timeout", sentence: "the controller stopped responding to the kernel's commands", isHang: true),
    // raspberrypi/linux 6462, meta-raspberrypi 1606
    Complaint(
      text: "Frame reassembly failed (-84)",
      sentence: "what the controller sends over its serial line is garbled (-84)", isHang: true),
    // Linux, drivers/bluetooth/btrtl.c; bluetooth-next 708
    Complaint(
      text: "RTL: unknown IC info",
      sentence: "this kernel does not know the Realtek controller, which runs without its firmware; "
        + "a newer kernel may", isHang: false),
    // Linux, drivers/bluetooth/btusb.c
    Complaint(
      text: "CSR: Unbranded CSR clone detected",
      sentence:
        "the controller is a copy of CSR's; some of them stop advertising after a connection",
      isHang: false),
  ]

  /// USB devices that are known to be trouble, as in `usb:v0A12p0001`.
  static let devices = [
    // mynewt-nimble 1465; Linux, drivers/bluetooth/btusb.c (BTUSB_CSR). One address: noble (abandonware) 237,
    // USB_Host_Shield_2.0 432, ScpToolkit 506
    "usb:v0A12p0001":
      "a CSR8510 or one of its many copies, some of which stop advertising after a connection, and many of "
      + "which have the same address, such as 00:1A:7D:DA:71:13: two boards with one address are one accessory to a "
      + "phone, unless --address static gives them others",
    // blueferry 144
    "usb:v0BDAp8771": "an RTL8761BU, with which others have failed where a TP-Link UB500 worked",
  ]

  /// Kernels whose regression concerns bluetoothd (raspberrypi/linux 7473).
  static let bluetoothdRegressions = [KernelVersion(6, 12, 93), KernelVersion(6, 18, 34)]

  /// The drivers of Wi-Fi that shares its antenna with Bluetooth on a serial line (RPi-Distro/bluez-firmware 6, 8, 9, 12,
  /// 13; raspberrypi/linux 1444, 1552).
  static let antennaSharers: Set<String> = ["brcmfmac"]
}

/// What the kernel's log says about radios.
struct KernelLog: Hashable, Sendable {
  /// Firmware files that the kernel did not find.
  private(set) var missingFirmware: [String] = []
  private(set) var complaints: [KnownRadioFaults.Complaint] = []

  init() {}

  /// Reads the log as dmesg prints it.
  init(_ text: String) {
    for line in text.split(whereSeparator: \.isNewline) {
      let words = line.split { " '\",".contains($0) }
      let isFailure = ["not found", "failed", "Failed"].contains { line.contains(text: $0) }
      // “BCM: 'brcm/BCM4345C0.hcd'” follows “BCM: firmware Patch file not found, tried:”.
      if isFailure || line.contains(text: "BCM: '") {
        let files = words.filter { word in
          KnownRadioFaults.firmware.contains { word.hasPrefix($0.prefix) }
            && !KnownRadioFaults.isOptional(word)
        }
        missingFirmware += files.map(String.init).filter { !missingFirmware.contains($0) }
      }
      guard line.contains(text: "Bluetooth: ") else { continue }
      complaints += KnownRadioFaults.complaints.filter {
        line.contains(text: $0.text) && !complaints.contains($0)
      }
    }
  }
}

extension DoctorFacts {
  /// What others know of faults that this board shows.
  ///
  /// - Parameter verdict: whether the faults of controllers keep the board from working.
  func knownFaults(_ verdict: Finding.Verdict) -> [Finding] {
    missingFirmware(verdict) + complaints(verdict) + devices + antenna
  }

  private func missingFirmware(_ verdict: Finding.Verdict) -> [Finding] {
    KnownRadioFaults.firmware.compactMap { entry in
      let files = kernelLog.missingFirmware.filter { $0.hasPrefix(entry.prefix) }
      guard let first = files.first else { return nil }
      if files.contains(where: installedFirmware.contains) {
        return Finding(
          "firmware", verdict,
          "the kernel did not find the controller's firmware (\(first)) when it started, and it is there now",
          command: "reboot")
      }
      return Finding(
        "firmware", verdict,
        "the kernel does not find the controller's firmware (\(first)); Debian has it in its component "
          + "non-free-firmware", command: "apt install \(entry.package)")
    }
  }

  private func complaints(_ verdict: Finding.Verdict) -> [Finding] {
    kernelLog.complaints.map { complaint in
      guard complaint.isHang else { return Finding("adapter", .warning, complaint.sentence) }
      if let uart = serialControllers.first {
        let driver = "/sys/bus/serial/drivers/\(uart.driver)"
        return Finding(
          "adapter", verdict, "\(complaint.sentence); the driver can restart it",
          command: "echo \(uart.device) | tee \(driver)/unbind \(driver)/bind")
      }
      return Finding("adapter", verdict, "\(complaint.sentence); unplug it and plug it in again, or restart the board")
    }
  }

  private var devices: [Finding] {
    adapters.compactMap { adapter in
      guard let hardware = adapter.hardware,
        let device = KnownRadioFaults.devices.first(where: { hardware.hasPrefix($0.key) })
      else { return nil }
      return Finding("adapter", .warning, "\(adapter.index) is \(device.value)")
    }
  }

  /// How many lost links in a day are worth a remark.
  private static let manyLosses = 5

  /// Whether an adapter uses the same antenna as the board's Wi-Fi.
  var sharesAntenna: Bool {
    !wifiDrivers.isDisjoint(with: KnownRadioFaults.antennaSharers)
      && adapters.contains { $0.hardware?.hasPrefix("usb:") != true }
  }

  private var antenna: [Finding] {
    guard sharesAntenna else { return [] }
    guard let losses = lossesOfTheDay else {
      return [
        Finding(
          "wifi", .ok,
          "the board's Wi-Fi uses the same antenna; only a history ([log] in the settings) shows whether links are lost"
        )
      ]
    }
    guard losses >= Self.manyLosses else { return [] }
    return [
      Finding(
        "wifi", .warning,
        "\(losses) links with phones were lost in the last day, and the board's Wi-Fi uses the same antenna: "
          + "5 GHz, a network cable or a USB adapter for Bluetooth may help")
    ]
  }
}
