// swift-tools-version: 6.2
// SPDX-License-Identifier: GPL-3.0-or-later
import PackageDescription

// The rooms and the arrows between them (docs/design.md draws them). A room imports only what is
// listed behind it; scripts/check-rooms holds the sources to it.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// A room of the house: a target that sees only the rooms in `below`.
func room(_ name: String, _ below: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: below, swiftSettings: settings)
}

/// The suite of one room.
func suite(_ name: String, _ rooms: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: rooms, swiftSettings: settings)
}

let pure: [Target] = [
  room("Wire"),
  room("ATT", ["Wire"]),
  room("GATT", ["ATT", "Wire"]),
  room("ANCS", ["GATT", "ATT", "Wire"]),
  room("AMS", ["GATT", "ATT", "Wire"]),
  room("Companion", ["GATT", "ATT", "Wire"]),
  room("Mgmt", ["Wire"]),
  room("VirtualPhone", ["ANCS", "AMS", "Companion", "GATT", "ATT", "Wire"]),
  room("Capture", ["ANCS", "AMS", "Companion", "GATT", "ATT", "Wire"]),
]

/// libedit and what it needs, the archives and not the shared libraries: only one of the program's
/// tools edits lines, and the daemon is to start where there is a kernel and nothing else.
let lineEditing: [LinkerSetting] = [
  .linkedLibrary(":libedit.a"), .linkedLibrary(":libbsd.a"), .linkedLibrary(":libmd.a"),
  .linkedLibrary(":libtinfo.a"),
]

let edges: [Target] = [
  .systemLibrary(name: "CLinux", pkgConfig: nil, providers: [.apt(["libbluetooth-dev"])]),
  room("System", ["CLinux", "Wire"]),
  room("EventLoop", ["System", "Wire"]),
  room("Bluetooth", ["EventLoop", "System", "Mgmt", "Wire", "CLinux"]),
  .systemLibrary(name: "CEdit", pkgConfig: nil, providers: [.apt(["libedit-dev"])]),
  .target(
    name: "LineEditor", dependencies: ["CEdit", "EventLoop", "System", "Wire"],
    swiftSettings: settings, linkerSettings: lineEditing),
  room("JSON"),
]

let package = Package(
  name: "ancsd",
  products: [
    .executable(name: "ancsd", targets: ["ancsd"]),
    .executable(name: "conformance", targets: ["ConformanceTool"]),
  ]
    + pure.map { .library(name: $0.name, targets: [$0.name]) },
  targets: pure + edges + [
    room(
      "Daemon",
      [
        "Bluetooth", "EventLoop", "System", "JSON", "Mgmt", "VirtualPhone", "Capture",
        "ANCS", "AMS", "Companion", "GATT", "ATT", "Wire",
      ]),
    room(
      "Tool",
      [
        "Daemon", "LineEditor", "EventLoop", "System", "JSON", "Mgmt", "VirtualPhone", "Capture",
        "ANCS", "AMS", "Companion", "GATT", "ATT", "Wire",
      ]),
    .executableTarget(
      name: "ancsd",
      dependencies: [
        "Tool", "Daemon", "Bluetooth", "EventLoop", "System", "JSON", "Mgmt", "VirtualPhone",
        "Capture",
        "ANCS", "AMS", "Companion", "GATT", "ATT", "Wire",
      ], swiftSettings: settings),
    .target(
      name: "OnLoop", dependencies: ["EventLoop"], path: "Tests/OnLoop", swiftSettings: settings),
    .target(
      name: "TestLoop", dependencies: ["Wire"], path: "Tests/TestLoop", swiftSettings: settings),
    .target(
      name: "Conformance",
      dependencies: ["JSON", "ANCS", "AMS", "Companion", "GATT", "ATT", "Wire", "TestLoop"],
      path: "Tests/Conformance", swiftSettings: settings),
    .executableTarget(
      name: "ConformanceTool", dependencies: ["Conformance", "JSON", "System"],
      path: "Tests/ConformanceTool", swiftSettings: settings),
    suite("JSONTests", ["JSON"]),
    suite(
      "DaemonTests",
      [
        "Daemon", "Capture", "Bluetooth", "EventLoop", "System", "Mgmt", "VirtualPhone", "ANCS",
        "AMS", "GATT",
        "ATT", "JSON", "Wire", "TestLoop", "OnLoop",
      ]),
    suite(
      "ToolTests",
      [
        "Tool", "Daemon", "LineEditor", "EventLoop", "System", "Mgmt", "VirtualPhone", "ANCS",
        "AMS",
        "Companion", "GATT", "ATT", "JSON", "Wire", "TestLoop",
      ]),
    suite("LineEditorTests", ["LineEditor"]),
    suite("WireTests", ["Wire"]),
    suite("SystemTests", ["System", "Wire"]),
    suite("EventLoopTests", ["EventLoop", "System", "Wire", "OnLoop"]),
    suite("BluetoothTests", ["Bluetooth", "EventLoop", "System", "Wire"]),
    suite("ATTTests", ["ATT", "Wire", "TestLoop"]),
    suite("MgmtTests", ["Mgmt", "Wire", "TestLoop"]),
    suite("GATTTests", ["GATT", "ATT", "Wire", "TestLoop"]),
    suite("ANCSTests", ["ANCS", "GATT", "ATT", "Wire", "TestLoop"]),
    suite("AMSTests", ["AMS", "GATT", "ATT", "Wire", "TestLoop"]),
    suite("CompanionTests", ["Companion", "GATT", "ATT", "Wire", "TestLoop"]),
    suite(
      "CaptureTests",
      [
        "Capture", "Tool", "Daemon", "JSON", "ANCS", "AMS", "GATT", "ATT", "Wire", "TestLoop",
      ]),
    suite("ConformanceTests", ["Conformance", "JSON"]),
    suite(
      "VirtualPhoneTests",
      ["VirtualPhone", "ANCS", "AMS", "Companion", "GATT", "ATT", "Wire", "TestLoop"]),
  ],
  swiftLanguageModes: [.v6]
)
