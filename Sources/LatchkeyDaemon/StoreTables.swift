import BluetoothSystem
import Foundation
import GRDB
import LatchkeyVersion

/// The store's tables, and how a store of an older format is upgraded.
///
/// There is one number for the format of tables and records: SQLite's `user_version` (`StoreFormat`). The table
/// `about` must stay as it is in every later format: an older latchkeyd reads there which version wrote the store.
enum StoreTables {
  static let current = Int32(StoreFormat.current)

  private static let about = "CREATE TABLE about (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"

  /// The tables of the present format.
  private static let all = """
    CREATE TABLE record (kind TEXT NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (kind, name))
      WITHOUT ROWID;
    \(about)
    """

  /// The steps that change tables on the way to a format. A step is never edited again.
  private static let steps: [Int32: String] = [
    // Format 1 kept the machine's name in a table of its own, and GRDB's own list of migrations.
    2: """
    \(about)
    INSERT INTO about SELECT 'home', value FROM home;
    DROP TABLE home;
    DROP TABLE IF EXISTS grdb_migrations;
    """
  ]

  /// Creates the tables of a new store.
  static func make(_ database: Database, home: String) throws {
    try database.execute(sql: all)
    try database.execute(sql: "INSERT INTO about VALUES ('home', ?)", arguments: [home])
    try database.execute(sql: "PRAGMA application_id = \(Store.applicationIdentifier)")
    try database.execute(sql: "PRAGMA user_version = \(current)")
    try noteWriter(database)
  }

  static func format(_ database: Database) throws -> Int32 {
    try Int32.fetchOne(database.cachedStatement(sql: "PRAGMA user_version")) ?? 0
  }

  /// The machine that the store belongs to, or `nil` if it does not say.
  static func home(_ database: Database, format: Int32) throws -> String? {
    try String.fetchOne(
      database, sql: format == 1 ? "SELECT value FROM home" : "SELECT value FROM about WHERE name = 'home'")
  }

  /// The version of the latchkeyd that last wrote the store, in any format, or `nil` if the store does not say.
  static func writer(_ database: Database) -> String? {
    try? String.fetchOne(database, sql: "SELECT value FROM about WHERE name = 'writer'")
  }

  private static func noteWriter(_ database: Database) throws {
    try database.execute(
      sql: "INSERT OR REPLACE INTO about VALUES ('writer', ?)", arguments: [LatchkeyVersion.current])
  }

  /// Every record in the present format, whatever the store's format is.
  static func records(_ database: Database) throws -> [StoredRecord] {
    try records(rows(database))
  }

  /// The rows, brought to the present format.
  private static func rows(_ database: Database) throws -> [StoredRow] {
    let format = Int(try format(database))
    return try Row.fetchAll(database, sql: "SELECT kind, name, value FROM record").map { row in
      // SQLite's columns accept values of any type.
      guard let kind = String.fromDatabaseValue(row["kind"]), let name = String.fromDatabaseValue(row["name"])
      else {
        throw StoredRecordError("a record has no kind or no name")
      }
      guard case .blob(let value) = (row["value"] as DatabaseValue).storage else {
        throw StoredRecordError("the record \(kind) \(name) holds no bytes")
      }
      return try StoreFormat.upgrade(StoredRow(kind: kind, name: name, value: value), from: format)
    }
  }

  private static func records(_ rows: [StoredRow]) throws -> [StoredRecord] {
    try rows.map { row throws in try StoredRecord(row) }
  }

  /// Brings a store to the present format, within the transaction that the caller has begun. If a record can't be
  /// read, nothing is changed.
  static func upgrade(_ database: Database) throws {
    let format = try format(database)
    guard format < current else { return }
    let rows = try rows(database)
    _ = try records(rows)
    for next in (format + 1)...current {
      if let sql = steps[next] { try database.execute(sql: sql) }
    }
    try database.execute(sql: "DELETE FROM record")
    for row in rows { try put(row, database) }
    try database.execute(sql: "PRAGMA user_version = \(current)")
    try noteWriter(database)
  }

  /// Whether a store needs an update for this program: of its format, or of the note which version wrote it.
  static func isBehind(_ database: Database) throws -> Bool {
    try format(database) < current || writer(database) != LatchkeyVersion.current
  }

  /// Makes up for what `isBehind` found, within the transaction that the caller has begun.
  static func catchUp(_ database: Database) throws {
    try upgrade(database)
    if writer(database) != LatchkeyVersion.current { try noteWriter(database) }
  }

  static func put(_ row: StoredRow, _ database: Database) throws {
    let statement = try database.cachedStatement(
      sql: "INSERT OR REPLACE INTO record (kind, name, value) VALUES (?, ?, ?)")
    try statement.execute(arguments: [row.kind, row.name, row.value])
  }
}
