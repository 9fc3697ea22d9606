import AppLink
import BluetoothSystem
import Foundation
import GRDB
import LatchkeyVersion
import Testing

@testable import LatchkeyDaemon

@Suite("Stores of every format that was ever released")
struct GoldenStoreTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path + "/state" }
  private var file: String { path + "/state.sqlite" }

  init() throws { folder = try TemporaryFolder() }

  private func open() throws -> Store { try Store(StateFolder(path: path, machine: "phone")) }

  private func load() throws -> StoredState {
    let store = try open()
    defer { store.close() }
    return try store.load()
  }

  /// The contents of the store's file by table, or `nil` for a missing table.
  private func dump() throws -> (format: Int32?, tables: [String], rows: [StoredRow]) {
    let database = try DatabaseQueue(path: file)
    defer { try? database.close() }
    return try database.read { database in
      (
        try Int32.fetchOne(database, sql: "PRAGMA user_version"),
        try String.fetchAll(database, sql: "SELECT sql FROM sqlite_schema WHERE type = 'table' ORDER BY name"),
        try Row.fetchAll(database, sql: "SELECT kind, name, value FROM record ORDER BY kind, name").map {
          StoredRow(kind: $0["kind"], name: $0["name"], value: $0["value"])
        }
      )
    }
  }

  /// SQL that changes the values of a kind of record. `text` stands for the existing value.
  private func update(_ value: String, of kind: String) -> String {
    "UPDATE record SET value = \(value.replacingOccurrences(of: "text", with: "CAST(value AS TEXT)")) "
      + "WHERE kind = '\(kind)';"
  }

  /// - Returns: the refusal, or an empty text if there was none.
  private func refusal() -> String {
    do {
      _ = try load()
      return ""
    } catch { return "\(error)" }
  }

  @Test(
    "Change 7: a store of each format is opened, and everything that was promised in it is there",
    arguments: [
      ("format-1", nil, false, nil, false, false), ("format-1-unproven-bond", true, false, nil, false, false),
      ("format-2-before-wakes", true, false, nil, false, false),
      ("format-2-before-ending-links", true, true, nil, false, false),
      ("format-2-before-link-facts", true, true, true, false, false),
      ("format-2-before-new-subscribers", true, true, true, true, false), ("format-2", true, true, true, true, true),
    ] as [(String, Bool?, Bool, Bool?, Bool, Bool)])
  func everyFormat(
    _ name: String, isBondUnproven: Bool?, hasWakes: Bool, isEnding: Bool?, hasLinkFacts: Bool, hasNewSubscribers: Bool
  ) throws {
    try GoldenStore.place(name, at: path)
    let everything = StoredState(
      try GoldenStore.everything(
        isBondUnproven: isBondUnproven, hasWakes: hasWakes, isEnding: isEnding, hasLinkFacts: hasLinkFacts,
        hasNewSubscribers: hasNewSubscribers))
    #expect(try load() == everything)
    // Once more, as it is on disk now.
    #expect(try load() == everything)
  }

  @Test("Change 7: a phone of the first release keeps its request, its link and its subscription over the upgrade")
  func phone() throws {
    try GoldenStore.place("format-1-phone", at: path)
    let records = Array(try load().records.values)
    #expect(records.count == 5)
    let peripherals = records.compactMap { if case .peripheral(let record) = $0 { record } else { nil } }
    let peripheral = try #require(peripherals.first)
    #expect(peripheral.isWanted && peripheral.told == .connected)
    #expect(peripheral.manager.restoreIdentifier == "org.latchkey.agent.central")
    let characteristics = try #require(peripheral.services?.first?.characteristics)
    #expect(characteristics.map(\.isNotifying).contains(true))
    #expect(records.contains { if case .peer(let record) = $0 { record.identifier == peripheral.peer } else { false } })
  }

  @Test("Change 7: a door of the first release keeps its services, its advertisement and its subscribers")
  func door() throws {
    try GoldenStore.place("format-1-door", at: path)
    let records = Array(try load().records.values)
    let services = records.compactMap { if case .service(let record) = $0 { record } else { nil } }
    let service = try #require(services.first)
    #expect(services.count == 1 && service.definition.characteristics.count > 1)
    let managers = records.compactMap { if case .manager(let record) = $0 { record } else { nil } }
    let manager = try #require(managers.first)
    #expect(manager.advertisement?.serviceUUIDs == [service.definition.uuid])
    let remembered = records.compactMap { if case .subscription(let record) = $0 { record } else { nil } }
    #expect(remembered.count == 2)
    for subscription in remembered {
      #expect(manager.subscribers[subscription.characteristic] == [subscription.central])
    }
  }

  /// Notices a change of the format. See `StoreFormat` for what such a change requires.
  ///
  /// With `LATCHKEY_GOLDEN_STORE=FOLDER` the store is left in that folder, for `scripts/store-as-sql FOLDER`.
  @Test("Change 7: what is written now is the golden store of the present format, byte by byte")
  func present() throws {
    let kept = ProcessInfo.processInfo.environment["LATCHKEY_GOLDEN_STORE"]
    do {
      let store = try Store(StateFolder(path: kept ?? path, machine: "phone"))
      try store.write(try GoldenStore.everything().map { .put($0) })
      store.close()
    }
    guard kept == nil else { return }
    let written = try dump()
    let golden = try TemporaryFolder()
    try GoldenStore.place("format-\(StoreFormat.current)", at: golden.path + "/state")
    try FileManager.default.moveItem(atPath: file, toPath: file + ".written")
    try FileManager.default.moveItem(atPath: golden.path + "/state/state.sqlite", toPath: file)
    let expected = try dump()
    #expect(written.format == expected.format && written.tables == expected.tables)
    #expect(written.rows.map(\.name) == expected.rows.map(\.name))
    for (row, golden) in zip(written.rows, expected.rows) {
      #expect(String(decoding: row.value, as: UTF8.self) == String(decoding: golden.value, as: UTF8.self))
    }
  }

  @Test("Change 7: a migrated store has the tables of a new one, and names the program that migrated it")
  func sameTables() throws {
    try open().close()
    let new = try dump()
    try FileManager.default.removeItem(atPath: path)
    try GoldenStore.place("format-1", at: path)
    try open().close()
    let upgraded = try dump()
    #expect(upgraded.tables == new.tables)
    #expect(upgraded.format == Int32(StoreFormat.current) && new.format == upgraded.format)
    let database = try DatabaseQueue(path: file)
    #expect(try database.read { StoreTables.writer($0) } == LatchkeyVersion.current)
    #expect(
      try database.read { try StoreTables.home($0, format: 2) }?.hasPrefix("phone:") == true)
    try database.close()
  }

  @Test("Change 7: members that a newer latchkeyd added are ignored")
  func unknownMembers() throws {
    try GoldenStore.place(
      "format-2", at: path,
      change: Set(GoldenStore.everything().map(\.key.kind.rawValue)).sorted().map {
        update("CAST(json_set(text, '$.later', json('{\"a\":[1]}'), '$.manager.later', 1) AS BLOB)", of: $0)
      }.joined())
    #expect(try load() == StoredState(try GoldenStore.everything()))
  }

  @Test(
    "Change 7: each member that may be missing may be missing, and the rest is read",
    arguments: [
      ("settings", "$.databaseMark"), ("app", "$.process"), ("manager", "$.scan"), ("manager", "$.advertisement"),
      ("manager", "$.subscribers"), ("manager", "$.scan.services"), ("manager", "$.scan.allowDuplicates"),
      ("manager", "$.scan.solicitedServices"), ("manager", "$.advertisement.localName"),
      ("manager", "$.advertisement.serviceUUIDs"), ("peripheral", "$.options"),
      ("peripheral", "$.options.notifyOnConnection"), ("peripheral", "$.options.notifyOnDisconnection"),
      ("peripheral", "$.options.notifyOnNotification"), ("peripheral", "$.options.enableAutoReconnect"),
      ("peripheral", "$.options.startDelaySeconds"), ("peripheral", "$.services"),
      ("peripheral", "$.services[1].includedServices"), ("peripheral", "$.services[1].characteristics"),
      ("peripheral", "$.services[1].characteristics[0].descriptors"), ("service", "$.definition.includedServices"),
      ("service", "$.definition.characteristics[1].value"), ("service", "$.definition.characteristics[0].descriptors"),
      ("peer", "$.name"), ("peer", "$.services"), ("peer", "$.isBondUnproven"), ("peer", "$.isEnding"),
    ])
  func missing(_ kind: String, _ member: String) throws {
    try GoldenStore.place(
      "format-2", at: path,
      change: update("CAST(json_remove(text, '\(member)') AS BLOB)", of: kind))
    let found = try load()
    #expect(found != StoredState(try GoldenStore.everything()))
    #expect(found.records.count == (try GoldenStore.everything().count))
  }

  @Test(
    "Change 7: an unreadable record is named, with its member and the problem; the store is not changed",
    arguments: [
      ("format-2", "json_set(text, '$.told', 'asleep')", "peripheral", "told"),
      ("format-2", "json_remove(text, '$.isWanted')", "peripheral", "isWanted"),
      ("format-2", "json_set(text, '$.services[1].uuid', 'x')", "peripheral", "\"x\" is not a Bluetooth UUID"),
      ("format-2", "json_set(text, '$.services[1].handle', 65536)", "peripheral", "out of its member's range"),
      ("format-2", "json_set(text, '$.address', '1')", "peer", "address"),
      ("format-2", "json_set(text, '$.state', 'dreaming')", "app", "state"),
      ("format-2", "json_set(text, '$.definition.characteristics[1].value', '0')", "service", "hexadecimal"),
      ("format-1", "json_set(text, '$.peripheral._0.told', 4)", "peripheral", "told"),
      ("format-1", "json_remove(text, '$.app._0.launches')", "app", "launches"),
      ("format-1", "json_set(text, '$.service._0.definition.characteristics[1].value[0]', 256)", "service", "value"),
      ("format-1", "json_set(text, '$.manager._0.subscribers[1]', 5)", "manager", "subscribers"),
      ("format-1", "json_object('peer', 5)", "peer", "it holds no peer"), ("format-1", "'{'", "settings", "settings"),
    ])
  func unreadable(_ name: String, _ value: String, _ kind: String, _ told: String) throws {
    try GoldenStore.place(
      name, at: path, change: update("CAST(\(value) AS BLOB)", of: kind))
    let before = try dump()
    let text = refusal()
    #expect(text.contains("the record \(kind)") && text.contains(told), "\(text)")
    #expect(text.contains("Nothing was changed") && text.contains("--set-aside"))
    #expect(!text.contains("\u{1F}"))
    let after = try dump()
    #expect(after.format == before.format && after.tables == before.tables && after.rows == before.rows)
  }

  @Test("Change 7: a newer store names the latchkeyd that wrote it, and is not changed")
  func newer() throws {
    try open().close()
    do {
      let database = try DatabaseQueue(path: file)
      try database.write {
        try $0.execute(sql: "UPDATE about SET value = '7.1.0' WHERE name = 'writer'; PRAGMA user_version = 9")
      }
      try database.close()
    }
    let text = refusal()
    for part in ["newer latchkeyd (7.1.0; format 9)", "Install latchkeyd 7.1.0", LatchkeyVersion.current, path] {
      #expect(text.contains(part), "\(text)")
    }
    #expect(try dump().format == 9)
  }

  @Test(
    "Change 7: on a full disk a store of an older format is served, and brought up by the first write that has room")
  func full() throws {
    try GoldenStore.place("format-1", at: path)
    let everything = StoredState(
      try GoldenStore.everything(
        isBondUnproven: nil, hasWakes: false, isEnding: nil, hasLinkFacts: false, hasNewSubscribers: false))
    let state = try StateFolder(path: path, machine: "phone")
    let store = try Store(state, StoreBeginning(folder: state)) { database in
      let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
      try database.execute(sql: "PRAGMA max_page_count = \(pages)")
    }
    #expect(try store.load() == everything)
    let wish = try #require(everything.records.values.first)
    #expect(throws: StoreWriteError("The disk with \(file) is full; make room on it.")) { try store.write([]) }
    #expect(throws: StoreWriteError.self) { try store.write([.remove(wish.key)]) }
    #expect(try store.load() == everything)
    try store.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 100000") }
    try store.write([.remove(wish.key)])
    var left = everything
    left.apply(.remove(wish.key))
    #expect(try store.load() == left)
    #expect(try store.database.read { try StoreTables.format($0) } == StoreTables.current)
  }
}
