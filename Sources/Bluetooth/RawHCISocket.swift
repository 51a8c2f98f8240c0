// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import EventLoop
import System
import Wire

/// The way past the kernel's host to the controller of one adapter, for what mgmt and L2CAP have no
/// words for: the connection parameters of a live link. It takes CAP_NET_RAW.
public final class RawHCISocket {
  /// Called with each event of the kinds that `HCIEvent` names, the answers to the kernel's own
  /// commands among them.
  public var onEvent: ((HCIEvent) -> Void)?
  /// Called once when the adapter is gone.
  public var onClose: ((Errno?) -> Void)? {
    get { packets.onClose }
    set { packets.onClose = newValue }
  }

  private let packets: PacketSocket
  private let loop: Loop
  private var waiters: [UInt64: (opcode: UInt16, answer: ([UInt8]?) -> Void)] = [:]
  private var lastWaiter: UInt64 = 0

  /// Opens the adapter with that number: 0 for hci0.
  public init(_ adapter: UInt16, loop: Loop = .shared) throws(BluetoothError) {
    let descriptor = try HCISocket.open(channel: Int32(HCI_CHANNEL_RAW), device: adapter)
    try bluetooth("hci\(adapter)") { () throws(SystemError) in
      // Without a filter, nothing comes. Events only, and of these the three that HCIEvent reads.
      var filter = hci_filter()
      filter.type_mask = 1 << UInt32(HCI_EVENT_PKT)
      filter.event_mask = (1 << 0x0E | 1 << 0x0F, 1 << (0x3E - 32))
      try Syscall.setOption(descriptor.raw, SOL_HCI, HCI_FILTER, filter)
    }
    self.loop = loop
    packets = PacketSocket(owning: descriptor, loop: loop)
    packets.onPacket = { [unowned self] in received($0) }
  }

  deinit { close() }

  /// Sends a command; false where the kernel did not take it.
  @discardableResult
  public func send(_ command: HCICommand) -> Bool { packets.send(command.bytes) }

  /// Sends a command that is answered by Command Complete, and waits for its return parameters, which
  /// begin with the status; nil where none came within a second, or the controller refused it.
  public func call(_ command: HCICommand) async -> [UInt8]? {
    lastWaiter += 1
    let waiter = lastWaiter
    var timer: TimerID?
    let returned = await withCheckedContinuation {
      (resumed: CheckedContinuation<[UInt8]?, Never>) in
      waiters[waiter] = (command.opcode, { resumed.resume(returning: $0) })
      guard send(command) else { return answer(waiter, nil) }
      timer = loop.schedule(after: .seconds(1)) { [weak self] in self?.answer(waiter, nil) }
    }
    if let timer { loop.cancel(timer) }
    return returned
  }

  /// The strength of a link's signal, in dBm.
  public func rssi(_ handle: UInt16) async -> Int8? {
    guard let returned = await call(.readRSSI(handle)) else { return nil }
    var reader = ByteReader(returned)
    guard (try? reader.u8()) == 0, (try? reader.u16()) == handle, let value = try? reader.i8(),
      value != 127
    else { return nil }
    return value
  }

  /// Closes the socket; whoever waits for an answer gets none.
  public func close() {
    packets.close()
    for waiter in waiters.keys { answer(waiter, nil) }
  }

  private func received(_ packet: [UInt8]) {
    guard let event = try? HCIEvent(decoding: packet) else { return }
    switch event {
    case .commandComplete(let opcode, let returned): answer(opcode: opcode, returned)
    case .commandStatus(let opcode, let status) where status != 0: answer(opcode: opcode, nil)
    default: break
    }
    onEvent?(event)
  }

  private func answer(opcode: UInt16, _ returned: [UInt8]?) {
    let waiter = waiters.filter { $0.value.opcode == opcode }.keys.min()
    if let waiter { answer(waiter, returned) }
  }

  private func answer(_ waiter: UInt64, _ returned: [UInt8]?) {
    waiters.removeValue(forKey: waiter)?.answer(returned)
  }
}
