// swift-tools-version: 6.2
// SPDX-License-Identifier: GPL-3.0-or-later
import PackageDescription

// The fuzzer, a package of its own: it needs libFuzzer's main and its instrumentation (scripts/fuzz).
let package = Package(
  name: "fuzzer", dependencies: [.package(name: "ancsd", path: "../..")],
  targets: [
    .executableTarget(
      name: "Fuzzer", dependencies: [.product(name: "FuzzTargets", package: "ancsd")], path: "Sources",
      swiftSettings: [.unsafeFlags(["-parse-as-library"])])
  ],
  swiftLanguageModes: [.v6]
)
