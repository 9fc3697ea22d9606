import Foundation
import LockFirmware
import Logging
import ProcessTesting
import Testing

@testable import LockRecords
@testable import latchkey_lock

/// The lock's program with drivers that are processes of their own, and misbehave.
@Suite("A lock with a driver, with real processes", .timeLimit(.minutes(15))) struct DriverProcessTests {
  /// A lock with keys and a driver, in a folder that ends with it. There is no Bluetooth: the bolt moves for a hand and by
  /// itself.
  private final class Lock {
    let folder = NSTemporaryDirectory() + "latchkey-driver-" + UUID().uuidString
    private(set) var process: TestProcess?

    init() async throws {
      for name in ["", "/state", "/keys", "/phone", "/driver"] {
        try FileManager.default.createDirectory(atPath: folder + name, withIntermediateDirectories: false)
      }
      let made = try await TestProcess(
        TestPlaces.programs + "/latchkey",
        ["provision", "--lock", folder + "/keys", "--phone", folder + "/phone"]
      ).finish()
      #expect(made.status == 0, "\(made.errors)")
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func start(_ driver: String, _ options: [String] = []) async throws -> TestProcess {
      let started = try await TestProcess(
        TestPlaces.programs + "/latchkey-lock",
        [
          "--state", folder + "/state", "--credentials", folder + "/keys", "--leaving-delay", "0", "--driver", driver,
        ] + options, mergesErrors: true)
      process = started
      return started
    }

    func startMisbehaving(_ way: String) async throws -> TestProcess {
      let program = TestPlaces.package + "/Tests/LockFirmwareTests/Drivers/misbehaving-driver"
      return try await start("'\(program)' \(folder)/driver '\(way)'", ["--relock-delay", "1"])
    }

    var records: [LockRecord] {
      get throws {
        let path = folder + "/state/records.log"
        return RecordLogFormat.read(Array(try Data(contentsOf: URL(fileURLWithPath: path))), path: path).latest
      }
    }
  }

  @Test(
    "L6: a driver that fails is an alarm and an unknown bolt; it is started again, and the door is locked",
    arguments: [
      ("dies in mid-turn", "it has ended (exit status 3)"),
      ("hangs", "pings are unanswered"),
      ("hangs in mid-turn", "pings are unanswered"),
      ("reads nothing", "pings are unanswered"),
      ("babbles", "it babbles"),
      ("sends a line without an end", "it sent a line of more than"),
      ("sends garbage", "it sent a line that is no report"),
      ("speaks another version", "it speaks version 7"),
      ("never says hello", "no hello"),
      ("has both switches on", "both of its switches are on"),
      (
        "says extended while its switch says otherwise", "it says that the bolt is locked, and its switches say between"
      ),
      ("ends a turn that nobody asked for", "a turn ended that was not under way"),
    ])
  func misbehaves(_ way: String, _ reason: String) async throws {
    let lock = try await Lock()
    let process = try await lock.startMisbehaving(way)
    // On a busy machine a driver may be too late at the start already; that alarm is over before this one.
    let until = try await process.hear(reason)
    let before = until + (try await process.hear("alarm.cleared alarm=mechanismFailed"))
    #expect(before.contains("alarm.raised alarm=mechanismFailed"))
    #expect(!before.contains("bolt.moved cause=relock"), "nothing said that it was locked")
    try await process.hear("bolt.moved cause=relock")
    process.signal(SIGTERM)
    _ = try await process.finish()
    let records = try lock.records
    #expect(records.contains { $0.kind == .alarm && $0.detail == LockAlarm.mechanismFailed.rawValue })
    #expect(records.last { $0.kind == .outcome }?.result == .done)
    #expect(records.last { $0.kind == .movement }?.target == .locked)
    #expect(try String(contentsOfFile: lock.folder + "/driver/position", encoding: .utf8) == "2")
    #expect(try String(contentsOfFile: lock.folder + "/driver/runs", encoding: .utf8) == "2")
  }

  @Test("L6: a driver that ends takes with it what it has started, which might turn the motor on") func helper()
    async throws
  {
    let lock = try await Lock()
    let process = try await lock.startMisbehaving("leaves a helper")
    try await process.hear("it has ended (exit status 3)")
    try await process.hear("bolt.moved cause=relock")
    let number = try String(contentsOfFile: lock.folder + "/driver/helper", encoding: .utf8)
    // Whoever adopted it may not have taken its status yet.
    let status = try? String(contentsOfFile: "/proc/\(number)/status", encoding: .utf8)
    #expect(status?.contains("State:\tZ") ?? true, "\(status ?? "")")
    process.signal(SIGTERM)
    _ = try await process.finish()
  }

  @Test("L6: a bolt that does not arrive is stopped, and jammed, and its driver goes on") func neverArrives()
    async throws
  {
    let lock = try await Lock()
    let process = try await lock.startMisbehaving("never arrives")
    try await process.hear("bolt.jammed")
    try await process.hear("alarm=lockJammed")
    process.signal(SIGTERM)
    _ = try await process.finish()
    #expect(try String(contentsOfFile: lock.folder + "/driver/runs", encoding: .utf8) == "1")
    #expect(try lock.records.contains { $0.kind == .alarm && $0.detail == LockAlarm.lockJammed.rawValue })
  }

  @Test("L6: the simulated bolt is a driver as well: a hand, a jam, the battery, and a lock that starts again")
  func simulatedBolt() async throws {
    let lock = try await Lock()
    let world = lock.folder + "/world"
    let command =
      "\(TestPlaces.package)/lockfirmware-sim/drivers/simulated-bolt --state \(lock.folder)/bolt --world \(world) "
      + "--turn-time 0.1"
    func set(_ text: String) throws {
      try text.write(toFile: world, atomically: true, encoding: .utf8)
    }
    try set(#"{"battery": 50}"#)
    var process = try await lock.start(command, ["--relock-delay", "1"])
    try await process.hear("the driver simulated-bolt is ready: the bolt is locked")
    try set(#"{"battery": 15, "turn": "unlocked", "hand": "inside"}"#)
    try await process.hear("to=unlocked")
    try await process.hear("cause=relock")
    try set(#"{"battery": 15, "turn": "unlocked", "fault": "stall", "tamper": true}"#)
    try await process.hear("alarm=lockJammed")
    // Its power fails with the bolt half way.
    process.signal(SIGKILL)
    _ = try await process.finish()
    try set(#"{"battery": 15}"#)
    process = try await lock.start(command, ["--relock-delay", "1"])
    try await process.hear("the bolt is between")
    try await process.hear("bolt.moved")
    process.signal(SIGTERM)
    _ = try await process.finish()
    #expect(try lock.records.last { $0.kind == .movement }?.target == .locked)
    let hands = try lock.records.filter { $0.kind == .movement && $0.cause == .hand }
    #expect(hands.first?.detail == HandSide.inside.rawValue)
  }

  @Test("L6: a driver that can't be started leaves a lock that runs and knows nothing of its bolt") func missing()
    async throws
  {
    let lock = try await Lock()
    let process = try await lock.start("/nonexistent/driver --a 'b c'")
    // The alarm may come before or after the first attempt, and further attempts follow it.
    try await process.hear("alarm=mechanismFailed")
    try await process.hear("it can't be started: there is no program /nonexistent/driver")
    process.signal(SIGTERM)
    _ = try await process.finish()
  }

  @Test("L6: the Raspberry Pi's driver, on gpiozero's own simulated pins") func raspberryPi() async throws {
    let tests = try await TestProcess(
      TestPlaces.package + "/.build/python/bin/python3",
      ["-m", "unittest", "discover", "-s", TestPlaces.package + "/lockfirmware-sim/drivers/tests"], mergesErrors: true)
    let outcome = try await tests.finish()
    #expect(outcome.status == 0, "\(outcome.output)")
  }
}
