import Foundation
import LockFirmware
import Logging
import Testing

@testable import latchkey_lock

/// The lock's program around the firmware on Linux.
@Suite("The lock's shell") struct LockShellTests {
  private let directory = NSTemporaryDirectory() + "latchkey-trusted-" + UUID().uuidString
  private let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

  private func inFolder(_ body: (TrustedStore, URL) throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try body(
      TrustedStore(directory: directory, logger: logger),
      URL(fileURLWithPath: directory + "/" + TrustedStore.fileName))
  }

  @Test("M11: a proven phone is still known after a restart of the process") func trusted() throws {
    try inFolder { store, _ in
      #expect(store.read().isEmpty)
      let proven = TrustedCentral(
        central: CentralIdentifier(high: 1, low: .max), phone: [UInt8](repeating: 9, count: 32))
      store.write([proven])
      #expect(store.read() == [proven])
    }
  }

  @Test(
    "M11: an unreadable file locks no phone out",
    arguments: [
      "", "{", "[]", #"{"version":9,"centrals":[]}"#, #"{"version":1,"centrals":[{"central":"x","phone":""}]}"#,
    ])
  func damaged(_ content: String) throws {
    try inFolder { store, file in
      try Data(content.utf8).write(to: file)
      #expect(store.read().isEmpty)
      store.write([])
      #expect(try String(contentsOf: file, encoding: .utf8).contains("version"))
    }
  }

  @Test("M11: a flood of refusals is a few lines, and none is forgotten") func refusals() {
    var lines = RefusalLines()
    var told = 0
    var untold = 0
    for milliseconds in 0..<600_000 as Range<Int64> {
      guard let before = lines.tell(at: 5_000_000 + milliseconds) else { continue }
      told += 1
      untold += before
    }
    #expect(told == RefusalLines.burst + 59)
    #expect(untold > 580_000)
    // After a quiet time there is room for a few again.
    #expect(lines.tell(at: 9_000_000) != nil)
    #expect(lines.tell(at: 9_000_000) == 0)
  }
}
