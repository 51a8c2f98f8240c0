// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import Fleet
import System

/// The board that this program runs on.
enum Hardware {
  /// As in `Raspberry Pi Zero 2 W Rev 1.0`; nil if the kernel does not know.
  static var model: String? {
    ["/sys/firmware/devicetree/base/model", "/sys/class/dmi/id/product_name"].lazy
      .compactMap { try? Files.read($0, limit: 4_096) }
      .map { String(decoding: $0.prefix { $0 >= 0x20 }, as: UTF8.self).printable }
      .first { !$0.isEmpty }
  }
}

/// The lists of packages that apt has loaded.
enum PackageLists {
  private static let folder = "/var/lib/apt/lists"
  /// Those of a whole distribution are longer, and do not have this package.
  private static let longest = 1 << 18

  /// The latest version of a package; nil if no list has it.
  static func latestVersion(of package: String) -> String? {
    let names = (try? Files.names(in: folder)) ?? []
    let versions = names.filter { $0.hasSuffix("_Packages") }.flatMap { name in
      (try? Files.read("\(folder)/\(name)", limit: longest))
        .map { PackageList.versions(of: package, in: String(decoding: $0, as: UTF8.self)) } ?? []
    }
    return versions.max { PackageList.isOlder($0, than: $1) }
  }
}
