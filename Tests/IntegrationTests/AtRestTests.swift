import BusTesting
import Foundation
import Glibc
import JournalEvents
import ProcessTesting
import Testing

/// What latchkeyd does while there is nothing to do.
@Suite("latchkeyd at rest", .timeLimit(.minutes(20)))
struct AtRestTests {
  /// A timer is a descriptor on Linux. libdispatch creates one that wakes up once a second, for good.
  private func timers(of process: pid_t) throws -> Int {
    let folder = "/proc/\(process)/fd"
    return try FileManager.default.contentsOfDirectory(atPath: folder).count { name in
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")) == "anon_inode:[timerfd]"
    }
  }

  @Test("H3: only its own clock wakes it, with a new store and with an existing one")
  func timers() async throws {
    let bus = try PrivateBus()
    let folder = NSTemporaryDirectory() + "/latchkey-rest-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder + "/apps", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for life in ["first", "second", "third"] {
      let daemon = try await TestProcess(
        LatchkeyCommand.programs + "/latchkeyd", ["--state", folder + "/state", "--apps", folder + "/apps"],
        environment: TestProcess.inherited.merging(["DBUS_SYSTEM_BUS_ADDRESS": bus.address.text]) { $1 },
        mergesErrors: true)
      try await daemon.hear(Recorded.Daemon.started.rawValue)
      #expect(try timers(of: daemon.processIdentifier) == 1, "in its \(life) life")
      daemon.signal(SIGTERM)
      #expect(try await daemon.finish().status == 0)
    }
  }
}
