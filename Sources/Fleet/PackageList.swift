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

  /// Whether a version is before another: numbers by their values, all else as text (deb-version(7), without `~`).
  public static func isOlder(_ one: String, than other: String) -> Bool {
    for (mine, theirs) in zip(parts(of: one), parts(of: other)) where mine != theirs {
      if let number = Int(mine), let otherNumber = Int(theirs) { return number < otherNumber }
      return mine < theirs
    }
    return parts(of: one).count < parts(of: other).count
  }

  /// Runs of digits, and of other characters.
  private static func parts(of version: String) -> [String] {
    var parts: [String] = []
    for character in version {
      if let last = parts.last?.last, last.isNumber == character.isNumber {
        parts[parts.count - 1].append(character)
      } else {
        parts.append(String(character))
      }
    }
    return parts
  }
}
