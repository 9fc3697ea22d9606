import BluetoothSystem
import Foundation
import GRDB
import RandomTesting
import Testing

@testable import LatchkeyDaemon

/// The power fails between any two of SQLite's steps, on a disk that loses whatever was not synced.
@Suite("H1: a power cut at any step", .serialized, .timeLimit(.minutes(20)))
struct PowerCutTests {
  private static let changeCount = 30

  private func app(_ number: Int, launches: Int) -> StoredRecord {
    .app(AppRecord(bundleIdentifier: "org.example.\(number)", state: .background, launches: launches))
  }

  /// The stored state after each change, from none to all.
  private func states() throws -> (changes: [[StoreChange]], states: [StoredState]) {
    var changes: [[StoreChange]] = []
    var states = [StoredState()]
    for number in 0..<Self.changeCount {
      // A few records change again and again, some come and go, and every change affects more than one.
      var change = [StoreChange.put(app(number % 5, launches: number)), .put(app(100 + number, launches: 1))]
      if number % 3 == 2 { change.append(.remove(app(100 + number - 1, launches: 1).key)) }
      var state = try #require(states.last)
      for one in change { state.apply(one) }
      changes.append(change)
      states.append(state)
    }
    return (changes, states)
  }

  /// - Parameter settings: SQL for the store's connection before the first change.
  /// - Returns: at how many of all cuts something was missing that had been answered.
  private func losses(_ settings: String) throws -> (lost: Int, cuts: Int, checkpoints: Int) {
    let folder = try TemporaryFolder()
    let path = folder.path + "/state"
    let recorder = DiskRecorder.shared
    let (changes, states) = try states()
    do { try Store(StateFolder(path: path, machine: "phone")).close() }
    var image = try DiskImage(path)
    recorder.begin(path)
    do {
      let store = try Store(StateFolder(path: path, machine: "phone"))
      try store.database.writeWithoutTransaction { try $0.execute(sql: settings) }
      for (number, change) in changes.enumerated() {
        try store.write(change)
        recorder.note(.answered(number + 1))
      }
      store.close()
    }
    let steps = recorder.end()
    var random = SeededGenerator(seed: 1)
    var answered = 0
    var (lost, cuts) = (0, 0)
    for step in steps {
      image.apply(step)
      if case .answered(let count) = step { answered = count }
      for survival in 0..<3 {
        // Of what was not synced, nothing survives, all of it, or any part.
        try image.write(to: path) { survival == 0 ? false : survival == 1 ? true : Bool.random(using: &random) }
        let store = try Store(StateFolder(path: path, machine: "phone"))
        let found = try store.load()
        store.close()
        cuts += 1
        // The change under way may be there completely, or not at all.
        if found != states[answered], found != states[min(answered + 1, changes.count)] { lost += 1 }
      }
    }
    let checkpoints = steps.filter { if case .write("state.sqlite", _, _) = $0 { true } else { false } }.count
    return (lost, cuts, checkpoints)
  }

  @Test("H1: what was answered is there after a power cut at any step, also within a checkpoint")
  func nothingIsLost() throws {
    let (lost, cuts, checkpoints) = try losses("PRAGMA wal_autocheckpoint = 2")
    #expect(lost == 0)
    #expect(cuts > 300 && checkpoints > 5)
  }

  @Test("H1: a power cut at any step of an upgrade leaves the store as it was or as it is to be: nothing is lost")
  func upgrade() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/state"
    try GoldenStore.place("format-1", at: path)
    let everything = StoredState(
      try GoldenStore.everything(
        isBondUnproven: nil, hasWakes: false, isEnding: nil, hasLinkFacts: false, hasNewSubscribers: false))
    var image = try DiskImage(path)
    DiskRecorder.shared.begin(path)
    try Store(StateFolder(path: path, machine: "phone")).close()
    let steps = DiskRecorder.shared.end()
    var random = SeededGenerator(seed: 1)
    for step in steps {
      image.apply(step)
      for survival in 0..<3 {
        try image.write(to: path) { survival == 0 ? false : survival == 1 ? true : Bool.random(using: &random) }
        let store = try Store(StateFolder(path: path, machine: "phone"))
        #expect(try store.load() == everything)
        #expect(try store.database.read { try StoreTables.format($0) } == StoreTables.current)
        store.close()
      }
    }
    #expect(steps.count > 10)
  }

  @Test("H1: the same with synchronous=NORMAL loses answers: this test would see it")
  func normalLoses() throws {
    let (lost, cuts, _) = try losses("PRAGMA wal_autocheckpoint = 2; PRAGMA synchronous = NORMAL")
    #expect(lost > cuts / 10)
  }
}
