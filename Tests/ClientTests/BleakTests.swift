import Foundation
import LatchkeyVersion
import ProcessTesting
import Testing

/// bleak as published on PyPI. `scripts/install-dependencies.sh tests` installs it into the build folder.
@Suite("bleak on the simulator", .timeLimit(.minutes(20)))
struct BleakTests {
  private struct Step: Decodable {
    var step: String
    var value: String?
    var error: String?
    var characteristics: [String: [String]]?
    var texts: [String]?
    var battery: Int?
  }

  private static let python = LockedDoor.package + "/.build/python/bin/python3"
  private static let program = LockedDoor.package + "/Tests/ClientTests/bleak_client.py"

  private static func scanPassively(_ options: [String]) async throws -> (status: Int32, steps: [Step]) {
    let door = try await LockedDoor(simulatorOptions: options)
    let bleak = try await TestProcess(
      Self.python, [LockedDoor.package + "/Tests/ClientTests/bleak_passive.py"],
      environment: door.environment(on: "phone"), mergesErrors: true)
    let outcome = try await bleak.finish()
    let steps = outcome.output.split(separator: "\n").compactMap { line in
      try? JSONDecoder().decode(Step.self, from: Data(line.utf8))
    }
    return (outcome.status, steps)
  }

  @Test("C7: bleak scans passively if bluetoothd is experimental, and reports that it can't otherwise")
  func scansPassively() async throws {
    let experimental = try await Self.scanPassively(["--experimental-machine", "phone"])
    #expect(experimental.status == 0)
    #expect(experimental.steps.map(\.step) == ["scanning", "scanning", "heard", "stopped"])
    let plain = try await Self.scanPassively([])
    #expect(plain.status == 1)
    #expect(plain.steps.map(\.step) == ["refused"] && plain.steps.first?.error == "BleakError")
  }

  @Test("H4: bleak finds the lock, pairs, connects, reads, writes and subscribes; what it writes opens nothing")
  func meetsTheLock() async throws {
    let door = try await LockedDoor()
    let bleak = try await TestProcess(
      Self.python, [Self.program], environment: door.environment(on: "phone"), mergesErrors: true)
    let outcome = try await bleak.finish()
    #expect(outcome.status == 0, "\(outcome.output)")
    let steps = outcome.output.split(separator: "\n").compactMap { line in
      try? JSONDecoder().decode(Step.self, from: Data(line.utf8))
    }
    #expect(
      steps.map(\.step) == [
        "discovered", "paired and connected", "read of itself", "refused unsubscribed", "refused to be written",
        "notified", "read", "refused to be read", "refused to be written", "stopped",
        "disconnected", "connected again", "unpaired",
      ], "\(outcome.output)")
    func facts(_ name: String) -> [Step] { steps.filter { $0.step == name } }
    #expect(
      facts("paired and connected").first?.characteristics == [
        Lock.offer: ["notify", "read"], Lock.command: ["write"], Lock.answer: ["notify"], Lock.request: ["write"],
        Lock.reply: ["notify"],
        // bluetoothd would answer such a write as if it had been accepted; nobody needs it.
        Lock.quickCommand: ["write", "write-without-response"],
        Lock.enrolment: ["notify", "read", "write"],
      ])
    #expect(facts("read of itself").first?.texts == ["Latchkey", "latchkey-lock", LatchkeyVersion.current])
    #expect(facts("read of itself").first?.battery == LockedDoor.batteryPercent)
    // 32 bytes, and new for every link.
    let offers = ["notified", "read", "connected again"].flatMap { facts($0).compactMap(\.value) }
    #expect(offers.count == 3 && offers.allSatisfy { $0.count == 64 }, "\(offers)")
    #expect(offers.first != offers.last)
    #expect(facts("refused unsubscribed").map(\.error) == ["0x80"])
    #expect(facts("refused to be read").map(\.error) == ["READ_NOT_PERMITTED"])
    #expect(facts("refused to be written").map(\.error) == Array(repeating: "INSUFFICIENT_AUTHORIZATION", count: 2))

    #expect(
      try door.events(.commandRefused).map { $0[.reason] } == ["unsubscribed", "authenticationFailed", "wrongLength"])
    #expect(try door.events(.commandAccepted, .boltMoved).isEmpty)
  }
}
