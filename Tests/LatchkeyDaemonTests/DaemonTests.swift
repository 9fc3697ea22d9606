import BluetoothSystem
import Logging
import Testing
import Timekeeping

@testable import LatchkeyDaemon

@Suite struct DaemonTests {
  @Test("C6: a description of latchkeyd, which a log may show, has nothing of what it holds")
  func description() throws {
    let folder = try TemporaryFolder()
    try folder.write(
      TemporaryFolder.plist("<key>CFBundleIdentifier</key><string>org.example.heart</string>"),
      to: "apps/heart/Info.plist")
    let daemon = try Daemon(
      Daemon.Options(state: folder.path + "/state", apps: folder.path + "/apps"), time: BootClock(),
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    for text in ["\(daemon)", String(reflecting: daemon), String(describing: Optional(daemon))] {
      #expect(text.count < 100, "\(text.prefix(300))")
    }
  }
}
