// SPDX-License-Identifier: GPL-3.0-or-later
import Testing

/// Runs all suites (scripts/emulated-tests).
@main enum Suites {
  static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
