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

  private var settings: StoredRecord {
    get throws {
      try JSONDecoder().decode(
        StoredRecord.self, from: Data(#"{"settings":{"_0":{"salt":7,"bluetoothOn":true}}}"#.utf8))
    }
  }

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

  @Test("The folder and the store are nobody else's to read")
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

  @Test("A damaged store is refused, never replaced; the user can put it aside")
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
      let aside = try state.setStoreAside(at: 5)
      #expect(try Data(contentsOf: URL(fileURLWithPath: aside)) == bytes)
      #expect(try Store(state).load() == StoredState())
    }
  }
}

@Suite("The registry of apps")
struct AppRegistryTests {
  @Test("A good app is found; each bad one is named with what is wrong, and stops nobody")
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
    #expect(registry.problems.count == 5)
    for name in ["broken", "missing", "path", "twice", "type"] {
      #expect(registry.problems.contains { $0.contains("/\(name)/Info.plist") }, "\(name)")
    }
  }

  @Test("A folder that is not there is an error that names it")
  func missingFolder() {
    #expect(throws: DaemonError.self) { try AppRegistry(folder: "/nowhere/at/all", programFolder: "/bin") }
  }
}
