// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON

/// When a change of a setting takes effect.
public enum SettingEffect: String, CaseIterable, JSONNamed, Sendable {
  public static var jsonKind: String { "when a setting takes effect" }

  /// At the reload, also on existing links.
  case live
  /// With links that begin after the reload.
  case newLink = "new-link"
  /// When the daemon is restarted.
  case nextStart = "next-start"

  /// The end of a sentence about a change.
  public var text: String {
    switch self {
    case .live: "at once"
    case .newLink: "with a new link"
    case .nextStart: "from the next start on"
    }
  }
}

/// The settings that are in force, and the pending ones.
public struct SettingsReport: JSONObjectCodable, Hashable, Sendable {
  /// The first file that was read, if any.
  public var file: String?
  /// The settings in force that differ from the default.
  public var settings: [Setting] = []
  /// The settings that were read but are not in force yet, or not on every link.
  public var waiting: [Setting] = []
  public var hooks = 0
  public var rules = 0
  /// The hooks and rules themselves, each as a table of TOML.
  public var tables: [String] = []

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("file", &file)
    try json.list("settings", &settings)
    try json.list("waiting", &waiting)
    try json.required("hooks", &hooks)
    try json.required("rules", &rules)
    try json.list("tables", &tables)
  }

  /// An option of `run` that is set.
  public struct Setting: JSONObjectCodable, Hashable, Sendable {
    /// The option's name without the dashes.
    public var name = ""
    /// In the form of a settings file; nil stands for the default, which is pending.
    public var value: String?
    /// Its file and line, or the environment variable; nil for the command line.
    public var file: String?
    public var line: Int?
    /// When a change of it takes effect.
    public var effect = SettingEffect.nextStart

    public init() {}

    public init(_ name: String, _ value: String?, file: String? = nil, line: Int? = nil, _ effect: SettingEffect) {
      self.name = name
      self.value = value
      self.file = file
      self.line = line
      self.effect = effect
    }

    public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
      try json.required("name", &name)
      try json.optional("value", &value)
      try json.optional("file", &file)
      try json.optional("line", &line)
      try json.required("effect", &effect)
    }
  }
}
