// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Testing
import Wire

@testable import Maintenance

@Suite("Known faults of radios")
struct KnownRadioFaultsTests {
  /// The kernel's log on a board without a usable adapter: what is found in it.
  struct Log: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var text: String
    var check: String
    var words: String
    var command: String?
    var facts: @Sendable (inout DoctorFacts) -> Void = { _ in }
  }

  static let logs = [
    Log(
      testDescription: "Raspberry Pi, without bluez-firmware",
      text: """
        [    9.803218] Bluetooth: hci0: BCM: chip id 107
        [    9.831092] Bluetooth: hci0: BCM4345C0 (003.001.025) build 0000
        [    9.868822] Bluetooth: hci0: BCM: firmware Patch file not found, tried:
        [    9.868848] Bluetooth: hci0: BCM: 'brcm/BCM4345C0.raspberrypi,4-model-b.hcd'
        [    9.868853] Bluetooth: hci0: BCM: 'brcm/BCM4345C0.hcd'
        """, check: "firmware", words: "brcm/BCM4345C0.raspberrypi", command: "apt install bluez-firmware"),
    Log(
      testDescription: "Realtek, without firmware-realtek",
      text: """
        [    6.016532] Bluetooth: hci0: RTL: examining hci_ver=0a hci_rev=000b lmp_ver=0a lmp_subver=8761
        [    6.018537] bluetooth hci0: firmware: failed to load rtl_bt/rtl8761bu_fw.bin (-2)
        [    6.018545] Bluetooth: hci0: RTL: firmware file rtl_bt/rtl8761bu_fw.bin not found
        """, check: "firmware", words: "rtl_bt/rtl8761bu_fw.bin", command: "apt install firmware-realtek"),
    Log(
      testDescription: "Intel, whose firmware was installed after the start",
      text: "[    4.1] bluetooth hci0: Direct firmware load for intel/ibt-20-1-3.sfi failed with error -2",
      check: "firmware", words: "it is there now", command: "reboot"
    ) { $0.installedFirmware = ["intel/ibt-20-1-3.sfi"] },
    Log(
      testDescription: "a UART that hangs",
      text: """
        [   11.935103] Bluetooth: hci0: BCM: Reading local name failed (-110)
        [   14.105124] Bluetooth: hci0: BCM: Reading local name failed (-110)
        """, check: "adapter", words: "did not respond when the kernel started it (-110)",
      command: "echo serial0-0 | tee /sys/bus/serial/drivers/hci_uart_bcm/unbind"
    ) { $0.serialControllers = [.init(device: "serial0-0", driver: "hci_uart_bcm")] },
    Log(
      testDescription: "a garbled UART",
      text: "[  9.8] Bluetooth: hci0: Frame reassembly failed (-84)",
      check: "adapter", words: "garbled (-84); unplug it"),
    Log(
      testDescription: "nothing of Bluetooth",
      text: "[    1.2] usb 1-1: failed to read the string descriptor, not found", check: "adapter",
      words: "there is none", command: "dmesg"),
  ]

  @Test("Each is found in the kernel's log, with what helps", arguments: logs)
  func found(log: Log) {
    var facts = DoctorFacts()
    facts.kernelLog = KernelLog(log.text)
    log.facts(&facts)
    let findings = facts.findings.filter { ["firmware", "adapter"].contains($0.check) }
    #expect(findings.count == 1)
    #expect(findings.first?.check == log.check && findings.first?.verdict != .ok)
    #expect(findings.first?.sentence.contains(log.words) == true, "\(findings)")
    if let command = log.command {
      #expect(findings.first?.command?.hasPrefix(command) == true, "\(findings)")
    }
  }

  @Test(
    "Firmware that was loaded, complaints of others, and missing files that a controller works without are no faults; one that it needs is"
  )
  func fine() {
    let log = KernelLog(
      """
      [    9.8] Bluetooth: hci0: BCM4345C0 'brcm/BCM4345C0.hcd' Patch
      [    4.1] Bluetooth: hci0: Found device firmware: intel/ibt-20-1-3.sfi
      [    5.0] brcmfmac: brcmf_fw_alloc_request: using brcm/brcmfmac43455-sdio for chip BCM4345/6
      [    6.0] i2c i2c-1: command tx timeout
      [    5.1] bluetooth hci0: Direct firmware load for rtl_bt/rtl8723b_config.bin failed with error -2
      [    5.2] bluetooth hci0: firmware: failed to load rtl_bt/rtl8723bs_config-OBDA8723.bin (-2)
      [    5.3] bluetooth hci1: Direct firmware load for intel/ibt-20-1-3.ddc failed with error -2
      """)
    #expect(log == KernelLog())
    let needed = "Bluetooth: hci0: RTL: mandatory config file rtl_bt/rtl8723ds_config not found"
    #expect(KernelLog(needed).missingFirmware == ["rtl_bt/rtl8723ds_config"])
  }

  private static func board(_ hardware: String?, losses: Int? = 0) -> DoctorFacts {
    let able: ControllerSettings = [.powered, .lowEnergy, .secureConnections]
    var facts = DoctorFacts()
    facts.adapters = [
      .init(
        index: ControllerIndex(0), address: Address(0x001A_7DDA_7113), supported: able,
        current: able, hardware: hardware)
    ]
    facts.wifiDrivers = ["brcmfmac"]
    facts.lossesOfTheDay = losses
    return facts
  }

  @Test("A controller with a complaint works, so that it is only a warning")
  func works() {
    var facts = Self.board(nil)
    facts.kernelLog = KernelLog("Bluetooth: hci0: Frame reassembly failed (-84)")
    #expect(facts.findings.filter { $0.check == "adapter" }.map(\.verdict) == [.ok, .warning])
  }

  private static let csr = "usb:v0A12p0001d8891dcE0"

  @Test(
    "A dongle that is known to be trouble is named; Wi-Fi is blamed only if links were lost, or nobody knows, and the antenna is shared",
    arguments: [
      (csr, 12, [.warning], "hci0 is a CSR8510 or one of its many copies"),
      (csr, nil, [.warning], "unless --address static gives them others"), ("usb:v2357p0604d0200", 12, [], ""),
      (nil, 4, [], ""), (nil, 12, [.warning], "12 links with phones were lost"),
      (nil, nil, [.ok], "only a history ([log] in the settings)"),
    ] as [(String?, Int?, [Finding.Verdict], String)])
  func hardware(_ name: String?, _ losses: Int?, _ verdicts: [Finding.Verdict], _ words: String) {
    let known = Self.board(name, losses: losses).knownFaults(.warning)
    #expect(known.map(\.verdict) == verdicts)
    #expect(known.allSatisfy { $0.sentence.contains(words) })
  }

  @Test("A regression that is bluetoothd's is said to be that")
  func regression() {
    var facts = Self.board(nil)
    facts.kernelRelease = "6.12.93+rpt-rpi-v8"
    let bug = facts.findings.first { $0.check == "kernel-bug" }
    #expect(bug?.verdict == .ok && bug?.sentence.contains("concerns bluetoothd") == true)
  }
}
