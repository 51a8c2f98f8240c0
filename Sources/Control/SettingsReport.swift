// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON

/// When a change of a setting takes effect.
public enum SettingEffect: String, CaseIterable, JSONNamed, Sendable {
  public static var jsonKind: String { "when a setting takes effect" }

  /// At the reload, on links that are up too.
  case live
  /// With a link that begins after the reload.
  case newLink = "new-link"
  /// When the daemon is started again.
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

/// The settings that are in force, and those that are not yet.
public struct SettingsReport: JSONObjectCodable, Hashable, Sendable {
  /// The first file that they were read from, if there was one.
  public var file: String?
  /// Those in force that are not as they are by default.
  public var settings: [Setting] = []
  /// Those that were read and are not in force yet, on every link.
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
    /// As it would be written in a file; nil: by default, which is what waits.
    public var value: String?
    /// The file that it is from, and its line there; nil: it is from the command line.
    public var file: String?
    public var line: Int?
    /// When a change of it takes effect.
    public var effect = SettingEffect.nextStart

    public init() {}

    public init(
      _ name: String, _ value: String?, file: String? = nil, line: Int? = nil,
      _ effect: SettingEffect
    ) {
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
