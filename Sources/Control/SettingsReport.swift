// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON

/// The settings that are in force.
public struct SettingsReport: JSONObjectCodable, Hashable, Sendable {
  /// The file that they were read from, if there was one.
  public var file: String?
  /// Those that are not as they are by default.
  public var settings: [Setting] = []
  public var hooks = 0
  public var rules = 0

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("file", &file)
    try json.list("settings", &settings)
    try json.required("hooks", &hooks)
    try json.required("rules", &rules)
  }

  /// An option of `run` that is set.
  public struct Setting: JSONObjectCodable, Hashable, Sendable {
    /// The option's name without the dashes.
    public var name = ""
    /// As it would be written in a file.
    public var value = ""
    /// Its line in the file; nil: it is from the command line.
    public var line: Int?

    public init() {}

    public init(_ name: String, _ value: String, line: Int? = nil) {
      self.name = name
      self.value = value
      self.line = line
    }

    public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
      try json.required("name", &name)
      try json.required("value", &value)
      try json.optional("line", &line)
    }
  }
}
