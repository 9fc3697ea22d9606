import BluetoothSystem
import DurableFiles
import Foundation
import GRDB
import LatchkeyVersion

/// Makes the system's changes durable.
package protocol StateStore: Sendable {
  /// Makes the changes durable, all or none. Without changes, it checks whether it could.
  /// - Throws: `StoreWriteError` if that failed. The store is then unchanged.
  func write(_ changes: [StoreChange]) throws(StoreWriteError)
}

/// Why changes could not be made durable.
package struct StoreWriteError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What was wrong and what to do, as a sentence.
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// What latchkeyd has promised, on disk: an SQLite database with one row per record. Every change is durable before
/// it counts.
///
/// While the database is open, this process has it to itself (`locking_mode=EXCLUSIVE`). Other programs find it
/// locked, so they can't make latchkeyd wait. It needs no shared memory either, so what is stored can be read even if
/// the disk is full.
package final class Store: StateStore {
  let database: DatabaseQueue
  /// The connection that inspected the store, long closed but never freed. Freeing a GRDB queue takes a thread from
  /// libdispatch's pool, which then wakes up once a second for as long as the process lives.
  private let inspected: DatabaseQueue
  private let built: DatabaseQueue?

  /// "LKEY"
  static let applicationIdentifier: Int32 = 0x4C4B_4559
  /// SQLite's number for `synchronous=FULL`: a commit returns when it is on disk.
  static let fullSynchronous = 2
  /// How long a start waits for another program that has locked the store.
  private static let lockWaitSeconds: TimeInterval = 5

  /// Opens the folder's store, creating the first one, and brings it to the present format (`StoreFormat`).
  /// - Throws: `DaemonError` if the store is damaged, lost, newer, or belongs to another program or machine. It is
  ///   not changed.
  package convenience init(_ folder: StateFolder) throws(DaemonError) {
    try self.init(folder, StoreBeginning(folder: folder))
  }

  /// - Parameter prepare: lets a test prepare the connection first.
  init(
    _ folder: StateFolder, _ beginning: StoreBeginning,
    prepare: @escaping @Sendable (Database) throws -> Void = { _ in }
  ) throws(DaemonError) {
    let path = folder.storePath
    do {
      var built: DatabaseQueue?
      try beginning.prepare { built = try Self.build($0, home: folder.home) }
      self.built = built
      // Inspected before anything else, so that a store that is refused is not changed.
      inspected = try Self.inspect(folder)
      try beginning.finish()
      var configuration = Self.configuration(isNew: false)
      configuration.prepareDatabase(prepare)
      database = try DatabaseQueue(path: path, configuration: configuration)
      try Self.checkDurability(database, path)
      try Self.protect(path)
      try Self.catchUp(database)
    } catch let error as DaemonError {
      throw error
    } catch {
      throw Self.explained(error, path, beginning)
    }
  }

  /// Everything that is stored.
  package func load() throws(DaemonError) -> StoredState {
    do { return StoredState(try database.read { try StoreTables.records($0) }) } catch {
      let folder = (database.path as NSString).deletingLastPathComponent
      throw DaemonError(
        "The state in \(database.path) is damaged or can't be read (\(error)). Nothing was changed. Restore it from a "
          + "backup, or set it aside and start with an empty state: latchkeyd --state \(folder) --set-aside; apps then "
          + "lose what they asked for.", needsPerson: true)
    }
  }

  package func write(_ changes: [StoreChange]) throws(StoreWriteError) {
    do {
      let encoded = try changes.map { change -> (key: StoreKey, row: StoredRow?) in
        switch change {
        case .put(let record): (record.key, try record.row())
        case .remove(let key): (key, nil)
        }
      }
      try database.write { database in
        // In case the disk had no room for it at the start.
        try StoreTables.upgrade(database)
        // Even the same value is written, so that the trial is like a change.
        if encoded.isEmpty { try database.execute(sql: "PRAGMA user_version = \(StoreTables.current)") }
        for (key, row) in encoded {
          if let row {
            try StoreTables.put(row, database)
          } else {
            let statement = try database.cachedStatement(sql: "DELETE FROM record WHERE kind = ? AND name = ?")
            try statement.execute(arguments: [key.kind.rawValue, key.name])
          }
        }
      }
    } catch { throw Self.writeError(error, database.path) }
  }

  package func close() { try? database.close() }

  /// - Parameter isNew: for a store that is being created on disk, under another name.
  private static func configuration(isNew: Bool) -> Configuration {
    var configuration = Configuration()
    configuration.busyMode = .timeout(lockWaitSeconds)
    // GRDB's own `.wal` would set synchronous to NORMAL after these statements.
    configuration.journalMode = .default
    configuration.prepareDatabase { database in
      // Before the first access to the file; otherwise there would be shared memory.
      try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
      if !isNew {
        let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL")
        guard mode == "wal" else { throw StoreDamage("it can't have a write-ahead log, but \(mode ?? "none")") }
      }
      try database.execute(sql: "PRAGMA synchronous = FULL")
    }
    return configuration
  }

  /// Asks the connection itself for the settings that the promises depend on.
  private static func checkDurability(_ database: DatabaseQueue, _ path: String) throws {
    let (synchronous, journal) = try database.read { database in
      (
        try Int.fetchOne(database, sql: "PRAGMA synchronous"), try String.fetchOne(database, sql: "PRAGMA journal_mode")
      )
    }
    guard synchronous == fullSynchronous, journal == "wal" else {
      throw DaemonError(
        "SQLite does not store durably in \(path) (synchronous \(synchronous ?? -1), journal \(journal ?? "none")), so "
          + "nothing can be promised. Nothing was changed. This is a fault of latchkeyd or of the SQLite that is "
          + "installed.", needsPerson: true)
    }
  }

  /// - Returns: the connection, closed.
  private static func inspect(_ folder: StateFolder) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(lockWaitSeconds)
    do {
      return try inspect(folder, configuration)
    } catch let error as DatabaseError where isWithoutSpace(error) {
      // Reading needs shared memory, and there is no room for it. An exclusive connection needs none.
      return try inspect(folder, Self.configuration(isNew: false))
    }
  }

  private static func inspect(_ folder: StateFolder, _ configuration: Configuration) throws -> DatabaseQueue {
    let path = folder.storePath
    let database = try DatabaseQueue(path: path, configuration: configuration)
    defer { try? database.close() }
    try database.read { database in
      let application = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
      let version = try Int32.fetchOne(database, sql: "PRAGMA user_version") ?? 0
      let isEmpty = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") == 0
      if isEmpty, application == 0 {
        throw StoreBeginning(folder: folder).damaged("\(path) is a database with nothing in it, not latchkeyd's store.")
      }
      guard application == applicationIdentifier else {
        throw DaemonError(
          "\(path) is another program's database. Nothing was changed. Start latchkeyd with another --state, or put "
            + "the file aside with latchkeyd --state \(folder.path) --set-aside.", needsPerson: true)
      }
      guard version <= StoreTables.current else {
        let writer = StoreTables.writer(database)
        throw DaemonError(
          "The state in \(folder.path) was written by a newer latchkeyd (\(writer ?? "of unknown version"); format "
            + "\(version)). This one, \(LatchkeyVersion.current), knows formats up to \(StoreTables.current). Nothing was "
            + "changed. Install \(writer.map { "latchkeyd \($0)" } ?? "the newer one"), or start this one with another "
            + "--state.", needsPerson: true)
      }
      let check = try String.fetchAll(database, sql: "PRAGMA quick_check(1)")
      guard version >= 1, check == ["ok"] else {
        throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: check.first)
      }
      let home = try StoreTables.home(database, format: version)
      guard home == folder.home else {
        throw DaemonError(
          "The state in \(folder.path) belongs to another machine or folder (\(home ?? "none"); this is \(folder.home)). "
            + "Bonds and promises do not move with a copy. Start with another --state, or put the copy aside with "
            + "latchkeyd --state \(folder.path) --set-aside.", needsPerson: true)
      }
    }
    return database
  }

  /// Creates a complete store.
  /// - Returns: the connection, closed.
  private static func build(_ path: String, home: String) throws -> DatabaseQueue {
    let database = try DatabaseQueue(path: path, configuration: configuration(isNew: true))
    defer { try? database.close() }
    try database.write { try StoreTables.make($0, home: home) }
    try protect(path)
    return database
  }

  /// Brings a store to the present format, completely or not at all. If the disk has no room for that, what is stored
  /// is served as it is, and the first write that has room does it.
  private static func catchUp(_ database: DatabaseQueue) throws {
    do {
      guard try database.read({ try StoreTables.isBehind($0) }) else { return }
      try database.write { try StoreTables.catchUp($0) }
    } catch let error as DatabaseError where isWithoutSpace(error) { return }
  }

  private static func protect(_ path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }
}

// MARK: - Errors

extension Store {
  private struct StoreDamage: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  private static func isWithoutSpace(_ error: DatabaseError) -> Bool {
    [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_READONLY].contains(error.resultCode.primaryResultCode)
  }

  private static func explained(_ error: any Error, _ path: String, _ beginning: StoreBeginning) -> DaemonError {
    if let error = error as? DatabaseError {
      if [.SQLITE_BUSY, .SQLITE_LOCKED].contains(error.resultCode.primaryResultCode) {
        return DaemonError(
          "Another program has \(path) locked, and \(Int(lockWaitSeconds)) s were not enough. End that program; sqlite3 "
            + "or a backup may be one. Nothing was changed.")
      }
      if isWithoutSpace(error) { return DaemonError(writeError(error, path).description) }
    }
    if let error = error as? DurableFileError {
      return DaemonError("The state can't be kept: \(error). Make room, or mend the disk. Nothing was lost.")
    }
    return beginning.damaged("The state in \(path) is damaged or can't be read (\(error)).")
  }

  private static func writeError(_ error: any Error, _ path: String) -> StoreWriteError {
    guard let error = error as? DatabaseError else { return StoreWriteError("\(path) can't be written: \(error).") }
    switch error.resultCode.primaryResultCode {
    case .SQLITE_FULL:
      return StoreWriteError("The disk with \(path) is full; make room on it.")
    case .SQLITE_BUSY, .SQLITE_LOCKED:
      return StoreWriteError("Another program has \(path) locked; end it, sqlite3 or a backup may be one.")
    case .SQLITE_READONLY:
      return StoreWriteError("\(path) can't be written to: the file, its folder or the disk is read-only.")
    case .SQLITE_IOERR, .SQLITE_CANTOPEN:
      return StoreWriteError("\(path) can't be written (\(error)); is the disk full, or broken?")
    default:
      return StoreWriteError("\(path) can't be written (\(error)).")
    }
  }
}
