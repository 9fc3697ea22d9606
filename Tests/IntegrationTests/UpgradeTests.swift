import BusTesting
import Foundation
import GRDB
import JournalEvents
import ProcessTesting
import Testing

/// A machine whose latchkeyd is replaced by a newer one.
@Suite("An upgrade, with real processes", .timeLimit(.minutes(20)))
struct UpgradeTests {
  private static let stores = LatchkeyCommand.package + "/Tests/LatchkeyDaemonTests/Stores"
  private static let agent = "org.latchkey.agent"

  /// Puts the store of a phone of the first release into this folder, as that release would leave it.
  private func placeOldStore(in folder: String) throws {
    let machine = try String(contentsOfFile: "/etc/machine-id", encoding: .utf8)
      .trimmingCharacters(in: .whitespacesAndNewlines)
    let sql = try String(contentsOfFile: Self.stores + "/format-1-phone.sql", encoding: .utf8)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let home = "\(machine):\(URL(fileURLWithPath: folder).resolvingSymlinksInPath().path)"
    let database = try DatabaseQueue(path: folder + "/state.sqlite")
    try database.writeWithoutTransaction { database in
      try database.execute(sql: "PRAGMA journal_mode = WAL")
      // The phone is away: the app was told only that it is connecting.
      try database.execute(
        sql: sql.replacing("'HOME'", with: "'\(home)'").replacing("\"told\":2", with: "\"told\":1"))
    }
    try database.close()
  }

  @Test("Change 7: what a phone was promised by the first release's latchkeyd, this one holds, in each of its lives")
  func oldStore() async throws {
    let bus = try PrivateBus()
    let folder = NSTemporaryDirectory() + "latchkey-upgrade-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try placeOldStore(in: folder + "/state")
    try FileManager.default.createDirectory(atPath: folder + "/apps/agent", withIntermediateDirectories: true)
    try """
    <?xml version="1.0" encoding="UTF-8"?>
    <plist version="1.0"><dict>
      <key>CFBundleIdentifier</key><string>\(Self.agent)</string>
      <key>CFBundleExecutable</key><string>/usr/bin/sleep</string>
      <key>LatchkeyArguments</key><array><string>60</string></array>
      <key>UIBackgroundModes</key><array><string>bluetooth-central</string></array>
    </dict></plist>
    """.write(toFile: folder + "/apps/agent/Info.plist", atomically: true, encoding: .utf8)
    let environment = TestProcess.inherited.merging(["DBUS_SYSTEM_BUS_ADDRESS": bus.address.text]) { $1 }
    for life in ["first", "second"] {
      let daemon = try await TestProcess(
        LatchkeyCommand.programs + "/latchkeyd", ["--state", folder + "/state", "--apps", folder + "/apps"],
        environment: environment, mergesErrors: true)
      try await daemon.hear(Recorded.Daemon.started.rawValue)
      let status = try await TestProcess.run(
        LatchkeyCommand.programs + "/latchkey", ["status"], adding: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address.text])
      #expect(status.output.contains("\(Self.agent)  "), "in its \(life) life: \(status.output)\(status.errors)")
      #expect(status.output.contains("0 connections, 1 request held"), "in its \(life) life: \(status.output)")
      daemon.signal(SIGTERM)
      #expect(try await daemon.finish().status == 0)
    }
  }
}
