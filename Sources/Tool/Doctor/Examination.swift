// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Control
import EventLoop
import Mgmt
import System
import Wire

extension BoardFacts {
  /// Looks at the board. Nothing is changed: no adapter is touched, and no phone is listened for, since
  /// the socket that listens last gets every phone.
  @LoopActor public static func gather(
    stateDirectory: String?, socket: String?
  ) async -> BoardFacts {
    var facts = BoardFacts()
    facts.kernelRelease = Host.kernelRelease
    facts.missingCapabilities = Capabilities.missing(in: text("/proc/self/status") ?? "")
    facts.radios = radios()
    facts.hasBluetoothd = BluetoothDaemon.isRunning
    facts.crypto = crypto(facts.kernelRelease)
    facts.stateDirectory = stateDirectory ?? DefaultPaths.stateDirectory
    facts.state = state(facts.stateDirectory)
    facts.clock = WallTime.now.seconds
    facts.daemon = await DaemonProbe.ask(socket.map { [$0] } ?? DefaultPaths.sockets)
    do throws(BluetoothError) {
      facts.adapters = try await adapters()
    } catch {
      facts.bluetooth = error
    }
    return facts
  }

  /// The adapters, with what they can do; reading that takes no privilege.
  @LoopActor private static func adapters() async throws(BluetoothError) -> [AdapterFacts] {
    let socket = try MgmtSocket()
    let client = MgmtClient(scheduler: Loop.shared)
    socket.attach(client)
    var found: [AdapterFacts] = []
    for index in (try? await client.readIndexList()) ?? [] {
      guard let adapter = try? await client.readControllerInformation(index) else { continue }
      found.append(
        AdapterFacts(
          index, address: adapter.address, supported: adapter.supported, current: adapter.current))
    }
    client.close(.closed("seen enough"))
    socket.close()
    return found
  }

  /// The radio switches as they stand, which everybody may read there.
  static func radios(in directory: String = "/sys/class/rfkill") -> [UInt16: RFKillState] {
    var radios: [UInt16: RFKillState] = [:]
    for entry in (try? Files.names(in: directory)) ?? [] {
      let values = ["type", "name", "soft", "hard"].map { text("\(directory)/\(entry)/\($0)") }
      guard values[0] == "bluetooth", let name = values[1], name.hasPrefix("hci"),
        let index = UInt16(name.dropFirst(3))
      else { continue }
      radios[index] = values[3] == "1" ? .hard : values[2] == "1" ? .soft : .unblocked
    }
    return radios
  }

  private static func crypto(_ release: String) -> KernelCrypto {
    let modules = ["modules.dep", "modules.builtin"].compactMap {
      text("/lib/modules/\(release)/\($0)")
    }
    return KernelCrypto(
      algorithms: text("/proc/crypto") ?? "",
      modules: modules.isEmpty ? nil : modules.joined(separator: "\n"))
  }

  static func state(_ directory: String) -> StateFacts {
    do throws(SystemError) {
      guard try Files.kind(of: directory) != nil else {
        var above = Files.parent(of: directory)
        while let path = above, try Files.kind(of: path) == nil { above = Files.parent(of: path) }
        try Files.checkAccess(above ?? "/")
        return .missing
      }
      try Files.checkAccess(directory)
      let bonds = try Files.names(in: directory).reduce(0) { count, name in
        let files = (try? Files.names(in: "\(directory)/\(name)")) ?? []
        return count + files.count { $0.hasSuffix(".bond.json") }
      }
      return .fine(bonds: bonds)
    } catch {
      return .unusable(error)
    }
  }

  /// A small file's text, without the white space around it.
  private static func text(_ path: String) -> String? {
    guard let bytes = try? Files.read(path) else { return nil }
    let blank: (UInt8) -> Bool = { $0 == 0x0A || $0 == 0x20 }
    return String(
      decoding: bytes.drop(while: blank).reversed().drop(while: blank).reversed(), as: UTF8.self)
  }
}

/// What a process may do beyond its user (capabilities(7)).
enum Capabilities {
  private static let wanted = [(12, "CAP_NET_ADMIN"), (13, "CAP_NET_RAW")]

  /// Those that the daemon needs and a process lacks, from its /proc/PID/status.
  static func missing(in status: String) -> [String] {
    let line = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }
    guard let digits = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).last,
      let bits = UInt64(digits, radix: 16)
    else { return [] }
    return wanted.filter { bits >> UInt64($0.0) & 1 == 0 }.map(\.1)
  }
}
