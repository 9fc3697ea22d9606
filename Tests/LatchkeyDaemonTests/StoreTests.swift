import AppLink
import BluetoothSystem
import Foundation
import GRDB
import Testing

@testable import LatchkeyDaemon

@Suite("The state folder and its store")
struct StoreTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var path: String { folder.path + "/state" }

  private func message(_ body: () throws -> Void) -> String {
    do {
      try body()
      return ""
    } catch { return "\(error)" }
  }

  private let settings = StoredRecord.settings(SettingsRecord(salt: 7, bluetoothOn: true))

  private func fill() throws {
    let store = try Store(StateFolder(path: path, machine: "phone"))
    try store.write([.put(settings)])
    store.close()
  }

  @Test("What was written is there after a restart, and what was removed is not")
  func roundTrip() throws {
    try fill()
    let state = try StateFolder(path: path, machine: "phone")
    let store = try Store(state)
    #expect(try store.load() == StoredState([settings]))
    try store.write([.remove(settings.key)])
    #expect(try store.load() == StoredState())
  }

  @Test("Only the owner can read the folder and the store")
  func isPrivate() throws {
    try fill()
    let modes = try [path, path + "/state.sqlite"].map {
      try FileManager.default.attributesOfItem(atPath: $0)[.posixPermissions] as? Int
    }
    #expect(modes == [0o700, 0o600])
  }

  @Test("A folder that another latchkeyd holds is refused, with its process")
  func locked() throws {
    let first = try StateFolder(path: path, machine: "phone")
    let text = message { _ = try StateFolder(path: path, machine: "phone") }
    #expect(text.contains(path) && text.contains("\(getpid())"))
    withExtendedLifetime(first) {}
  }

  @Test("A store of a newer version is refused and left as it is")
  func newer() throws {
    try fill()
    let database = try DatabaseQueue(path: path + "/state.sqlite")
    try database.write { try $0.execute(sql: "PRAGMA user_version = 99") }
    try database.close()
    let text = message { _ = try Store(StateFolder(path: path, machine: "phone")) }
    #expect(text.contains("newer") && text.contains(path))
  }

  @Test("A store of another machine is refused")
  func otherMachine() throws {
    try fill()
    let text = message { _ = try Store(StateFolder(path: path, machine: "door")) }
    #expect(text.contains("another machine"))
  }

  @Test("Another program's database is refused")
  func otherProgram() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let database = try DatabaseQueue(path: path + "/state.sqlite")
    try database.write { try $0.execute(sql: "CREATE TABLE theirs (a)") }
    try database.close()
    let text = message { _ = try Store(StateFolder(path: path, machine: "phone")) }
    #expect(text.contains("another program"))
  }

  @Test("H1: the store's own connection is durable: synchronous is FULL, and there is a write-ahead log")
  func durable() throws {
    let store = try Store(StateFolder(path: path, machine: "phone"))
    let (synchronous, journal) = try store.database.read { database in
      (try Int.fetchOne(database, sql: "PRAGMA synchronous"), try String.fetchOne(database, sql: "PRAGMA journal_mode"))
    }
    #expect(synchronous == 2 && journal == "wal")
    try store.write([.put(settings)])
    let size = try FileManager.default.attributesOfItem(atPath: path + "/state.sqlite-wal")[.size] as? Int
    #expect(try #require(size) > 0)
  }

  @Test("M5: the store is latchkeyd's alone: no other process can lock it or make it wait")
  func exclusive() throws {
    let store = try Store(StateFolder(path: path, machine: "phone"))
    try store.write([.put(settings)])
    #expect(throws: DatabaseError.self) {
      try DatabaseQueue(path: path + "/state.sqlite").inTransaction(.immediate) { _ in .rollback }
    }
    try store.write([.remove(settings.key)])
    #expect(try store.load() == StoredState())
  }

  @Test("M5: a store that can't grow reports it, keeps what it has, and continues when there is room")
  func full() throws {
    let store = try Store(StateFolder(path: path, machine: "phone"))
    try store.write([.put(settings)])
    let pages = try store.database.read { try Int.fetchOne($0, sql: "PRAGMA page_count") } ?? 0
    try store.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(pages)") }
    let many = (0..<200).map { number in
      StoreChange.put(
        .app(AppRecord(bundleIdentifier: "org.example.\(number)", state: .background, launches: 1)))
    }
    #expect(throws: StoreWriteError("The disk with \(path)/state.sqlite is full; make room on it.")) {
      try store.write(many)
    }
    #expect(try store.load() == StoredState([settings]))
    try store.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 100000") }
    // Without a change it is a trial, which is written.
    let size = { try FileManager.default.attributesOfItem(atPath: path + "/state.sqlite-wal")[.size] as? Int ?? 0 }
    let before = try size()
    try store.write([])
    #expect(try size() > before)
    try store.write(many)
    #expect(try store.load().records.count == 201)
  }

  @Test(
    "L1: a record that is not bytes, not a record, or of another kind is refused with a clear error",
    arguments: [
      "value = 5", "value = 'text'", "value = 1.5", "value = x'00'", "value = x''", "kind = x'00'", "name = 7",
      "name = 'another'", "kind = 'app'",
    ])
  func wrongType(_ change: String) throws {
    try fill()
    let database = try DatabaseQueue(path: path + "/state.sqlite")
    try database.write { try $0.execute(sql: "UPDATE record SET \(change)") }
    try database.close()
    let store = try Store(StateFolder(path: path, machine: "phone"))
    let text = message { _ = try store.load() }
    #expect(text.contains("damaged") && text.contains("--set-aside"))
  }

  @Test("A damaged store is refused, never replaced; the user can set it aside")
  func damaged() throws {
    try fill()
    let file = path + "/state.sqlite"
    var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
    for index in 0..<min(bytes.count, 8192) { bytes[index] = 0xA5 }
    try bytes.write(to: URL(fileURLWithPath: file))
    do {
      let state = try StateFolder(path: path, machine: "phone")
      let text = message { _ = try Store(state) }
      #expect(text.contains("damaged") && text.contains("--set-aside"))
      #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == bytes)
      let aside = try #require(try state.setStoreAside(at: 5))
      #expect(try Data(contentsOf: URL(fileURLWithPath: aside)) == bytes)
      #expect(try Store(state).load() == StoredState())
    }
  }
}

@Suite("The registry of apps")
struct AppRegistryTests {
  @Test("A good app is found; each bad one is named with its problem, and does not stop others")
  func read() throws {
    let folder = try TemporaryFolder()
    let good = """
      <key>CFBundleIdentifier</key><string>org.example.good</string>
      <key>CFBundleExecutable</key><string>sh</string>
      <key>UIBackgroundModes</key><array><string>bluetooth-central</string></array>
      <key>LatchkeyArguments</key><array><string>-x</string></array>
      <key>LatchkeyKeepAlive</key><true/>
      """
    try folder.write(TemporaryFolder.plist(good), to: "good/Info.plist")
    try folder.write(TemporaryFolder.plist(good), to: "twice/Info.plist")
    try folder.write("no plist", to: "broken/Info.plist")
    try folder.write("", to: "missing/README")
    try folder.write(TemporaryFolder.plist("<key>CFBundleIdentifier</key><integer>1</integer>"), to: "type/Info.plist")
    try folder.write(
      TemporaryFolder.plist(
        "<key>CFBundleIdentifier</key><string>../up</string><key>CFBundleExecutable</key><string>sh</string>"),
      to: "path/Info.plist")
    let registry = try AppRegistry(folder: folder.path, programFolder: "/bin")
    #expect(Array(registry.apps.keys) == ["org.example.good"])
    let app = try #require(registry.apps["org.example.good"])
    #expect(app.executable == "/bin/sh" && app.arguments == ["-x"])
    #expect(app.declaration.keepAlive && app.declaration.backgroundModes == ["bluetooth-central"])
    #expect(registry.leftOut.count == 5)
    for name in ["broken", "missing", "path", "twice", "type"] {
      #expect(registry.leftOut.contains { $0.reason.contains("/\(name)/Info.plist") }, "\(name)")
    }
  }

  @Test(
    "W2: an app's own wake budget is a number of seconds; anything else is refused, and named",
    arguments: [
      ("<integer>30</integer>", Duration.seconds(30)), ("<real>2.5</real>", .milliseconds(2500)),
      ("<integer>0</integer>", nil), ("<integer>601</integer>", nil), ("<true/>", nil), ("<string>30</string>", nil),
      ("<real>nan</real>", nil),
    ])
  func wakeBudget(value: String, budget: Duration?) throws {
    let folder = try TemporaryFolder()
    try folder.write(
      TemporaryFolder.plist(
        """
        <key>CFBundleIdentifier</key><string>org.example.app</string>
        <key>CFBundleExecutable</key><string>sh</string>
        <key>LatchkeyWakeBudgetSeconds</key>\(value)
        """), to: "app/Info.plist")
    let registry = try AppRegistry(folder: folder.path, programFolder: "/bin")
    #expect(registry.apps["org.example.app"]?.declaration.wakeBudget == budget)
    #expect(registry.leftOut.count == (budget == nil ? 1 : 0))
    let reasons = registry.leftOut.map(\.reason)
    #expect(reasons.allSatisfy { $0.contains("LatchkeyWakeBudgetSeconds") && $0.contains("1 to 600") })
  }

  @Test(
    "L2: an app's own advertising interval is a whole number of milliseconds; anything else is refused, and named",
    arguments: [
      ("<integer>20</integer>", UInt32(20)), ("<integer>10240</integer>", 10_240), ("<integer>19</integer>", nil),
      ("<real>152.5</real>", nil), ("<true/>", nil), ("<integer>-1</integer>", nil),
    ])
  func advertisingInterval(value: String, interval: UInt32?) throws {
    let folder = try TemporaryFolder()
    try folder.write(
      TemporaryFolder.plist(
        """
        <key>CFBundleIdentifier</key><string>org.example.app</string>
        <key>CFBundleExecutable</key><string>sh</string>
        <key>LatchkeyAdvertisingIntervalMilliseconds</key>\(value)
        """), to: "app/Info.plist")
    let registry = try AppRegistry(folder: folder.path, programFolder: "/bin")
    #expect(registry.apps["org.example.app"]?.declaration.advertisingMilliseconds == interval)
    #expect(registry.leftOut.count == (interval == nil ? 1 : 0))
    let reasons = registry.leftOut.map(\.reason)
    #expect(reasons.allSatisfy { $0.contains("AdvertisingInterval") && $0.contains("20 to 10240") })
  }

  @Test("A folder that is not there is an error that names it")
  func missingFolder() {
    #expect(throws: DaemonError.self) { try AppRegistry(folder: "/nowhere/at/all", programFolder: "/bin") }
  }
}
