// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import System
import Wire

/// Whether an adapter's radio may send (rfkill).
public enum RadioBlock: Hashable, Sendable {
  /// It may.
  case none
  /// Software forbids it: `rfkill unblock bluetooth` allows it again.
  case soft
  /// A switch on the machine forbids it; no command helps.
  case hard
}

/// The kernel's radio switches (/dev/rfkill), told as they change: mgmt says nothing when a radio is
/// unblocked, so this is how one learns, without asking again and again, that it can be powered.
public final class RadioSwitch {
  /// Called for each Bluetooth adapter (by its number) when it is known, and when its switch changes.
  public var onChange: ((_ adapter: UInt16, RadioBlock) -> Void)?

  private let descriptor: FileDescriptor
  private var watch: Watch?
  private var adapters: [UInt32: (adapter: UInt16, block: RadioBlock)] = [:]

  /// Opens the switches. There is no such device where the kernel is built without rfkill.
  public init(loop: Loop = .shared) throws(BluetoothError) {
    descriptor = try bluetooth { () throws(SystemError) in
      try Files.open("/dev/rfkill", waits: false)
    }
    let number = descriptor.raw
    watch = try bluetooth("/dev/rfkill") { () throws(SystemError) in
      try loop.watch(number: number, for: .readable) { [unowned self] _ in read() }
    }
  }

  deinit { watch?.cancel() }

  /// What is known of an adapter's radio; nil where it has no switch.
  public func block(of adapter: UInt16) -> RadioBlock? {
    adapters.values.first { $0.adapter == adapter }?.block
  }

  /// Listens no more.
  public func close() {
    watch?.cancel()
    watch = nil
    onChange = nil
  }

  private func read() {
    while watch != nil {
      do throws(SystemError) {
        // One event a call, and of longer ones (Linux 5.11) the part that was always there.
        received(try descriptor.read(RadioEvent.size))
      } catch {
        if error.errno != .wouldBlock { close() }
        return
      }
    }
  }

  private func received(_ bytes: [UInt8]) {
    guard let event = RadioEvent(bytes) else { return close() }
    guard event.isBluetooth else { return }
    switch event.change {
    case .removed: adapters[event.index] = nil
    case .present:
      guard let adapter = adapters[event.index]?.adapter ?? name(of: event.index) else { return }
      guard adapters[event.index]?.block != event.block else { return }
      adapters[event.index] = (adapter, event.block)
      onChange?(adapter, event.block)
    }
  }

  /// The N of the hciN that a switch belongs to.
  private func name(of index: UInt32) -> UInt16? {
    let path = "/sys/class/rfkill/rfkill\(index)/name"
    guard let bytes = try? Files.read(path, limit: 64) else { return nil }
    let name = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    return name.hasPrefix("hci") ? UInt16(name.dropFirst(3)) : nil
  }
}

/// `struct rfkill_event` (linux/rfkill.h): index, 32 bits in the host's order; type (2: Bluetooth);
/// operation (0 added, 1 removed, 2 changed, 3 changed for all); soft and hard block.
struct RadioEvent: Hashable {
  enum Change { case present, removed }

  static let size = 8

  let index: UInt32
  let isBluetooth: Bool
  let change: Change
  let block: RadioBlock

  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.size else { return nil }
    index = bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
    isBluetooth = bytes[4] == 2
    change = bytes[5] == 1 ? .removed : .present
    block = bytes[7] != 0 ? .hard : bytes[6] != 0 ? .soft : .none
  }
}
