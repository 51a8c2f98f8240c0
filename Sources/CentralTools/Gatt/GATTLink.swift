// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Arguments
import Bluetooth
import Control
import EventLoop
import GATT
import Mgmt
import System
import Wire

/// A link to the device, with a client and a small server, because devices send requests too
/// (phones read the name of a central).
///
/// The owner of the transport provides `send`, and calls `receive` and `end`.
final class GATTLink {
  let target: GATTTarget
  let bearer: Bearer
  let client: Client
  /// Called once if the link ends other than by `close`.
  var onEnd: ((ATTFailure) -> Void)?
  /// Raises the security level and waits for it; nil if the transport has no security.
  var secure: (@LoopActor (GATTSecurity) async throws(Failure) -> Void)?
  /// Returns the current security; nil if it is unknown.
  var security: () -> ChannelSecurity? = { nil }
  /// Closes the transport.
  var hangUp: () -> Void = {}

  private let server: Server
  private var hasEnded = false

  /// A link that is up.
  ///
  /// - Parameters:
  ///   - mtu: the MTU of this side.
  ///   - name: the name that the device can read.
  init(to target: GATTTarget, scheduler: any Scheduler, mtu: Int, name: String, send: @escaping ([UInt8]) -> Void) {
    self.target = target
    bearer = Bearer(scheduler: scheduler, receiveMTU: mtu)
    client = Client(bearer)
    let database = AttributeDatabase()
    // A new database has room for both.
    _ = try? database.add(StandardServices.genericAccess(name: { name }))
    _ = try? database.add(StandardServices.genericAttribute())
    server = Server(bearer, database: database)
    bearer.send = send
    bearer.onDead = { [weak self] in self?.end($0) }
  }

  var isOpen: Bool { bearer.end == nil }

  /// Handles a PDU from the device.
  func receive(_ pdu: ArraySlice<UInt8>) { bearer.receive(pdu) }

  /// Ends the link; pending requests fail with `why`.
  func close(_ why: String) {
    onEnd = nil
    end(.closed(why))
  }

  /// Handles the end of the link, or of its use.
  func end(_ why: ATTFailure) {
    guard !hasEnded else { return }
    hasEnded = true
    let onEnd = onEnd
    self.onEnd = nil
    hangUp()
    bearer.close(why)
    onEnd?(why)
  }
}

extension GATTLink {
  /// A link over a connected socket of the loop, one PDU a packet.
  @LoopActor convenience init(_ packets: PacketSocket, to target: GATTTarget, mtu: Int) {
    self.init(to: target, scheduler: Loop.shared, mtu: mtu, name: Host.name) { packets.send($0) }
    hangUp = { packets.close() }
    packets.onClose = { [weak self] errno in self?.end(.closed(Self.sentence(errno))) }
    packets.onPacket = { [weak self] in self?.receive($0) }
  }

  /// A link to a server that listens on a UNIX socket.
  @LoopActor static func connect(unix path: String, mtu: Int) throws(Failure) -> GATTLink {
    do throws(SystemError) {
      return GATTLink(try PacketSocket.connect(unix: path), to: .socket(path), mtu: mtu)
    } catch {
      var failure = Failure(
        "connecting to unix:\(path)", connecting: error.errno, ifAbsent: "nobody listens there")
      if failure.status == .unavailable {
        failure.remedy = "“ancsd phone --listen unix:\(path)” plays a phone there"
      }
      throw failure
    }
  }

  private static func sentence(_ errno: Errno?) -> String {
    switch ChannelEnd(errno) {
    case .disconnected: "the device ended it"
    case .timedOut: "the device is out of range"
    case .authenticationFailed:
      "the device and this board could not pair, or not in time"
    case .keysDiffer:
      "the two sides' keys differ; remove the pairing on the device and here (“unpair”)"
    case .aborted: "the adapter was removed or switched off"
    case .other(let error): error
    }
  }
}

extension Failure {
  /// A request failed.
  ///
  /// - Parameter type: the type of an attribute, if it is known.
  init(_ what: String, _ failure: ATTFailure, _ type: (Handle) -> UUID? = { _ in nil }) {
    switch failure {
    case .refused(let refusal):
      let number = "0x" + [refusal.code.rawValue].hex.uppercased()
      let name = refusal.code.name(of: type(refusal.handle)) ?? "\(refusal.code)"
      self.init(.refused, what, name.hasSuffix(number) ? name : "\(name) (\(number))")
    case .timedOut: self.init(.tryAgain, what, "\(failure)")
    case .closed(let why): self.init(.unavailable, what, "the link was lost: \(why)")
    case .tooLong, .malformed, .protocolViolation, .cancelled:
      self.init(.refused, what, "\(failure)")
    }
  }
}

extension GATTLink {
  /// A remedy for this error; nil if unknown.
  ///
  /// - Parameter isPrompt: whether commands can be typed at a prompt.
  func remedy(_ code: ErrorCode, isPrompt: Bool) -> String? {
    switch code {
    case .insufficientAuthentication, .insufficientEncryption:
      guard secure != nil else {
        return "the device requires a secure link, and a socket can't be secured"
      }
      let option = isPrompt ? "security" : "--security"
      let level = security()?.level ?? .low
      if level < .medium { return "the device requires an encrypted link: “\(option) medium”" }
      if level < .high { return "the device requires a pairing with a passkey: “\(option) high”" }
      return "remove the pairing on the device and here (“unpair”), and pair again"
    case .encryptionKeySizeTooShort: return "the device requires a longer key than this link has"
    case .insufficientAuthorization: return "the device's user has to allow it there"
    default: return nil
    }
  }
}
