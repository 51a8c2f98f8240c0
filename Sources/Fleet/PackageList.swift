// SPDX-License-Identifier: GPL-3.0-or-later

/// A list of packages, as apt loads it from a repository (deb-control(5)).
public enum PackageList {
  /// The versions that a list has of a package.
  public static func versions(of package: String, in list: String) -> [String] {
    var versions: [String] = []
    var isOfPackage = false
    for line in list.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.isEmpty { isOfPackage = false }
      if line == "Package: \(package)" { isOfPackage = true }
      if isOfPackage, line.hasPrefix("Version: ") {
        versions.append(String(line.dropFirst("Version: ".count)))
      }
    }
    return versions
  }

  /// Whether a version is before another, by the numbers in them: `0.2.0` before `0.2.0+git20261124.3.g9e7d567`.
  public static func isOlder(_ one: String, than other: String) -> Bool {
    numbers(in: one).lexicographicallyPrecedes(numbers(in: other))
  }

  private static func numbers(in version: String) -> [Int] {
    version.split { !$0.isNumber }.compactMap { Int($0) }
  }
}
