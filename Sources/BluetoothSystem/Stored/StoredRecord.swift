import FoundationEssentials

/// One record of what the system has promised. It is indirect because one tree holds thousands of records, and a change
/// copies a record's neighbours in the tree. With indirection it copies only references to them, and a small record
/// takes no more memory than it needs.
package indirect enum StoredRecord: Sendable, Hashable {
  case settings(SettingsRecord)
  case app(AppRecord)
  case manager(ManagerRecord)
  case peripheral(PeripheralRecord)
  case service(ServiceRecord)
  case peer(PeerRecord)
  case subscription(SubscriptionRecord)

  package var key: StoreKey {
    switch self {
    case .settings: StoreKey(.settings, "")
    case .app(let record): StoreKey(.app, record.bundleIdentifier)
    case .manager(let record): StoreKey(.manager, record.key.text)
    case .peripheral(let record): PeripheralRecord.key(record.manager, record.peer)
    case .service(let record): StoreKey(.service, record.definition.identifier.uuidString)
    case .peer(let record): StoreKey(.peer, record.identifier.uuidString)
    case .subscription(let record): record.key
    }
  }
}

/// A record as a row of the store: its kind, its name and its value.
package struct StoredRow: Sendable, Hashable {
  package var kind: String
  package var name: String
  /// JSON, in UTF-8.
  package var value: Data
  package init(kind: String, name: String, value: Data) {
    self.kind = kind
    self.name = name
    self.value = value
  }

  /// A title for people: the separators within a name can't be printed.
  var title: String {
    let name = name.split(separator: "\u{1F}").joined(separator: " ")
    return name.isEmpty ? "the record \(kind)" : "the record \(kind) \(name)"
  }
}

/// Why a record can't be read or written.
package struct StoredRecordError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Which record, and what is wrong with it.
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// A value in the form that it has on disk, whatever its name and members are in the program.
///
/// Unknown members are ignored. A member that may be missing is optional here, and its comment says what a missing
/// value means.
protocol DiskForm<Value>: Codable {
  associatedtype Value
  init(_ value: Value)
  var value: Value { get throws }
}

extension StoredRecord {
  /// The record as it is written, in the format `StoreFormat.current`.
  package func row() throws(StoredRecordError) -> StoredRow {
    let key = key
    let encoder = JSONEncoder()
    // The same record always has the same bytes.
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var row = StoredRow(kind: key.kind.rawValue, name: key.name, value: Data())
    do { row.value = try encoder.encode(form) } catch {
      throw StoredRecordError("\(row.title) can't be written: \(error)")
    }
    return row
  }

  private var form: any Encodable {
    switch self {
    case .settings(let record): SettingsRecord.OnDisk(record)
    case .app(let record): AppRecord.OnDisk(record)
    case .manager(let record): ManagerRecord.OnDisk(record)
    case .peripheral(let record): PeripheralRecord.OnDisk(record)
    case .service(let record): ServiceRecord.OnDisk(record)
    case .peer(let record): PeerRecord.OnDisk(record)
    case .subscription(let record): SubscriptionRecord.OnDisk(record)
    }
  }

  /// Reads a row of the format `StoreFormat.current`.
  /// - Throws: which record is damaged, and how.
  package init(_ row: StoredRow) throws(StoredRecordError) {
    do { self = try Self.read(row) } catch {
      var problem = explanation(of: error)
      // JSONDecoder reports invalid JSON if a number does not fit its member.
      if case DecodingError.dataCorrupted(let context)? = error as? DecodingError, context.codingPath.isEmpty,
        (try? JSONDecoder().decode(JSONTree.self, from: row.value)) != nil
      {
        problem = "a number in it is out of its member's range"
      }
      throw StoredRecordError("\(row.title) can't be read: \(problem)")
    }
    guard key.kind.rawValue == row.kind, key.name == row.name else {
      throw StoredRecordError("\(row.title) holds another's value")
    }
  }

  private static func read(_ row: StoredRow) throws -> StoredRecord {
    func record<Form: DiskForm>(_: Form.Type) throws -> Form.Value {
      try JSONDecoder().decode(Form.self, from: row.value).value
    }
    guard let kind = StoreKey.Kind(rawValue: row.kind) else { throw StoredRecordError("there is no such kind") }
    return switch kind {
    case .settings: .settings(try record(SettingsRecord.OnDisk.self))
    case .app: .app(try record(AppRecord.OnDisk.self))
    case .manager: .manager(try record(ManagerRecord.OnDisk.self))
    case .peripheral: .peripheral(try record(PeripheralRecord.OnDisk.self))
    case .service: .service(try record(ServiceRecord.OnDisk.self))
    case .peer: .peer(try record(PeerRecord.OnDisk.self))
    case .subscription: .subscription(try record(SubscriptionRecord.OnDisk.self))
    }
  }
}

/// What is wrong with a value, in words: which member, and why.
func explanation(of error: any Error) -> String {
  func member(_ path: [any CodingKey]) -> String {
    path.map { $0.intValue.map { "[\($0)]" } ?? "." + $0.stringValue }.joined().trimmingPrefix(".").description
  }
  guard let error = error as? DecodingError else { return "\(error)" }
  switch error {
  case .keyNotFound(let key, let context): return "it lacks \(member(context.codingPath + [key]))"
  case .valueNotFound(_, let context): return "\(member(context.codingPath)) is empty"
  case .typeMismatch(_, let context), .dataCorrupted(let context):
    let path = member(context.codingPath)
    return path.isEmpty ? context.debugDescription : "\(path): \(context.debugDescription)"
  @unknown default: return "\(error)"
  }
}
