import BluetoothSystem
import Foundation
import GRDB
import Testing

@testable import LatchkeyDaemon

/// A lost store is never replaced silently.
@Suite("A9: a store that is gone, empty or foreign")
struct StoreLossTests {
  let folder: TemporaryFolder
  private var path: String { folder.path + "/state" }
  private var file: String { path + "/state.sqlite" }

  init() throws { folder = try TemporaryFolder() }

  private let settings = StoredRecord.settings(SettingsRecord(salt: 7, bluetoothOn: true))

  private func fill() throws {
    let store = try Store(StateFolder(path: path, machine: "phone"))
    try store.write([.put(settings)])
    store.close()
  }

  /// The contents of the folder by name, without the file of the folder's holder and the empty files that SQLite
  /// needs to inspect a database.
  private func content() throws -> [String: Data] {
    let names = try FileManager.default.subpathsOfDirectory(atPath: path)
    let content = names.filter { !$0.hasSuffix(".lock") && !$0.hasSuffix("-shm") }.map {
      ($0, (try? Data(contentsOf: URL(fileURLWithPath: path + "/" + $0))) ?? Data())
    }
    return Dictionary(uniqueKeysWithValues: content.filter { !$0.0.hasSuffix("-wal") || !$0.1.isEmpty })
  }

  /// - Returns: the refusal, or an empty text if there was none.
  private func refusal() throws -> String {
    let before = try content()
    do {
      _ = try Store(StateFolder(path: path, machine: "phone"))
      return ""
    } catch {
      #expect(error.needsPerson && error.exitStatus == 78)
      #expect(try content() == before)
      return error.description
    }
  }

  private func write(_ bytes: Data) throws { try bytes.write(to: URL(fileURLWithPath: file)) }

  @Test("A9: an empty store, one of a byte, one of zeros, and one cut short are refused; nothing is changed")
  func cutShort() throws {
    try fill()
    let whole = try Data(contentsOf: URL(fileURLWithPath: file))
    for bytes in [
      Data(), whole.prefix(1), whole.prefix(99), whole.prefix(4096), whole.dropLast(4096), Data(count: 4096),
    ] {
      try write(bytes)
      let text = try refusal()
      #expect(text.contains("--set-aside") && text.contains(path), "\(bytes.count) bytes: \(text)")
    }
    try write(whole)
    #expect(try Store(StateFolder(path: path, machine: "phone")).load() == StoredState([settings]))
  }

  @Test("A9: a store that is gone is missed by its marker")
  func gone() throws {
    try fill()
    try FileManager.default.removeItem(atPath: file)
    let text = try refusal()
    #expect(text.contains("missing") && text.contains("state.made") && text.contains("--set-aside"))
  }

  @Test(
    "A9: without a marker an app's folder, an app's log, or what SQLite left beside the store tell of an earlier life",
    arguments: [
      "apps/org.example.app/agent.json", "logs/org.example.app.log", "state.sqlite-wal", "state.sqlite-journal",
    ])
  func traces(_ name: String) throws {
    _ = try StateFolder(path: path, machine: "phone")
    try folder.write("something", to: "state/" + name)
    #expect(try refusal().contains("lived here before"))
  }

  @Test("A9: an empty database is not a store; another program's is recognized")
  func foreign() throws {
    try fill()
    try FileManager.default.removeItem(atPath: file)
    let database = try DatabaseQueue(path: file)
    try database.write { try $0.execute(sql: "CREATE TABLE t (a); DROP TABLE t") }
    #expect(try refusal().contains("nothing in it"))
    try database.write { try $0.execute(sql: "CREATE TABLE theirs (a)") }
    #expect(try refusal().contains("another program"))
  }

  @Test("A first start is without a word, also in a folder that a latchkeyd has locked before")
  func first() throws {
    _ = try StateFolder(path: path, machine: "phone")
    #expect(try Store(StateFolder(path: path, machine: "phone")).load() == StoredState())
    #expect(try content().keys.contains("state.made"))
  }

  @Test("A store of an earlier version, which made no marker, is opened and gets one")
  func unmarked() throws {
    try fill()
    try FileManager.default.removeItem(atPath: path + "/state.made")
    #expect(try Store(StateFolder(path: path, machine: "phone")).load() == StoredState([settings]))
    #expect(FileManager.default.fileExists(atPath: path + "/state.made"))
  }

  @Test("A store that is set aside has the printed name, and latchkeyd starts empty in spite of all traces")
  func setAside() throws {
    try fill()
    try folder.write("an app's", to: "state/apps/org.example.app/file")
    let place = try StateFolder(path: path, machine: "phone").setStoreAside(at: 5)
    #expect(place == file + ".aside-5")
    try fill()
    // A second one at the same moment gets a different name.
    #expect(try StateFolder(path: path, machine: "phone").setStoreAside(at: 5) == file + ".aside-5-2")
    #expect(try Store(StateFolder(path: path, machine: "phone")).load() == StoredState())
    for name in [".aside-5", ".aside-5-2"] {
      let database = try DatabaseQueue(path: file + name)
      #expect(try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM record") } == 1)
    }
  }

  @Test("A lost store can be set aside, too: if there was no store, the message says so")
  func nothingToSetAside() throws {
    try fill()
    try FileManager.default.removeItem(atPath: file)
    #expect(try StateFolder(path: path, machine: "phone").setStoreAside(at: 5) == nil)
    #expect(try Store(StateFolder(path: path, machine: "phone")).load() == StoredState())
  }

  /// Cuts the power after each step in turn, and calls `check` with the contents of the folder.
  private func cutEverywhere(
    from prepare: () throws -> Void, _ work: (StateFolder, StoreBeginning) throws -> Void,
    check: (StoreBeginning.Step) throws -> Void
  ) throws -> [StoreBeginning.Step] {
    var seen: [StoreBeginning.Step] = []
    while true {
      try? FileManager.default.removeItem(atPath: path)
      try prepare()
      guard let step = try cut(after: seen.count, work) else { return seen }
      seen.append(step)
      try check(step)
    }
  }

  /// - Returns: the step after which the power failed, or `nil` if everything was done in fewer steps.
  private func cut(
    after limit: Int, _ work: (StateFolder, StoreBeginning) throws -> Void
  ) throws -> StoreBeginning.Step? {
    var count = 0
    let state = try StateFolder(path: path, machine: "phone")
    let beginning = StoreBeginning(folder: state) { step in
      count += 1
      guard count <= limit else { throw LastStep(step: step) }
    }
    do { try work(state, beginning) } catch let last as LastStep { return last.step } catch let error as DaemonError {
      // Finds the step's name within the store's own error message.
      let step = StoreBeginning.Step.allCases.first { error.description.contains("power cut after \($0)") }
      guard let step else { throw error }
      return step
    }
    return nil
  }

  private struct LastStep: Error, CustomStringConvertible {
    let step: StoreBeginning.Step
    var description: String { "power cut after \(step)" }
  }

  @Test("A9: power that goes at any moment of the first start leaves a folder that the next start takes up")
  func cutFirstStart() throws {
    let steps = try cutEverywhere {
    } _: { state, beginning in
      _ = try Store(state, beginning)
    } check: { step in
      let store = try Store(StateFolder(path: path, machine: "phone"))
      #expect(try store.load() == StoredState(), "\(step)")
      try store.write([.put(settings)])
      store.close()
      #expect(try Store(StateFolder(path: path, machine: "phone")).load() == StoredState([settings]), "\(step)")
    }
    #expect(steps == [.storeBuilt, .storeNamed, .markerWritten])
  }

  @Test("A9: a power cut while a store is set aside or created loses nothing of the old one")
  func cutSetAside() throws {
    let steps = try cutEverywhere {
      try fill()
      try folder.write("left by a crash", to: "state/state.sqlite-journal")
    } _: { state, beginning in
      _ = try beginning.setAside(at: 5)
      _ = try Store(state, beginning)
    } check: { step in
      // Neither a new start nor the same wish again may lose it.
      #expect(try Store(StateFolder(path: path, machine: "phone")).load() == StoredState(), "\(step)")
      let aside = try content().filter {
        $0.key.hasPrefix("state.sqlite.aside-5") && $0.key.hasSuffix("-journal") == false
      }
      let records = try aside.keys.compactMap { name in
        try DatabaseQueue(path: path + "/" + name).read { try Int.fetchOne($0, sql: "SELECT count(*) FROM record") }
      }
      #expect(records.contains(1), "\(step): \(aside.keys)")
      #expect(try content()["state.set-aside"] == nil)
    }
    #expect(
      steps == [.wishWritten, .companionMoved, .storeMoved, .storeBuilt, .storeNamed, .wishRemoved])
  }
}
