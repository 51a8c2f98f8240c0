// SPDX-License-Identifier: GPL-3.0-or-later
import System
import Testing
import Wire

@testable import Bluetooth

@Suite("Bluetooth sockets and addresses")
struct BluetoothTests {
  @Test("An L2CAP address has the layout of the kernel's structure")
  func l2cap() throws {
    let device = try #require(DeviceAddress("AA:BB:CC:DD:EE:01/random"))
    let bytes = L2CAPAddress(device).bytes
    #expect(bytes.dropFirst(2).hex == "000001eeddccbbaa04000200")
    #expect(bytes.prefix(2).elementsEqual(hostOrder(31)))
    #expect(L2CAPAddress(bytes)?.device == device)
    // The kernel may leave out the padding.
    #expect(L2CAPAddress(Array(bytes.prefix(13)))?.device == device)
  }

  @Test("An address of another family or type, or a truncated one, is rejected")
  func notL2CAP() {
    let bytes = L2CAPAddress(DeviceAddress(Address(1), .public)).bytes
    #expect(L2CAPAddress([]) == nil)
    #expect(L2CAPAddress(Array(bytes.prefix(12))) == nil)
    #expect(L2CAPAddress(hostOrder(1) + bytes.dropFirst(2)) == nil)
    #expect(L2CAPAddress(bytes.prefix(12) + [9, 0]) == nil)
  }

  @Test("An HCI address has device and channel")
  func hci() {
    #expect(
      HCISocket.address(of: 3, 2) == hostOrder(31) + hostOrder(2) + hostOrder(3))
    #expect(HCISocket.address(of: 2, 0xFFFF) == hostOrder(31) + hostOrder(0xFFFF) + hostOrder(2))
  }

  @Test(
    "Kernels with the silent link bug are recognised by their release and their build",
    arguments: [
      ("6.1.0-56-amd64", "", true), ("6.1.0-47-amd64", "", false), ("6.1.192", "", true),
      ("6.1.170-v8+", "", false), ("6.1.192-rpi4", "", true), ("6.12.117+deb12-amd64", "", false),
      ("5.15.0-100-generic", "", false), ("", "", false), ("6.1", "", false),
      ("6.1.0-56-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-11-01)", true),
      ("6.1.0-47-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.170-1 (2026-06-01)", false),
      ("6.1.0-rpi8-rpi-v8", "#1 SMP PREEMPT Debian 1:6.1.73-1+rpt1 (2024-01-25)", false),
    ])
  func silentLink(release: String, build: String, isDangerous: Bool) {
    #expect(SilentLink.isDangerous(KernelVersion(release: release, build: build)) == isDangerous)
  }

  @Test(
    "Errors say what to do",
    arguments: [
      (97, "modprobe bluetooth"), (93, "CONFIG_BT_LE"), (1, "CAP_NET_ADMIN"),
      (13, "CAP_NET_RAW"), (19, "rfkill"), (112, "in range"), (110, "in range"),
      (38, "pair again"), (22, "EINVAL"),
    ] as [(Int32, String)])
  func errors(number: Int32, remedy: String) {
    let error = BluetoothError(SystemError("socket", Errno(rawValue: number)))
    #expect(error.description.contains(remedy))
    #expect(error.isUnsupported == [97, 93].contains(number))
    #expect(error.isNotPermitted == [1, 13].contains(number))
  }

  @Test(
    "A kernel without Bluetooth is an error that says so, for every socket",
    .enabled(if: (try? Files.kind(of: "/sys/class/bluetooth")) == nil, "this kernel has Bluetooth"))
  func withoutBluetooth() {
    let unsupported = BluetoothError(SystemError("socket", .addressFamilyNotSupported))
    #expect(throws: unsupported) { try MgmtSocket() }
    #expect(throws: unsupported) { try ATTListener() }
    #expect(throws: unsupported) { try MonitorSocket() }
  }
}

@Suite("bluetoothd among the processes")
struct BluetoothDaemonTests {
  private func status(
    _ name: String = "bluetoothd", state: String = "S (sleeping)", user: Int = 0, capabilities: String
  ) -> [UInt8] {
    Array(
      """
      Name:\t\(name)
      Umask:\t0022
      State:\t\(state)
      Uid:\t\(user)\t\(user)\t\(user)\t\(user)
      CapPrm:\t000001ffffffffff
      CapEff:\t\(capabilities)

      """.utf8)
  }

  @Test(
    "It is one of root's, or has CAP_NET_ADMIN where this process would have it",
    arguments: [
      ("bluetoothd", "S (sleeping)", 0, "0000000000003000", true, true),
      ("bluetoothd", "S (sleeping)", 0, "0000000000000000", true, true),
      ("bluetoothd", "S (sleeping)", 110, "0000000000003000", true, true),
      ("bluetoothd", "S (sleeping)", 110, "000001ffffffffff", false, false),
      ("bluetoothd", "S (sleeping)", 1000, "0000000000000000", true, false),
      ("bluetoothd", "Z (zombie)", 0, "0000000000003000", true, false),
      ("bluetooth", "S (sleeping)", 0, "0000000000003000", true, false),
    ])
  func isMeant(
    _ name: String, _ state: String, _ user: Int, _ capabilities: String, _ isOurs: Bool,
    _ isMeant: Bool
  ) {
    let status = status(name, state: state, user: user, capabilities: capabilities)
    #expect(BluetoothDaemon.isMeant(status: status, sharesNamespace: isOurs) == isMeant)
  }

  @Test("An empty status claims nothing", arguments: ["", "Name:\tbluetoothd\n"])
  func empty(status: String) {
    #expect(!BluetoothDaemon.isMeant(status: Array(status.utf8), sharesNamespace: true))
  }
}
