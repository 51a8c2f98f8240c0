// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Arguments
import Bluetooth
public import Control
public import EventLoop
import GATT
import System
import Wire

/// A link to the device, with both ends of the protocol on this side: the client that asks, and a small
/// server, since devices ask too (phones read the name of whoever connects).
///
/// What carries the PDUs is its owner's: `send` takes them, `receive` and `end` bring what comes.
public final class GATTLink {
  /// Who is at the other end.
  public let target: GATTTarget
  let bearer: Bearer
  let client: Client
  /// Told once when the link has ended other than by `close`.
  var onEnd: ((ATTFailure) -> Void)?
  /// Asks for a level of security and waits until it is there; nil where the link is what it is.
  public var secure: (@LoopActor (GATTSecurity) async throws(Failure) -> Void)?
  /// How the link is secured now, in words; nil where nobody knows.
  public var securityText: () -> String? = { nil }
  /// How the link is secured now; nil where nobody knows.
  public var level: () -> GATTSecurity? = { nil }
  /// Ends what carries the link.
  public var hangUp: () -> Void = {}

  private let server: Server
  private var hasEnded = false

  /// A link that is up.
  ///
  /// - Parameters:
  ///   - mtu: what this side offers.
  ///   - name: what the device reads as this side's name.
  init(
    to target: GATTTarget, scheduler: any Scheduler, mtu: Int, name: String,
    send: @escaping ([UInt8]) -> Void
  ) {
    self.target = target
    bearer = Bearer(scheduler: scheduler, receiveMTU: mtu)
    client = Client(bearer)
    let database = AttributeDatabase()
    // A new database takes them.
    _ = try? database.add(StandardServices.genericAccess(name: { name }))
    _ = try? database.add(StandardServices.genericAttribute())
    server = Server(bearer, database: database)
    bearer.send = send
    bearer.onDead = { [weak self] in self?.end($0) }
  }

  /// Whether it is still there.
  var isOpen: Bool { bearer.end == nil }

  /// Takes a PDU from the device.
  func receive(_ pdu: [UInt8]) { bearer.receive(pdu) }

  /// Ends the link; whoever waits for an answer on it gets `why`.
  public func close(_ why: String) {
    onEnd = nil
    end(.closed(why))
  }

  /// The link has ended, or is of no use any more.
  func end(_ why: ATTFailure) {
    guard !hasEnded else { return }
    hasEnded = true
    let told = onEnd
    onEnd = nil
    hangUp()
    bearer.close(why)
    told?(why)
  }
}

extension GATTLink {
  /// A link over a connected socket of the loop, one PDU a packet.
  @LoopActor
  public convenience init(_ packets: PacketSocket, to target: GATTTarget, mtu: Int) {
    self.init(to: target, scheduler: Loop.shared, mtu: mtu, name: Host.name) { packets.send($0) }
    hangUp = { packets.close() }
    packets.onClose = { [weak self] errno in self?.end(.closed(Self.sentence(errno))) }
    packets.onPacket = { [weak self] in self?.receive($0) }
  }

  /// A link to whoever listens on a UNIX socket.
  @LoopActor
  public static func connect(unix path: String, mtu: Int) throws(Failure) -> GATTLink {
    do throws(SystemError) {
      return GATTLink(try PacketSocket.connect(unix: path), to: .socket(path), mtu: mtu)
    } catch {
      let what = "connecting to unix:\(path)"
      throw switch error.errno {
      case .noSuchFile, .connectionRefused: Failure(.unavailable, what, "nobody listens there")
      case .permissionDenied, .notPermitted: Failure(.noPermission, what, error.errno.text)
      case .wouldBlock: Failure(.tryAgain, what, "it is too busy to answer")
      default: Failure(.unavailable, what, error.errno.text)
      }
    }
  }

  private static func sentence(_ errno: Errno?) -> String {
    switch ChannelEnd(errno) {
    case .disconnected: "the device ended it"
    case .timedOut: "the device is not heard any more"
    case .authenticationFailed:
      "the device and this board could not pair, or did not within the time"
    case .keysDiffer:
      "the two sides' keys differ; forget the pairing on the device and here, by “unpair”"
    case .adapterGone: "the adapter is gone or was switched off"
    case .other(let errno): "\(errno)"
    }
  }
}

extension Failure {
  /// A request that was not answered as it should have been.
  init(_ what: String, _ failure: ATTFailure) {
    switch failure {
    case .refused(let refusal):
      let number = "0x" + [refusal.code.rawValue].hex.uppercased()
      let name = "\(refusal.code)"
      self.init(.refused, what, name.hasSuffix(number) ? name : "\(name) (\(number))")
    case .timedOut: self.init(.tryAgain, what, "\(failure)")
    case .closed(let why): self.init(.unavailable, what, "the link is gone: \(why)")
    case .tooLong, .malformed, .protocolViolation: self.init(.refused, what, "\(failure)")
    }
  }
}

extension GATTLink {
  /// What would help where the device refused something; nil where nothing that is known does.
  ///
  /// - Parameter isPrompt: whether it can be typed at a prompt.
  func remedy(_ code: ErrorCode, isPrompt: Bool) -> String? {
    switch code {
    case .insufficientAuthentication, .insufficientEncryption:
      guard secure != nil else {
        return "the device wants a secured link, and a socket cannot be secured"
      }
      let option = isPrompt ? "security" : "--security"
      switch level() ?? .low {
      case .low: return "the device wants an encrypted link: “\(option) medium”"
      case .medium: return "the device wants a pairing with a passkey: “\(option) high”"
      case .high: return "forget the pairing on the device and here (“unpair”), and pair anew"
      }
    case .encryptionKeySizeTooShort:
      return "the device wants a longer key than this link has"
    case .insufficientAuthorization: return "the device's own user has to allow it there"
    default: return nil
    }
  }
}
