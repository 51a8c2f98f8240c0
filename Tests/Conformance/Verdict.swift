// SPDX-License-Identifier: GPL-3.0-or-later
import JSON

/// What became of a vector.
public enum Verdict: Hashable, Sendable {
  case passed
  /// What was found instead of what was expected.
  case failed(String)
  /// It can't be run here; the text says why.
  case notApplicable(String)
}

/// One vector of a file, and how to run it.
public struct VectorCase: Sendable {
  /// The vector's own name.
  public let id: String
  /// What kind of vector it is, such as `ancs.dataSource`.
  public let kind: String
  private let check: @Sendable () -> Verdict

  public init(id: String, kind: String, check: @escaping @Sendable () -> Verdict) {
    self.id = id
    self.kind = kind
    self.check = check
  }

  /// Runs it.
  public func run() -> Verdict { check() }
}

extension JSONValue {
  /// Where `self`, which was expected, is not in `actual`: members that `actual` has besides do not
  /// matter, and numbers need to agree to a billionth. Nil where all is there.
  func difference(from actual: JSONValue?, at path: String = "") -> String? {
    let place = path.isEmpty ? "the result" : path
    guard let actual else { return "\(place) is missing" }
    switch (self, actual) {
    case (.object(let expected), .object(let found)):
      for (name, value) in expected.members {
        let inner = path.isEmpty ? name : "\(path).\(name)"
        if let difference = value.difference(from: found[name], at: inner) { return difference }
      }
      return nil
    case (.array(let expected), .array(let found)):
      guard expected.count == found.count else {
        return "\(place) has \(found.count) elements instead of \(expected.count)"
      }
      for (index, pair) in zip(expected, found).enumerated() {
        if let difference = pair.0.difference(from: pair.1, at: "\(path)[\(index)]") {
          return difference
        }
      }
      return nil
    default:
      if let expected = double, let found = actual.double,
        (expected - found).magnitude <= 1e-9
      {
        return nil
      }
      return self == actual ? nil : "\(place) is \(actual) instead of \(self)"
    }
  }
}
