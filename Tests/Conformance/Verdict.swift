// SPDX-License-Identifier: GPL-3.0-or-later
import JSON

/// The result of a vector.
public enum Verdict: Hashable, Sendable {
  case passed
  /// What was found instead of the expectation.
  case failed(String)
  /// It cannot be run here; the text says why.
  case notApplicable(String)
}

/// A vector of a file.
public struct VectorCase: Sendable {
  /// The vector's name.
  public let id: String
  /// The kind of vector, such as `ancs.dataSource`.
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
  /// Where `self`, the expectation, differs from `actual`; nil if it does not. Additional members of
  /// `actual` do not matter, and numbers must agree to a billionth.
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
