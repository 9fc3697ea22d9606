import BluetoothSystem
import Foundation
import GRDB

/// What latchkeyd has promised, on disk: SQLite, one row a record, and every change durable before it counts.
public final class Store: Sendable {
  private let database: DatabaseQueue
  /// The connection through which the store was looked at, closed long since and never freed: to free a queue of GRDB's
  /// libdispatch takes a thread from its pool, and looks after that pool once a second for as long as the process lives.
  private let inspected: DatabaseQueue?

  /// "LKEY"
  static let applicationIdentifier: Int32 = 0x4C4B_4559
  /// The version of the tables. A store of a newer one is refused.
  static let version: Int32 = 1

  /// Opens the folder's store, made where there is none.
  /// - Throws: `DaemonError` where it is damaged, newer, another program's or another machine's. It is left as it is.
  public init(_ folder: StateFolder) throws(DaemonError) {
    let path = folder.storePath
    do {
      var configuration = Configuration()
      configuration.journalMode = .wal
      configuration.prepareDatabase { database in try database.execute(sql: "PRAGMA synchronous = FULL") }
      // Looked at before anything, so that a store that is refused is not changed.
      inspected = FileManager.default.fileExists(atPath: path) ? try Self.inspect(path, folder) : nil
      database = try DatabaseQueue(path: path, configuration: configuration)
      try Self.migrate(database, home: folder.home)
      try Self.protect(path)
    } catch let error as DaemonError {
      throw error
    } catch {
      throw Self.explained(error, path)
    }
  }

  /// Everything that is stored.
  public func load() throws(DaemonError) -> StoredState {
    do {
      let records = try database.read { database in
        try Row.fetchAll(database, sql: "SELECT kind, name, value FROM record").map { row in
          let record = try JSONDecoder().decode(StoredRecord.self, from: row["value"] as Data)
          let kind: String = row["kind"]
          guard record.key.kind.rawValue == kind, record.key.name == row["name"] else {
            throw DaemonError("the record \(kind) \(row["name"] as String) holds another's value")
          }
          return record
        }
      }
      return StoredState(records)
    } catch { throw Self.explained(error, database.path) }
  }

  /// Makes the changes durable, all or none.
  public func write(_ changes: [StoreChange]) throws {
    guard !changes.isEmpty else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let encoded = try changes.map { change -> (StoreKey, Data?) in
      switch change {
      case .put(let record): (record.key, try encoder.encode(record))
      case .remove(let key): (key, nil)
      }
    }
    try database.write { database in
      for (key, value) in encoded {
        if let value {
          let statement = try database.cachedStatement(
            sql: "INSERT OR REPLACE INTO record (kind, name, value) VALUES (?, ?, ?)")
          try statement.execute(arguments: [key.kind.rawValue, key.name, value])
        } else {
          let statement = try database.cachedStatement(sql: "DELETE FROM record WHERE kind = ? AND name = ?")
          try statement.execute(arguments: [key.kind.rawValue, key.name])
        }
      }
    }
  }

  public func close() { try? database.close() }

  /// - Returns: the connection, closed.
  private static func inspect(_ path: String, _ folder: StateFolder) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.readonly = true
    let database = try DatabaseQueue(path: path, configuration: configuration)
    defer { try? database.close() }
    try database.read { database in
      let application = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
      let version = try Int32.fetchOne(database, sql: "PRAGMA user_version") ?? 0
      let isEmpty = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") == 0
      if isEmpty, application == 0 { return }
      guard application == applicationIdentifier else {
        throw DaemonError("\(path) is another program's database; start latchkeyd with another --state.")
      }
      guard version <= self.version else {
        throw DaemonError(
          "The state in \(folder.path) was written by a newer latchkeyd (version \(version); this one knows "
            + "\(self.version)). Install the newer one, or start this one with another --state.")
      }
      let check = try String.fetchAll(database, sql: "PRAGMA quick_check(1)")
      guard check == ["ok"] else {
        throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: check.first)
      }
      let home = try String.fetchOne(database, sql: "SELECT value FROM home")
      guard home == nil || home == folder.home else {
        throw DaemonError(
          "The state in \(folder.path) belongs to another machine or folder (\(home ?? ""); this is \(folder.home)). "
            + "Bonds and promises do not move with a copy. Start with another --state, or put the copy aside with "
            + "latchkeyd --state \(folder.path) --set-aside.")
      }
    }
    return database
  }

  private static func migrate(_ database: DatabaseQueue, home: String) throws {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1: records") { database in
      try database.execute(
        sql: """
          CREATE TABLE record (kind TEXT NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (kind, name))
            WITHOUT ROWID;
          CREATE TABLE home (value TEXT NOT NULL);
          """)
      try database.execute(sql: "INSERT INTO home (value) VALUES (?)", arguments: [home])
      try database.execute(sql: "PRAGMA application_id = \(applicationIdentifier)")
      try database.execute(sql: "PRAGMA user_version = \(version)")
    }
    try migrator.migrate(database)
  }

  private static func protect(_ path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }

  private static func explained(_ error: any Error, _ path: String) -> DaemonError {
    DaemonError(
      "The state in \(path) is damaged or can't be read (\(error)). Nothing was changed. Restore it from a backup, or "
        + "put it aside and begin anew with latchkeyd --state \((path as NSString).deletingLastPathComponent) "
        + "--set-aside; apps then lose what they asked for.")
  }
}
