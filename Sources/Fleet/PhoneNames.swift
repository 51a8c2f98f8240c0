// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON
public import Wire

/// What is kept about a phone from one run to the next.
public struct PhoneRecord: JSONObjectCodable, Hashable, Sendable {
  public var phone = Address(0)
  /// The name that the program has assigned; nil if it has one from the settings.
  public internal(set) var name: TopicName?
  /// Identifies the phone to Home Assistant. It never changes.
  public private(set) var id = ""
  /// The adapters that it was bonded to when they were last present.
  public internal(set) var adapters: [String] = []
  /// When it was last connected, as far as is known.
  public internal(set) var seen: WallTime?
  /// Whether it was connected when that was written, so that a run that reads this was not told when it left.
  public internal(set) var isHere = false

  public init() {}

  init(_ phone: Address, id: String) {
    self.phone = phone
    self.id = id
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("phone", &phone)
    try json.optional("name", &name)
    try json.required("id", &id)
    try json.list("adapters", &adapters)
    try json.optional("seen", &seen)
    try json.flag("here", &isHere)
  }
}

extension TopicName: JSONText { public static let jsonKind = "a name in topics" }

/// The phones' names in topics. No topic or payload contains an address.
public struct PhoneNames: Hashable, Sendable {
  /// The names from the settings.
  private let given: [Address: TopicName]
  /// What is known of each phone. Phones without a name from the settings are `iphone`, `iphone-2` and so on. They are
  /// stored, so a phone keeps its name and its id.
  public private(set) var records: [Address: PhoneRecord]

  public init(given: [Address: TopicName] = [:], records: [PhoneRecord] = []) {
    self.given = given
    self.records = Dictionary(records.map { ($0.phone, $0) }) { first, _ in first }
    // A name that the settings give to another phone is that one's now.
    let taken = Set(given.values)
    for (phone, record) in self.records where record.name.map(taken.contains) ?? false {
      self.records[phone]?.name = nil
    }
  }

  /// The name of a phone; nil if it has none yet.
  ///
  /// - Parameter phone: its identity address; nil if the link has none (`--att`, `--virtual-phone`).
  public func name(of phone: Address?) -> TopicName? {
    guard let phone else { return .phone }
    return given[phone] ?? records[phone]?.name
  }

  /// The phone of a name; nil if no phone has it. A phone without an address is `.some(nil)`.
  func phone(named name: TopicName) -> Address?? {
    if let (phone, _) = given.first(where: { $0.value == name }) { return .some(phone) }
    // The name of a record is kept while the settings have another.
    if let phone = records.keys.first(where: { self.name(of: $0) == name }) { return .some(phone) }
    return name == .phone ? .some(nil) : nil
  }

  /// What is known of the phone of a name; nil if it has no address.
  func record(of name: TopicName) -> PhoneRecord? {
    (phone(named: name) ?? nil).flatMap { records[$0] }
  }

  /// Gives a phone a record, and a name if the settings have none for it.
  mutating func add(_ phone: Address?, newID: () -> String) {
    guard let phone else { return }
    if records[phone] == nil { records[phone] = PhoneRecord(phone, id: newID()) }
    guard name(of: phone) == nil else { return }
    let taken = Set(given.values).union(records.values.compactMap(\.name))
    var number = 1
    var name = TopicName.phone
    while taken.contains(name) {
      number += 1
      name = TopicName("\(TopicName.phone)-\(number)") ?? .phone
    }
    records[phone]?.name = name
  }

  /// Records that a phone is connected, or was until this time.
  mutating func saw(_ name: TopicName, isHere: Bool, at time: WallTime) {
    guard let phone = phone(named: name) ?? nil else { return }
    records[phone]?.seen = time
    records[phone]?.isHere = isHere
  }

  /// Updates on which adapters phones are bonded, and forgets phones that have no bond and no link anymore.
  ///
  /// - Parameter bonds: the bonded phones of each adapter that reports them.
  /// - Returns: the names of those that it has forgotten.
  mutating func update(bonds: [String: Set<Address>], links: Set<Address>) -> [TopicName] {
    var forgotten: [TopicName] = []
    for (phone, record) in records {
      let adapters = Set(record.adapters).subtracting(bonds.keys)
        .union(bonds.filter { $0.value.contains(phone) }.keys)
      records[phone]?.adapters = adapters.sorted()
      guard adapters.isEmpty, !links.contains(phone) else { continue }
      if let name = name(of: phone) { forgotten.append(name) }
      records[phone] = nil
    }
    return forgotten
  }
}
