// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import System

/// Whether rfkill lets an adapter's radio transmit.
public enum RFKillState: Hashable, Sendable {
  /// The radio may transmit.
  case unblocked
  /// Blocked by software. `rfkill unblock bluetooth` unblocks it.
  case soft
  /// Blocked by a switch on the machine. No command unblocks it.
  case hard
}

/// The kernel's rfkill device, /dev/rfkill. mgmt does not report when a radio is unblocked
/// (docs/kernel.md, “Adapter removal and rfkill”); this does.
public final class RFKill {
  /// Called when a Bluetooth adapter appears, when its state changes, and when it is gone.
  public var onChange: () -> Void = {}

  private let descriptor: FileDescriptor
  private var watch: Watch?
  private var adapters: [UInt32: (adapter: UInt16, state: RFKillState)] = [:]

  /// Opens the device. It does not exist if the kernel is built without rfkill.
  public init() throws(BluetoothError) {
    descriptor = try bluetooth { () throws(SystemError) in
      try Files.open("/dev/rfkill", waits: false)
    }
    let number = descriptor.raw
    watch = try bluetooth("/dev/rfkill") { () throws(SystemError) in
      try Loop.shared.watch(number: number, for: .readable) { [weak self] _ in self?.read() }
    }
  }

  /// An adapter's state; nil if rfkill does not know the adapter.
  public func state(of adapter: UInt16) -> RFKillState? {
    adapters.values.first { $0.adapter == adapter }?.state
  }

  /// Stops watching the device.
  public func close() {
    watch = nil
    onChange = {}
  }

  private func read() {
    while watch != nil {
      do throws(SystemError) {
        // Each read returns one event. Newer kernels (5.11) truncate theirs to the requested size.
        receive(try descriptor.read(RFKillEvent.size))
      } catch {
        if error.errno != .wouldBlock { close() }
        return
      }
    }
  }

  private func receive(_ bytes: [UInt8]) {
    guard let event = RFKillEvent(bytes) else { return close() }
    guard event.isBluetooth else { return }
    if event.isRemoved {
      if adapters.removeValue(forKey: event.index) != nil { onChange() }
    } else if adapters[event.index]?.state != event.state,
      let adapter = adapters[event.index]?.adapter ?? adapter(of: event.index)
    {
      adapters[event.index] = (adapter, event.state)
      onChange()
    }
  }

  /// The number of the adapter that an rfkill device belongs to.
  private func adapter(of index: UInt32) -> UInt16? {
    let path = "/sys/class/rfkill/rfkill\(index)/name"
    guard let bytes = try? Files.read(path, limit: 64) else { return nil }
    let name = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    return name.hasPrefix("hci") ? UInt16(name.dropFirst(3)) : nil
  }
}

/// `struct rfkill_event` (linux/rfkill.h): index, 32 bits in host byte order; type (2: Bluetooth);
/// operation (0 added, 1 removed, 2 changed, 3 changed for all); soft and hard block.
struct RFKillEvent: Hashable {
  static let size = 8

  let index: UInt32
  let isBluetooth: Bool
  let isRemoved: Bool
  let state: RFKillState

  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.size else { return nil }
    index = bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
    isBluetooth = bytes[4] == 2
    isRemoved = bytes[5] == 1
    state = bytes[7] != 0 ? .hard : bytes[6] != 0 ? .soft : .unblocked
  }
}
