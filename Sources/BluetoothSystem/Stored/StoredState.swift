import HashTreeCollections

/// Everything the system has promised, as it is on disk: small records by key, so that a change affects one row.
///
/// Each kind of record has its own file in this folder: what the system keeps (`PeerRecord`), and its form on disk
/// (`PeerRecord.OnDisk`). `StoreFormat` says how the format may change.
package struct StoredState: Sendable, Hashable {
  // A tree: while a turn may have to be undone, a change copies a few nodes and not everything that is stored.
  package private(set) var records: TreeDictionary<StoreKey, StoredRecord> = [:]
  package init() {}

  package init(_ records: some Sequence<StoredRecord>) {
    // Thousands of peripherals name the same few managers. Each was read from disk with strings of its own, so all of
    // them are given one shared key.
    var managers: Set<ManagerKey> = []
    for record in records {
      var record = record
      if case .peripheral(var peripheral) = record {
        peripheral.manager = managers.insert(peripheral.manager).memberAfterInsert
        record = .peripheral(peripheral)
      }
      self.records[record.key] = record
    }
  }

  package mutating func apply(_ change: StoreChange) {
    switch change {
    case .put(let record): records[record.key] = record
    case .remove(let key): records[key] = nil
    }
  }
}

/// One change of what is on disk.
package enum StoreChange: Sendable, Hashable {
  case put(StoredRecord)
  case remove(StoreKey)
}

/// The name of a record: unique within its kind. Both are on disk exactly as they are here.
package struct StoreKey: Sendable, Hashable, Comparable {
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    case settings = "settings"
    case app = "app"
    case manager = "manager"
    case peripheral = "peripheral"
    case service = "service"
    case peer = "peer"
    case subscription = "subscription"
  }
  package let kind: Kind
  package let name: String
  package init(_ kind: Kind, _ name: String) {
    self.kind = kind
    self.name = name
  }
  package static func < (left: Self, right: Self) -> Bool {
    left.kind == right.kind ? left.name < right.name : left.kind.rawValue < right.kind.rawValue
  }
}
