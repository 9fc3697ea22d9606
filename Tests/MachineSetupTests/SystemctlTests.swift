import Foundation
import Testing

@testable import MachineSetup

@Suite("Starting units in a setup") struct SystemctlTests {
  private static let unit = "latchkey-lock.service"

  /// A systemctl that ends as told, one ending after the other. The last ending repeats.
  private final class Script {
    private(set) var commands: [[String]] = []
    private let endings: [Systemctl.Ending]

    init(_ endings: (status: Int32?, errors: String)...) {
      self.endings = endings.map { Systemctl.Ending(status: $0.status, errors: $0.errors) }
    }

    var systemctl: Systemctl {
      Systemctl { [self] arguments in
        commands.append(arguments)
        return endings[min(commands.count, endings.count) - 1]
      }
    }
  }

  private static let cancelled = (status: Int32?(1), errors: "Job for latchkey-lock.service canceled.\n")
  private static let killed = (
    status: Int32?(1),
    errors: "Job for latchkey-lock.service failed because a fatal signal was delivered to the control process.\n"
  )
  private static let started = (status: Int32?(0), errors: "")

  @Test("H2: a unit whose job was lost with the process before is started again, and again")
  func retried() throws {
    for (failures, script) in [
      (0, Script(Self.started)), (1, Script(Self.killed, Self.started)),
      (2, Script(Self.killed, Self.cancelled, Self.started)),
    ] {
      try script.systemctl.start(Self.unit)
      #expect(script.commands == Array(repeating: ["start", Self.unit], count: failures + 1))
    }
  }

  @Test("H2: after three failed jobs there is no fourth: the error has the unit, systemd's last output and what to do")
  func exhausted() throws {
    let script = Script(Self.killed, Self.killed, Self.cancelled)
    let problem = #expect(throws: SetupProblem.self) { try script.systemctl.start(Self.unit) }
    #expect(script.commands.count == 3)
    #expect(
      problem
        == .unitDoesNotStart(unit: Self.unit, attempts: 3, reason: "Job for latchkey-lock.service canceled."))
    let words = try #require(problem?.description)
    for part in ["latchkey-lock.service does not start", "3 times", "canceled", "journalctl --unit", "again"] {
      #expect(words.contains(part))
    }
  }

  @Test(
    "H2: a problem that a retry can't solve is reported at once",
    arguments: [
      (5, "Failed to start latchkey-lock.service: Unit latchkey-lock.service not found.\n"),
      (4, "Failed to start latchkey-lock.service: Access denied\n"), (nil, ""),
    ] as [(Int32?, String)])
  func refused(_ status: Int32?, errors: String) throws {
    let script = Script((status, errors), Self.started)
    let problem = #expect(throws: SetupProblem.self) { try script.systemctl.start(Self.unit) }
    #expect(script.commands.count == 1)
    let reason = errors.isEmpty ? "a signal ended it" : String(errors.dropLast())
    #expect(problem == .failed(command: "systemctl start latchkey-lock.service", reason: reason))
  }

  @Test("H2: a missing systemctl is reported once")
  func missing() {
    var tries = 0
    let systemctl = Systemctl { _ in
      tries += 1
      throw CocoaError(.fileNoSuchFile)
    }
    let problem = #expect(throws: SetupProblem.self) { try systemctl.start(Self.unit) }
    #expect(tries == 1)
    #expect(problem?.description.hasPrefix("`systemctl start latchkey-lock.service` failed: ") == true)
  }

  @Test("H2: a unit that can't be enabled is not tried again, and an empty answer is named")
  func enabled() {
    let script = Script((1, ""), Self.started)
    let problem = #expect(throws: SetupProblem.self) { try script.systemctl.enable("latchkeyd.service") }
    #expect(script.commands == [["enable", "--quiet", "--now", "latchkeyd.service"]])
    #expect(
      problem
        == .failed(
          command: "systemctl enable --quiet --now latchkeyd.service", reason: "it ended with 1 and said nothing"))
  }

  @Test("H2: a setup continues when its unit runs, and ends if it does not")
  func steps() throws {
    var told: [String] = []
    let late = Script(Self.cancelled, Self.started)
    try MachineSetup(.lock(phone: nil), systemctl: late.systemctl) { told.append($0) }.perform(.startApp)
    #expect(late.commands.count == 2)
    #expect(told == ["the lock runs: latchkey-lock.service"])
    let never = Script(Self.cancelled)
    #expect(throws: SetupProblem.self) {
      try MachineSetup(.lock(phone: nil), systemctl: never.systemctl) { told.append($0) }.perform(.startApp)
    }
    #expect(told.count == 1)
  }
}
