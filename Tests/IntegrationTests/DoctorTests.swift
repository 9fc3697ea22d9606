import BusTesting
import Foundation
import ProcessTesting
import Testing

/// `latchkey doctor` and `latchkey setup undo`, as a person and a program run them.
@Suite("The doctor, with real processes", .timeLimit(.minutes(20))) struct DoctorTests {
  private struct Report: Decodable {
    struct Finding: Decodable {
      var check: String
      var name: String?
      var weight: String
      var found: String
      var because: String?
      var mend: String?
    }
    var keepsPromise: Bool
    var findings: [Finding]

    func finding(_ check: String) -> Finding? { findings.first { $0.check == check } }
  }

  private func doctor(_ arguments: String..., bus: String) async throws -> TestProcess.Outcome {
    try await TestProcess.run(
      LatchkeyCommand.programs + "/latchkey", ["doctor"] + arguments, adding: ["DBUS_SYSTEM_BUS_ADDRESS": bus])
  }

  private func report(bus: String) async throws -> Report {
    let outcome = try await doctor("--json", bus: bus)
    let report = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
    #expect(outcome.status == (report.keepsPromise ? 0 : 1), "\(outcome)")
    #expect(outcome.errors.isEmpty)
    return report
  }

  @Test("Doctor: no bus: the faults, why and what to do, without a crash; status 1")
  func noBus() async throws {
    let bus = "unix:path=/tmp/latchkey-no-bus-\(UUID().uuidString)"
    let outcome = try await doctor(bus: bus)
    #expect(outcome.status == 1)
    #expect(outcome.errors.isEmpty)
    for part in ["BROKEN      bus: no bus at \(bus)", "      why: ", "      do:  ", "could not be kept"] {
      #expect(outcome.output.contains(part), "\(outcome.output)")
    }
    let report = try await report(bus: bus)
    #expect(report.finding("bus")?.name == "bus.missing")
    for finding in report.findings where finding.weight != "fine" {
      #expect(finding.name != nil && finding.because != nil && finding.mend != nil)
    }
    for wrong in [["--jsn"], ["more"], ["--json", "x"]] {
      let outcome = try await TestProcess.run(LatchkeyCommand.programs + "/latchkey", ["doctor"] + wrong)
      #expect(outcome.status == 64)
      #expect(outcome.output.isEmpty)
    }
  }

  @Test("Doctor: an empty bus: neither bluetoothd nor latchkeyd is taken for running")
  func emptyBus() async throws {
    let bus = try PrivateBus()
    let report = try await report(bus: bus.address.text)
    #expect(report.finding("bus")?.weight == "fine")
    #expect(!report.keepsPromise)
    #expect(!report.findings.contains { $0.check == "latchkeyd" && $0.weight == "fine" })
  }

  @Test(
    "Doctor: a machine near its door: adapter, latchkeyd, state and version are well; then the adapter is unplugged")
  func nearDoor() async throws {
    let machine = try await MachineNearDoor()
    defer { machine.removeFolder() }
    let well = try await report(bus: machine.bus)
    #expect(well.finding("bluetoothd")?.found.contains("bluez-simulator") == true)
    for check in ["bus", "bluetoothd", "adapter", "controller", "latchkeyd", "apps", "clients"] {
      #expect(well.finding(check)?.weight == "fine", "\(well.findings)")
    }
    #expect(well.finding("latchkeyd")?.found.contains("0.1.0") == true)
    #expect(well.finding("apps")?.found.contains("org.example.good") == true)
    #expect(well.finding("store")?.found.contains("/state") == true)

    try await machine.obey("{\"plug\":{\"machine\":\"phone\",\"isOn\":false}}")
    try await machine.reader.hear("off")
    let ill = try await report(bus: machine.bus)
    #expect(ill.finding("adapter")?.name == "adapter.none")
    #expect(ill.finding("latchkeyd")?.weight == "fine")
    #expect(!ill.keepsPromise)
  }

  @Test("Doctor: a reader that goes away gets no crash, and ends the command with 141")
  func readerGone() async throws {
    let outcome = try await TestProcess.run(
      "/bin/bash",
      ["-c", "{ $latchkey doctor; echo status $? >&2; } | true"],
      adding: ["latchkey": LatchkeyCommand.programs + "/latchkey"])
    #expect(outcome.errors.contains("status 1"))
    #expect(!outcome.errors.contains("Fatal"))
  }

  @Test("Undo: without a terminal, keys are not removed unless --yes says so; nothing is changed")
  func undoAsks() async throws {
    let latchkey = LatchkeyCommand.programs + "/latchkey"
    let unsure = try await TestProcess.run(latchkey, ["setup", "undo", "--forget-keys"])
    #expect(unsure.status == 64)
    #expect(unsure.errors.contains("--yes"))
    let wrong = try await TestProcess.run(latchkey, ["setup", "undo", "--all"])
    #expect(wrong.status == 64)
  }
}
