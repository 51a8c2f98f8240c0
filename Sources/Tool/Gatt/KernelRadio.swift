// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Arguments
import Control
import EventLoop
import Mgmt
import Wire

/// Devices by way of the kernel: an L2CAP socket on the channel of ATT, and mgmt for everything around it.
@LoopActor
final class KernelRadio: GATTRadio {
  var ask: (String) async -> String? = { _ in nil }
  var tell: (String) -> Void = { _ in }
  var expectsPerson = false

  private let choice: AdapterChoice?
  private var loan: CentralAdapter?
  private var scanning: Scan?
  private var connecting: Connecting?
  /// The ends of links that the kernel was told of and has not confirmed.
  private var farewells: [Task<Void, Never>] = []

  /// An attempt to connect under way.
  private final class Connecting {
    let attempt = ATTSocket.Attempt()
    /// Told once its socket is closed, or is a link.
    var onEnd: [CheckedContinuation<Void, Never>] = []
  }

  /// A scan under way.
  private final class Scan {
    var isStopped = false
    var ring: CheckedContinuation<Void, Never>?
  }

  /// A device that is there answers within a few seconds; the kernel would try for forty.
  private static let connectTime = Duration.seconds(25)

  init(_ choice: AdapterChoice?) { self.choice = choice }

  private func adapter() async throws(Failure) -> CentralAdapter {
    if let loan { return loan }
    let taken = try await CentralAdapter.take(choice)
    loan = taken
    return taken
  }

  func giveBack() async {
    // Some kernels (Debian's 6.1.0-56) do not survive a connecting socket that is closed after its
    // adapter was switched off.
    if let connecting {
      connecting.attempt.cancel()
      await withCheckedContinuation { connecting.onEnd.append($0) }
    }
    for farewell in farewells { await farewell.value }
    await loan?.giveBack()
    loan = nil
  }

  // MARK: Connecting

  func connect(to device: DeviceAddress, mtu: Int) async throws(Failure) -> GATTLink {
    let adapter = try await adapter()
    let isOurs = try await !isConnected(device, adapter)
    do throws(MgmtError) {
      if expectsPerson { try await adapter.expectPerson() }
    } catch {
      throw Failure("preparing to connect", error)
    }
    let socket: ATTSocket
    do throws(BluetoothError) {
      socket = try await open(device, adapter)
    } catch {
      var failure = Failure("connecting to \(device)", error)
      if error.kind == .link, device.type == .public {
        failure.remedy = "if its address is a random one, write \(device)/random"
      }
      throw failure
    }
    let link = GATTLink(socket.packets, to: .device(device), mtu: mtu)
    link.securityText = { [weak socket] in socket?.security()?.sentence }
    link.level = { [weak socket] in socket?.security().map { GATTSecurity($0.level) } }
    link.secure = { [unowned self, unowned link] level throws(Failure) in
      try await secure(socket, link, level, adapter)
    }
    if isOurs {
      // Merely closed, the link would stay for four seconds more.
      link.hangUp = { [weak self] in
        let peer = socket.currentPeer() ?? device
        socket.packets.close()
        self?.farewells.append(
          Loop.start { _ = try? await adapter.mgmt.call(.disconnect(peer), index: adapter.index) })
      }
    }
    return link
  }

  private func open(
    _ device: DeviceAddress, _ adapter: CentralAdapter
  ) async throws(BluetoothError) -> ATTSocket {
    let connecting = Connecting()
    self.connecting = connecting
    defer {
      if self.connecting === connecting { self.connecting = nil }
      for waiter in connecting.onEnd { waiter.resume() }
    }
    return try await ATTSocket.connect(
      to: device, from: adapter.address, timeout: Self.connectTime, attempt: connecting.attempt)
  }

  func stopConnecting() { connecting?.attempt.cancel() }

  func forget(_ device: DeviceAddress) async throws(Failure) {
    let adapter = try await adapter()
    do throws(MgmtError) {
      try await adapter.mgmt.call(.unpairDevice(device, disconnect: true), index: adapter.index)
    } catch {
      if error.status == .notPaired {
        throw Failure(.refused, "unpair \(device)", "the adapter has no key of it")
      }
      throw Failure("unpair \(device)", error)
    }
  }

  /// Whether the device is connected already: then its link is somebody else's.
  private func isConnected(
    _ device: DeviceAddress, _ adapter: CentralAdapter
  ) async throws(Failure) -> Bool {
    do throws(MgmtError) {
      return try await adapter.mgmt.getConnections(adapter.index).contains(device)
    } catch {
      throw Failure("asking for the adapter's links", error)
    }
  }

  private func secure(
    _ socket: ATTSocket, _ link: GATTLink, _ level: GATTSecurity, _ adapter: CentralAdapter
  ) async throws(Failure) {
    let pairing = CentralPairing(adapter, ask: ask, tell: tell)
    do throws(MgmtError) {
      try await adapter.prepareForPairing()
    } catch {
      throw Failure("preparing to pair", error)
    }
    defer { pairing.end() }
    let wanted: SecurityLevel = level == .high ? .high : .medium
    do throws(BluetoothError) {
      if try socket.setSecurity(wanted) == .reached { return }
    } catch {
      throw Failure("securing the link", error)
    }
    try await pairing.wait(for: wanted, on: socket)
  }

  // MARK: Scanning

  func scan(_ found: @escaping (FoundDevice) -> Void) async throws(Failure) {
    let adapter = try await adapter()
    let scan = Scan()
    scanning = scan
    defer { scanning = nil }
    adapter.onEvent = { event in
      switch event {
      case .deviceFound(let device, let rssi, let flags, let data) where device.type != .classic:
        found(
          FoundDevice(
            address: device, rssi: rssi, isConnectable: !flags.contains(.notConnectable),
            data: data))
      case .discovering(false):
        scan.ring?.resume()
        scan.ring = nil
      default: break
      }
    }
    defer { adapter.onEvent = { _ in } }
    // The kernel looks for ten seconds at a time.
    while !scan.isStopped {
      do throws(MgmtError) {
        try await adapter.mgmt.call(.startDiscovery, index: adapter.index)
      } catch {
        throw Failure("scan", error)
      }
      if !scan.isStopped { await withCheckedContinuation { scan.ring = $0 } }
    }
    _ = try? await adapter.mgmt.call(.stopDiscovery, index: adapter.index)
  }

  func stopScan() {
    scanning?.isStopped = true
    scanning?.ring?.resume()
    scanning?.ring = nil
  }
}

extension GATTSecurity {
  /// What the kernel's level is called here.
  fileprivate init(_ level: SecurityLevel) {
    self = level >= .high ? .high : level >= .medium ? .medium : .low
  }
}

extension ChannelSecurity {
  /// As people read it.
  fileprivate var sentence: String {
    switch level {
    case .low: "not encrypted"
    case .medium: "encrypted, with a key of \(keySize) bytes from an unauthenticated pairing"
    case .high: "encrypted, with a key of \(keySize) bytes from an authenticated pairing"
    case .fips: "encrypted, with a key of 16 bytes from an authenticated Secure Connections pairing"
    default: "at level \(level.rawValue)"
    }
  }
}
