// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT

// What went wrong with the phone, as clients of the control socket are told.

extension RPCError {
  init(_ failure: ATTFailure) {
    if let code = failure.code {
      self = .phone("\(code)", att: code.rawValue)
    } else if failure.isEnd {
      self = .unavailable("\(failure)")
    } else {
      self = .tryAgain("\(failure)")
    }
  }

  init(_ failure: FetchFailure) {
    if let code = failure.code {
      self = .phone("\(failure)", att: code.rawValue)
    } else if case .ended = failure {
      self = .unavailable("\(failure)")
    } else {
      self = .tryAgain("\(failure)")
    }
  }

  init(_ failure: MediaFailure) {
    switch failure {
    case .refused(let code): self = .phone("\(failure)", att: code.rawValue)
    // The player said beforehand that it would refuse.
    case .unsupported: self.init(code: Code.phone, message: "\(failure)")
    case .noRemoteCommand: self = .unavailable("\(failure)")
    case .undelivered(let cause): self.init(cause)
    }
  }
}
