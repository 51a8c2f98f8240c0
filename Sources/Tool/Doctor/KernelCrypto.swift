// SPDX-License-Identifier: GPL-3.0-or-later

/// What the kernel has of what LE Secure Connections needs: P-256, AES-CMAC, and what P-256's own test
/// needs (without hmac, sha512 and drbg that test fails, and pairing with it).
public struct KernelCrypto: Hashable, Sendable {
  /// Whether P-256 is there and has passed its test; nil: the kernel has not wanted it yet.
  public var hasP256: Bool?
  /// The modules that are nowhere, neither in the kernel nor on the disk; nil: that can't be told.
  public var missing: [String]?

  public init(hasP256: Bool? = nil, missing: [String]? = nil) {
    self.hasP256 = hasP256
    self.missing = missing
  }

  /// What is needed; of each line one.
  static let modules = [
    ["ecdh_generic"], ["cmac"], ["hmac"], ["sha512_generic", "sha512"], ["drbg"],
  ]

  /// What mends it where the modules are there.
  static let command = "modprobe -a cmac hmac sha512_generic drbg ecdh_generic"

  /// Reads what the kernel tells.
  ///
  /// - Parameters:
  ///   - algorithms: /proc/crypto.
  ///   - modules: modules.dep and modules.builtin of the running kernel; nil where they are not there.
  public init(algorithms: String, modules: String?) {
    for entry in algorithms.split(separator: "\n\n") {
      let fields = entry.split(separator: "\n").map { line in
        line.split(separator: ":", maxSplits: 1).map { $0.split(separator: " ").joined() }
      }
      guard fields.contains(["name", "ecdh-nist-p256"]) else { continue }
      hasP256 = fields.contains(["selftest", "passed"]) || hasP256 == true
    }
    guard let modules else { return }
    var there: Set<Substring> = []
    for line in modules.split(separator: "\n") {
      // kernel/crypto/drbg.ko.xz: kernel/crypto/hmac.ko
      guard let path = line.split(separator: ":").first, let file = path.split(separator: "/").last,
        let name = file.split(separator: ".").first
      else { continue }
      there.insert(name)
    }
    missing = Self.modules.filter { names in
      !names.contains { there.contains(Substring($0)) || there.contains(Substring($0.dashed)) }
    }.compactMap(\.first)
  }
}

extension String {
  /// Files of modules are written either way.
  fileprivate var dashed: String { split(separator: "_").joined(separator: "-") }
}
