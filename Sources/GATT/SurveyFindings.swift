// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// A service with everything in it, as `Survey` finds it.
public struct SurveyedService: Hashable, Sendable {
  public var service: Service
  /// Whether it is of use by itself, and not only where another includes it.
  public var isPrimary: Bool
  public var includes: [Include] = []
  public var characteristics: [SurveyedCharacteristic] = []
  /// What belongs to characteristics whose declarations stay unknown.
  public var unassigned: [PDU.AttributeInformation] = []
  /// Whether it was looked into already.
  public var isExamined = false

  public init(_ service: Service, isPrimary: Bool) {
    self.service = service
    self.isPrimary = isPrimary
  }
}

/// A characteristic with its descriptors.
public struct SurveyedCharacteristic: Hashable, Sendable {
  public var characteristic: Characteristic
  public var descriptors: [PDU.AttributeInformation] = []

  public init(_ characteristic: Characteristic, descriptors: [PDU.AttributeInformation] = []) {
    self.characteristic = characteristic
    self.descriptors = descriptors
  }
}

/// Where a survey was refused, or told nonsense, and what it missed by that.
public struct SurveyFault: Hashable, Sendable {
  /// What was looked for.
  public enum Step: String, Hashable, Sendable {
    case primaryServices = "primary services"
    case secondaryServices = "secondary services"
    case includes = "included services"
    case characteristics
    case descriptors
    /// The types of all attributes, which are asked for where another step was refused.
    case attributes
  }

  public var step: Step
  /// Where it was looked for.
  public var range: HandleRange
  public var failure: ATTFailure
  /// What stays unknown: a declaration, or all that may lie in a range; nil where it was found by
  /// other means.
  public var lost: HandleRange?

  public init(step: Step, range: HandleRange, failure: ATTFailure, lost: HandleRange?) {
    self.step = step
    self.range = range
    self.failure = failure
    self.lost = lost
  }
}

extension SurveyFault: CustomStringConvertible {
  public var description: String {
    let rest =
      switch lost {
      case nil: "found by other means"
      case let lost? where lost.start == lost.end:
        "what is at \(hexadecimal(lost.start)) stays unknown"
      case let lost?: "what else is in \(lost) stays unknown"
      }
    return "\(step.rawValue) in \(range): \(failure); \(rest)"
  }
}
