// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// Writes values in parts (Vol 3 Part G, 4.9.4), one value after another: a server has one queue of prepared parts for
/// each client, and executes all that is in it.
final class LongWrites {
  private struct Write {
    let handle: Handle
    let value: [UInt8]
    let purpose: Purpose
    let completion: Bearer.Completion
  }

  private let bearer: Bearer
  /// The first is being written.
  private var writes = FIFO<Write>()

  init(_ bearer: Bearer) { self.bearer = bearer }

  /// Writes a value after the earlier ones; `completion` is called once.
  func write(_ handle: Handle, _ value: [UInt8], for purpose: Purpose, _ completion: @escaping Bearer.Completion) {
    writes.append(Write(handle: handle, value: value, purpose: purpose, completion: completion))
    if writes.count == 1 { prepare(from: 0) }
  }

  private func prepare(from start: Int) {
    guard let write = writes.first else { return }
    guard let offset = UInt16(exactly: start) else {
      return cancel(.protocolViolation("a value can't be written at octet \(start)"))
    }
    let part = Array(write.value[start...].prefix(bearer.mtu - 5))
    let request = PDU.prepareWriteRequest(write.handle, offset: offset, value: part)
    bearer.request(request, for: write.purpose) { [self] outcome in
      if case .failure(let failure) = outcome { return cancel(failure) }
      let end = start + part.count
      if end < write.value.count { return prepare(from: end) }
      // Prepared parts are written even if nobody waits for them anymore.
      bearer.request(.executeWriteRequest(.write)) { [self] in finish($0) }
    }
  }

  /// Prepared parts must not stay in the server's queue for a later write to execute.
  private func cancel(_ failure: ATTFailure) {
    bearer.request(.executeWriteRequest(.cancel)) { [self] outcome in
      if case .failure(let end) = outcome, end.isEnd { return finish(outcome) }
      finish(.failure(failure))
    }
  }

  private func finish(_ outcome: Result<PDU, ATTFailure>) {
    let write = writes.popFirst()
    prepare(from: 0)
    write?.completion(outcome)
  }
}
