// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import Mgmt
import Scratch
import System
import Testing
import Wire

@testable import CentralTools

@Suite("Virtual phone: its stored state")
struct PhoneStoreTests {
  private let scratch: Scratch
  private let store: PhoneStore

  init() throws {
    scratch = try Scratch()
    store = PhoneStore(directory: "\(scratch.path)/state", adapter: Address(0xF0F1_F2F3_F4F6))
  }

  @Test("A new phone has its own keys, and reads nothing if nothing was saved")
  func new() throws {
    #expect(try store.load() == nil)
    #expect(PhoneKeys() != PhoneKeys())
  }

  @Test("Saved state is read again, and nobody else may read it")
  func roundTrip() throws {
    var keys = PhoneKeys()
    let board = DeviceAddress(Address(0xF0F1_F2F3_F4F5), .public)
    let key = try LongTermKey(
      entry: board.address.littleEndian + [1, 2, 0, 16] + [UInt8](repeating: 0, count: 10)
        + [UInt8](repeating: 0x5A, count: 16))
    keys.bonds = [Bond(identity: board, longTermKeys: [key])]
    try store.save(keys)
    #expect(try store.load() == keys)
    #expect(store.path.hasSuffix("/f0f1f2f3f4f6.json"))
    #expect(try Files.kind(of: store.path) == .file)
    keys.bonds = []
    try store.save(keys)
    #expect(try store.load()?.bonds == [])
  }

  @Test(
    "A file that can't be used is left alone, and the error says which",
    arguments: ["", "{}", "{\"version\":2}", "{\"version\":1,\"identity_resolving_key\":\"00\"}"])
  func unusable(text: String) throws {
    try store.save(PhoneKeys())
    try AtomicFile.save(Array(text.utf8), to: store.path)
    let failure = #expect(throws: Failure.self) { try store.load() }
    #expect(failure?.line.contains(store.path) == true)
    #expect(failure?.status == .noInput)
    #expect(try Files.read(store.path) == Array(text.utf8))
  }
}
