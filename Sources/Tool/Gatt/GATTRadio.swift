// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
public import EventLoop
public import Wire

/// The way to devices on the air: the kernel's Bluetooth, or in tests something else.
@LoopActor
public protocol GATTRadio: AnyObject {
  /// Asks the person a question while pairing; nil where nobody answers.
  var ask: (String) async -> String? { get set }
  /// Whether links that are made from now on may be paired with a person's help.
  var expectsPerson: Bool { get set }
  /// Tells the person something.
  var tell: (String) -> Void { get set }

  /// Connects, as the central.
  func connect(to device: DeviceAddress, mtu: Int) async throws(Failure) -> GATTLink

  /// Ends `connect`, which throws then.
  func stopConnecting()

  /// Drops the keys that the adapter has of a device, so that the two can pair anew.
  func forget(_ device: DeviceAddress) async throws(Failure)

  /// Looks for devices until it is stopped; one that is seen again may be told again.
  func scan(_ found: @escaping (FoundDevice) -> Void) async throws(Failure)

  /// Ends `scan`, which returns then.
  func stopScan()

  /// Leaves the adapter as it was found.
  func giveBack() async
}

/// The devices that a scan has found, each told once, and again when it tells more.
struct FoundDevices {
  private(set) var devices: [FoundDevice] = []

  /// Takes a report.
  ///
  /// - Returns: whether it is worth telling, and whether the device is new.
  mutating func add(_ device: FoundDevice) -> (isNews: Bool, isNew: Bool) {
    guard let place = devices.firstIndex(where: { $0.address == device.address }) else {
      devices.append(device)
      return (true, true)
    }
    let before = devices[place]
    devices[place].rssi = device.rssi ?? before.rssi
    guard device.data.count > before.data.count else { return (false, false) }
    devices[place] = device
    return (true, false)
  }
}
