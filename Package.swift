// swift-tools-version: 6.2
// SPDX-License-Identifier: GPL-3.0-or-later
import PackageDescription

// The modules and their dependencies (docs/design.md has the picture). A module may only import the modules listed
// after its name; scripts/check-modules checks more rules.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// For modules that do not handle notifications: scripts/build optimises them for size. Other builds do not, because
/// SwiftPM refuses a dependency with unsafe flags.
let small: [SwiftSetting] =
  Context.environment["ANCSD_SMALL"].map { [.unsafeFlags($0.split(separator: " ").map(String.init))] } ?? []

/// A module that may import the modules in `below`.
func module(_ name: String, _ below: [Target.Dependency] = [], _ more: [SwiftSetting] = []) -> Target {
  .target(name: name, dependencies: below, swiftSettings: settings + more)
}

/// Whether a program of our own runs the suites: for another processor there is no XCTest, which SwiftPM's needs
/// (scripts/emulated-tests).
let hasOwnRunner = Context.environment["ANCSD_SUITES"] != nil

/// The tests of a module.
func suite(_ name: String, _ modules: [Target.Dependency], exclude: [String] = []) -> Target {
  hasOwnRunner
    ? .target(name: name, dependencies: modules, path: "Tests/\(name)", exclude: exclude, swiftSettings: settings)
    : .testTarget(name: name, dependencies: modules, exclude: exclude, swiftSettings: settings)
}

/// The build for `--version`, from scripts/build; empty in any other build.
let build = Context.environment["ANCSD_BUILD"] ?? ""

let pure: [Target] = [
  module("Wire"), module("GAP", ["Wire"], small), module("ATT", ["Wire"]),
  module("GATT", ["ATT", "GAP", "Wire"], small), module("ANCS", ["GATT", "ATT", "GAP", "Wire"]),
  module("AMS", ["GATT", "ATT", "GAP", "Wire"], small), module("Companion", ["GATT", "ATT", "GAP", "Wire"], small),
  module("Mgmt", ["GAP", "Wire"], small),
  module("VirtualPhone", ["ANCS", "AMS", "Companion", "GATT", "ATT", "GAP", "Wire"], small),
  module("Capture", ["Mgmt", "ANCS", "AMS", "Companion", "GATT", "ATT", "GAP", "Wire"], small),
]

/// libedit, ncursesw and the libraries that they need. Both targets have the whole list, so that each archive comes
/// before those that it needs. Static archives are linked, so that the program needs only a kernel.
let terminalLibraries: [LinkerSetting] = [
  .linkedLibrary(":libedit.a"), .linkedLibrary(":libbsd.a"), .linkedLibrary(":libmd.a"),
  .linkedLibrary(":libncursesw.a"), .linkedLibrary(":libtinfo.a"),
]

/// How scripts/build links ancsd: statically (also libc), at a random address. The same modules make ancsd-mqtt, which is
/// linked with the system's libc.
let alone: [LinkerSetting] =
  Context.environment["ANCSD_SMALL"] == nil
  ? [] : [.unsafeFlags(["-static-executable", "-Xclang-linker", "-static-pie"])]

let edges: [Target] = [
  .systemLibrary(name: "CLinux", pkgConfig: nil, providers: [.apt(["libbluetooth-dev"])]),
  module("System", ["CLinux", "Wire"], small), module("EventLoop", ["System", "Wire"]),
  module("Bluetooth", ["EventLoop", "System", "Capture", "Mgmt", "GAP", "Wire", "CLinux"], small),
  .systemLibrary(name: "CEdit", pkgConfig: nil, providers: [.apt(["libedit-dev"])]),
  .target(
    name: "LineEditor", dependencies: ["CEdit", "EventLoop", "System", "Wire"],
    swiftSettings: settings + small, linkerSettings: terminalLibraries),
  .systemLibrary(name: "CCurses", pkgConfig: nil, providers: [.apt(["libncurses-dev"])]),
  .target(
    name: "TerminalScreen", dependencies: ["CCurses", "Control", "EventLoop", "System", "Wire"],
    swiftSettings: settings + small, linkerSettings: terminalLibraries),
  .systemLibrary(name: "CJansson", pkgConfig: nil, providers: [.apt(["libjansson-dev"])]),
  .target(
    name: "JSON", dependencies: ["CJansson", "Wire"],
    // With Swift 6.2, a function that appends to a span must declare the span's lifetime.
    swiftSettings: settings + [.enableExperimentalFeature("Lifetimes")],
    linkerSettings: [.linkedLibrary(":libjansson.a")]),
  .systemLibrary(name: "CPCRE2", pkgConfig: nil, providers: [.apt(["libpcre2-dev"])]),
  .target(
    name: "Patterns", dependencies: ["CPCRE2"], swiftSettings: settings + small,
    linkerSettings: [.linkedLibrary(":libpcre2-8.a")]),
  // libmosquitto and OpenSSL: shared libraries, whose security updates come from the system. With what one lacks of the other.
  .target(
    name: "CMosquitto", linkerSettings: [.linkedLibrary("mosquitto"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]),
  .systemLibrary(name: "CSQLite", pkgConfig: nil, providers: [.apt(["libsqlite3-dev"])]),
  .target(
    name: "History", dependencies: ["CSQLite", "System", "Wire"], swiftSettings: settings + small,
    linkerSettings: [.linkedLibrary(":libsqlite3.a")]),
  // toml++, a header-only C++ library, behind a few C functions.
  .target(name: "CTOML"), module("TOML", ["CTOML", "Wire"], small),
  // Overwrites freed memory.
  .target(name: "CWipe"),
  // What `--version` prints after the number.
  .target(name: "CBuild", cSettings: [.define("ANCSD_BUILD", to: "\"\(build)\"")]),
  // The start of the program: arguments without /proc, and a random address on 32-bit ARM.
  .target(name: "CStart"),
  module("Control", ["JSON", "Mgmt", "ANCS", "AMS", "Companion", "GATT", "ATT", "GAP", "Wire"]),
  // What is published about a board, and the requests; without sockets.
  module(
    "Fleet", ["Control", "JSON", "TOML", "Mgmt", "ANCS", "AMS", "Companion", "GATT", "ATT", "GAP", "Wire"], small),
  // The files of the page of --html, as bytes.
  .target(name: "CPage"),
  .target(
    name: "Picture", dependencies: ["CPage", "Control", "Capture", "JSON", "ANCS", "ATT", "GATT", "GAP", "Wire"],
    exclude: ["Page"], swiftSettings: settings + small),
  module("Arguments", ["Control", "Bluetooth", "EventLoop", "System", "JSON", "Mgmt", "Wire", "CBuild"], small),
]

let package = Package(
  name: "ancsd",
  products: [
    .executable(name: "ancsd", targets: ["ancsd"]),
    .executable(name: "ancsd-mqtt", targets: ["ancsd-mqtt"]),
    .executable(name: "conformance", targets: ["ConformanceTool"]),
    .library(name: "FuzzTargets", targets: ["FuzzTargets"]),
  ]
    + pure.map { .library(name: $0.name, targets: [$0.name]) },
  targets: pure + edges + [
    module(
      "Board",
      [
        "Arguments", "Control", "Bluetooth", "EventLoop", "System", "JSON", "Mgmt", "Capture", "ANCS", "ATT", "GATT",
        "GAP", "Wire",
      ], small),
    module(
      "Daemon",
      [
        "Board", "Arguments", "Fleet", "Control", "Bluetooth", "EventLoop", "System", "JSON", "TOML", "Patterns",
        "Mgmt", "VirtualPhone", "Capture", "ANCS", "AMS", "Companion", "GATT", "ATT", "GAP", "Wire",
      ], small),
    module(
      "ControlClients",
      [
        "Arguments", "Control", "History", "Patterns", "EventLoop", "System", "JSON", "Mgmt", "ANCS", "AMS", "GAP",
        "Wire",
      ], small),
    module(
      "LiveScreen",
      ["ControlClients", "Arguments", "Control", "TerminalScreen", "EventLoop", "System", "ANCS", "AMS", "Wire"], small),
    module(
      "Maintenance",
      [
        "ControlClients", "Arguments", "Control", "History", "Patterns", "Picture", "TOML",
        "Bluetooth", "EventLoop", "System", "JSON", "Mgmt", "ANCS", "GATT", "ATT", "GAP", "Wire",
      ], small),
    module(
      "CaptureTools",
      [
        "ControlClients", "Arguments", "Control", "Picture", "Bluetooth", "EventLoop", "System",
        "JSON", "Capture", "GATT", "ATT", "GAP", "Wire",
      ], small),
    module(
      "CentralTools",
      [
        "CaptureTools", "Arguments", "Control", "LineEditor", "Bluetooth", "EventLoop", "System", "JSON", "Mgmt",
        "VirtualPhone", "Capture", "ANCS", "AMS", "Companion", "GATT", "ATT", "GAP", "Wire",
      ], small),
    .executableTarget(
      name: "ancsd",
      dependencies: [
        "ControlClients", "LiveScreen", "Maintenance", "CaptureTools", "CentralTools", "Daemon", "Arguments", "CWipe",
        "CStart",
      ], swiftSettings: settings, linkerSettings: alone),
    module("MQTT", ["CMosquitto", "Fleet", "EventLoop", "System", "Wire"], small),
    module(
      "Bridge",
      [
        "MQTT", "Fleet", "Arguments", "Control", "EventLoop", "System", "JSON", "TOML", "Mgmt",
        "ANCS", "AMS", "Companion", "GATT", "ATT", "GAP", "Wire",
      ], small),
    .executableTarget(
      name: "ancsd-mqtt", dependencies: ["Bridge", "Arguments", "CWipe", "CStart"],
      swiftSettings: settings),
    .target(
      name: "OnLoop", dependencies: ["EventLoop", "Wire"], path: "Tests/OnLoop",
      swiftSettings: settings),
    .target(
      name: "Scratch", dependencies: ["System"], path: "Tests/Scratch", swiftSettings: settings),
    .target(
      name: "TestLoop", dependencies: ["System", "Wire"], path: "Tests/TestLoop",
      swiftSettings: settings),
    .target(
      name: "FakeDaemon",
      dependencies: ["ControlClients", "Arguments", "Control", "JSON", "System", "Wire"],
      path: "Tests/FakeDaemon", swiftSettings: settings),
    .target(
      name: "VirtualKernel", dependencies: ["VirtualPhone", "Mgmt", "Wire"],
      path: "Tests/VirtualKernel", swiftSettings: settings),
    .target(
      name: "Conformance",
      dependencies: ["JSON", "ANCS", "AMS", "Companion", "GATT", "ATT", "GAP", "Wire", "TestLoop"],
      path: "Tests/Conformance", swiftSettings: settings),
    .executableTarget(
      name: "ConformanceTool", dependencies: ["Conformance", "JSON", "System"],
      path: "Tests/ConformanceTool", swiftSettings: settings),
    .target(
      name: "FuzzTargets",
      dependencies: [
        "ControlClients", "LiveScreen", "Maintenance", "CaptureTools", "CentralTools", "Daemon", "Fleet", "Arguments",
        "Control", "Capture", "JSON", "TOML", "Patterns", "Mgmt", "ANCS", "AMS", "Companion", "GATT", "ATT", "GAP",
        "Wire", "TestLoop",
      ], path: "Tests/FuzzTargets", swiftSettings: settings), suite("JSONTests", ["JSON"]),
    suite("TOMLTests", ["TOML"]), suite("PatternsTests", ["Patterns"]),
    suite("HistoryTests", ["History", "System", "Wire", "Scratch"]),
    suite(
      "ControlTests",
      ["Control", "JSON", "System", "Mgmt", "ANCS", "AMS", "Companion", "GATT", "ATT", "GAP", "Wire", "TestLoop"]),
    suite("ArgumentsTests", ["Arguments", "Control", "System", "JSON", "Scratch"]),
    suite(
      "BoardTests",
      ["Board", "Control", "EventLoop", "System", "ANCS", "AMS", "Companion", "Wire", "TestLoop", "OnLoop"]),
    suite(
      "DaemonTests",
      [
        "Daemon", "Board", "Arguments", "Control", "Capture", "Bluetooth", "EventLoop", "System", "JSON", "TOML",
        "Patterns", "Mgmt", "VirtualPhone", "ANCS", "AMS", "Companion", "GATT", "ATT", "GAP", "Wire", "TestLoop",
        "OnLoop", "Scratch",
      ]),
    suite(
      "ControlClientsTests",
      [
        "ControlClients", "Arguments", "Control", "EventLoop", "History", "System", "JSON", "Mgmt",
        "ANCS", "AMS", "Wire", "OnLoop", "FakeDaemon", "Scratch",
      ]),
    suite(
      "CommandTests",
      [
        "ControlClients", "LiveScreen", "Maintenance", "CaptureTools", "CentralTools", "Daemon", "Arguments", "Control",
        "JSON",
      ]), suite("LiveScreenTests", ["LiveScreen", "Control", "TerminalScreen", "ANCS", "AMS", "Wire"]),
    suite(
      "MaintenanceTests",
      [
        "Maintenance", "ControlClients", "Arguments", "Control", "Bluetooth", "System", "JSON", "Mgmt", "ANCS", "GATT",
        "ATT", "GAP", "Wire", "FakeDaemon", "Scratch",
      ]),
    suite(
      "CaptureToolsTests",
      [
        "CaptureTools", "Arguments", "Control", "Picture", "Bluetooth", "EventLoop", "System", "JSON", "Capture",
        "ANCS", "ATT", "GAP", "Wire", "OnLoop", "FakeDaemon", "Scratch",
      ]),
    suite(
      "CentralToolsTests",
      [
        "CentralTools", "Arguments", "Control", "LineEditor", "EventLoop", "System", "JSON", "Mgmt", "VirtualKernel",
        "VirtualPhone", "ANCS", "AMS", "Companion", "GATT", "ATT", "Wire", "TestLoop", "OnLoop", "Scratch",
      ]),
    suite(
      "WorldTests",
      [
        "Daemon", "Board", "Control", "Bluetooth", "EventLoop", "System", "Patterns", "Mgmt", "VirtualKernel",
        "VirtualPhone", "ANCS", "GATT", "ATT", "GAP", "JSON", "Wire", "TestLoop", "OnLoop",
      ]), suite("FleetTests", ["Fleet", "Control", "JSON", "TOML", "ANCS", "AMS", "Wire", "TestLoop"]),
    suite("LineEditorTests", ["LineEditor"]), suite("TerminalScreenTests", ["TerminalScreen", "CCurses", "Control"]),
    suite("WireTests", ["Wire", "TestLoop"]), suite("SystemTests", ["System", "Wire", "Scratch"]),
    suite("EventLoopTests", ["EventLoop", "System", "Wire", "OnLoop", "Scratch"]),
    suite("BluetoothTests", ["Bluetooth", "EventLoop", "System", "GAP", "Wire"]), suite("GAPTests", ["GAP", "Wire"]),
    suite("ATTTests", ["ATT", "Wire", "TestLoop"]),
    suite("MgmtTests", ["Mgmt", "VirtualKernel", "GAP", "Wire", "TestLoop"]),
    suite("GATTTests", ["GATT", "ATT", "GAP", "Wire", "TestLoop"]),
    suite("ANCSTests", ["ANCS", "GATT", "ATT", "GAP", "Wire", "TestLoop"]),
    suite("AMSTests", ["AMS", "GATT", "ATT", "GAP", "Wire", "TestLoop"]),
    suite("CompanionTests", ["Companion", "GATT", "ATT", "GAP", "Wire", "TestLoop"]),
    suite("CaptureTests", ["FuzzTargets", "Capture", "JSON", "ANCS", "AMS", "GATT", "ATT", "GAP", "Wire", "TestLoop"]),
    suite("PictureTests", ["Picture", "Capture", "Control", "JSON", "ATT", "GATT", "GAP", "Wire"]),
    suite("ConformanceTests", ["Conformance", "JSON", "TestLoop"]),
    suite("FuzzTests", ["FuzzTargets", "System", "Wire", "TestLoop"], exclude: ["Found"]),
    suite("VirtualPhoneTests", ["VirtualPhone", "ANCS", "AMS", "Companion", "GATT", "ATT", "GAP", "Wire", "TestLoop"]),
  ], swiftLanguageModes: [.v6], cxxLanguageStandard: .cxx17)

if hasOwnRunner {
  let suites = package.targets.map(\.name).filter { $0.hasSuffix("Tests") }
  package.targets.append(
    .executableTarget(name: "Suites", dependencies: suites.map { .init(stringLiteral: $0) }, path: "Tests/Suites"))
}
