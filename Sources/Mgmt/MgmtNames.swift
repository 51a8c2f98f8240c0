// SPDX-License-Identifier: GPL-3.0-or-later

/// The names of all management commands and events (BlueZ doc/mgmt-api.txt), by their numbers.
public enum MgmtNames {
  /// The name of a command; nil for a number that has none.
  public static func command(_ number: UInt16) -> String? { name(number, in: commands) }

  /// The name of an event; nil for a number that has none.
  public static func event(_ number: UInt16) -> String? { name(number, in: events) }

  private static func name(_ number: UInt16, in names: [String]) -> String? {
    (1...names.count).contains(Int(number)) ? names[Int(number) - 1] : nil
  }

  /// Numbered from 1.
  private static let commands = [
    "Read Management Version Information", "Read Management Supported Commands", "Read Controller Index List",
    "Read Controller Information", "Set Powered", "Set Discoverable", "Set Connectable", "Set Fast Connectable",
    "Set Bondable", "Set Link Security", "Set Secure Simple Pairing", "Set High Speed", "Set Low Energy",
    "Set Device Class", "Set Local Name", "Add UUID", "Remove UUID", "Load Link Keys", "Load Long Term Keys",
    "Disconnect", "Get Connections", "PIN Code Reply", "PIN Code Negative Reply", "Set IO Capability", "Pair Device",
    "Cancel Pair Device", "Unpair Device", "User Confirmation Reply", "User Confirmation Negative Reply",
    "User Passkey Reply", "User Passkey Negative Reply", "Read Local Out Of Band Data", "Add Remote Out Of Band Data",
    "Remove Remote Out Of Band Data", "Start Discovery", "Stop Discovery", "Confirm Name", "Block Device",
    "Unblock Device", "Set Device ID", "Set Advertising", "Set BR/EDR", "Set Static Address", "Set Scan Parameters",
    "Set Secure Connections", "Set Debug Keys", "Set Privacy", "Load Identity Resolving Keys",
    "Get Connection Information", "Get Clock Information", "Add Device", "Remove Device", "Load Connection Parameters",
    "Read Unconfigured Controller Index List", "Read Controller Configuration Information",
    "Set External Configuration", "Set Public Address", "Start Service Discovery",
    "Read Local Out Of Band Extended Data", "Read Extended Controller Index List", "Read Advertising Features",
    "Add Advertising", "Remove Advertising", "Get Advertising Size Information", "Start Limited Discovery",
    "Read Extended Controller Information", "Set Appearance", "Get PHY Configuration", "Set PHY Configuration",
    "Load Blocked Keys", "Set Wideband Speech", "Read Controller Capabilities", "Read Experimental Features",
    "Set Experimental Feature", "Read Default System Configuration", "Set Default System Configuration",
    "Read Default Runtime Configuration", "Set Default Runtime Configuration", "Get Device Flags", "Set Device Flags",
    "Read Advertisement Monitor Features", "Add Advertisement Patterns Monitor", "Remove Advertisement Monitor",
    "Add Extended Advertising Parameters", "Add Extended Advertising Data",
    "Add Advertisement Patterns Monitor With RSSI Threshold", "Set Mesh Receiver", "Read Mesh Features", "Send Mesh",
    "Cancel Mesh", "Send HCI Command And Wait For Event",
  ]

  /// Numbered from 1.
  private static let events = [
    "Command Complete", "Command Status", "Controller Error", "Index Added", "Index Removed", "New Settings",
    "Class Of Device Changed", "Local Name Changed", "New Link Key", "New Long Term Key", "Device Connected",
    "Device Disconnected", "Connect Failed", "PIN Code Request", "User Confirmation Request", "User Passkey Request",
    "Authentication Failed", "Device Found", "Discovering", "Device Blocked", "Device Unblocked", "Device Unpaired",
    "Passkey Notify", "New Identity Resolving Key", "New Signature Resolving Key", "Device Added", "Device Removed",
    "New Connection Parameter", "Unconfigured Index Added", "Unconfigured Index Removed", "New Configuration Options",
    "Extended Index Added", "Extended Index Removed", "Local Out Of Band Data Updated", "Advertising Added",
    "Advertising Removed", "Extended Controller Information Changed", "PHY Configuration Changed",
    "Experimental Feature Changed", "Default System Configuration Changed", "Default Runtime Configuration Changed",
    "Device Flags Changed", "Advertisement Monitor Added", "Advertisement Monitor Removed", "Controller Suspend",
    "Controller Resume", "Advertisement Monitor Device Found", "Advertisement Monitor Device Lost", "Mesh Device Found",
    "Mesh Packet Complete",
  ]
}
