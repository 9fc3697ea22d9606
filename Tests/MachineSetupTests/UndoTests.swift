import Foundation
import Testing

@testable import MachineSetup

@Suite("What taking a setup back does") struct UndoTests {
  private static let keys = ["/etc/latchkey/lock/lock-keys.json"]

  private func facts(_ roles: Set<SetupRole> = [.lock], keys: [String] = keys) -> UndoFacts {
    UndoFacts(isRoot: true, hasSystemd: true, hasSystem: true, roles: roles, keyFiles: keys)
  }

  @Test("Undo: latchkeyd ends before the apps, which it would start again; the keys stay, and that is said")
  func keepsKeys() throws {
    let plan = try UndoPlan(forgetsKeys: false, facts([.lock, .phone]))
    #expect(
      plan.steps == [
        .disable(unit: "latchkeyd.service"), .stop(unit: "latchkey-lock.service"),
        .stop(unit: "latchkey-agent.service"),
      ])
    #expect(plan.remains.contains { $0.contains(Self.keys[0]) && $0.contains("--forget-keys") })
    #expect(plan.remains.contains { $0.contains("bluetooth.service goes on") && $0.contains("bluetoothctl remove") })
  }

  @Test("Undo: the keys are removed last, and only if that is asked for")
  func forgetsKeys() throws {
    let plan = try UndoPlan(forgetsKeys: true, facts())
    #expect(plan.steps.last == .remove(file: Self.keys[0]))
    #expect(!plan.remains.contains { $0.contains("keys stay") })
    #expect(try UndoPlan(forgetsKeys: true, facts(keys: [])).steps.count == 2)
  }

  @Test("Undo: only root; what is not installed is left out; without systemd keys can still be forgotten")
  func limits() throws {
    var facts = facts()
    facts.isRoot = false
    #expect(throws: SetupProblem.notRootForUndo) { try UndoPlan(forgetsKeys: true, facts) }
    #expect("\(SetupProblem.notRootForUndo)".contains("sudo latchkey setup undo"))
    facts.isRoot = true
    facts.hasSystem = false
    facts.roles = []
    #expect(try UndoPlan(forgetsKeys: false, facts).isEmpty)
    facts.hasSystemd = false
    #expect(try UndoPlan(forgetsKeys: true, facts).steps == [.remove(file: Self.keys[0])])
    facts.keyFiles = []
    #expect(try UndoPlan(forgetsKeys: true, facts).isEmpty)
  }

  @Test("Undo: every file that a setup makes is known, also half-written ones")
  func files() {
    #expect(
      SetupRole.lock.keyFiles == [
        "/etc/latchkey/lock/lock-keys.json", "/etc/latchkey/lock/lock-keys.json.new",
        "/var/lib/latchkey-lock/access.state", "/var/lib/latchkey-lock/access.state.made",
        "/var/lib/latchkey-lock/trusted.json",
      ])
    for name in ["owner-key.json", "guests.json", "doors", "guest", "enrolment"] {
      #expect(SetupRole.phone.keyFiles.contains("/var/lib/latchkey-agent/" + name))
    }
    #expect(SetupRole.phone.keyFiles.contains("/etc/latchkey/agent/pending-phone-key.json"))
    #expect(SetupRole.phone.keyFiles.contains("/var/lib/latchkey-agent/agent.json"))
  }

  @Test("Undo: a frozen unit is thawed before it is stopped, and each step can be repeated")
  func run() throws {
    let folder = TestFolder()
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    let file = folder.path + "/keys"
    try Data("secret".utf8).write(to: URL(fileURLWithPath: file))
    var commands: [[String]] = []
    let systemctl = Systemctl { arguments in
      commands.append(arguments)
      // A unit that does not run is not frozen.
      return Systemctl.Ending(status: arguments[0] == "thaw" ? 1 : 0, errors: "Failed to thaw unit")
    }
    let plan = try UndoPlan(forgetsKeys: true, facts(keys: [file]))
    var told: [String] = []
    for _ in 1...2 { try MachineUndo(systemctl: systemctl) { told.append($0) }.run(plan) }
    let once = [
      ["disable", "--quiet", "--now", "latchkeyd.service"], ["thaw", "--quiet", "latchkey-lock.service"],
      ["stop", "latchkey-lock.service"],
    ]
    #expect(commands == once + once)
    #expect(!FileManager.default.fileExists(atPath: file))
    #expect(told.count == 6 && told.last == "\(file) is removed")
  }

  @Test("L5: a folder of keys is removed with what is in it; a link to one is removed alone") func folders()
    throws
  {
    let folder = TestFolder()
    let (doors, elsewhere) = (folder.path + "/doors", folder.path + "/elsewhere")
    for path in [doors + "/home", elsewhere] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try Data("secret".utf8).write(to: URL(fileURLWithPath: path + "/key"))
    }
    try FileManager.default.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: elsewhere)
    let plan = try UndoPlan(forgetsKeys: true, facts(keys: [doors, folder.path + "/link"]))
    for _ in 1...2 {
      try MachineUndo(systemctl: Systemctl { _ in Systemctl.Ending(status: 0, errors: "") }) { _ in }.run(plan)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["elsewhere"])
    #expect(FileManager.default.fileExists(atPath: elsewhere + "/key"))
  }

  @Test("Undo: the keys stay if a unit does not end, and the error is systemd's; a file that stays is named")
  func failures() throws {
    let folder = TestFolder()
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    try Data("secret".utf8).write(to: URL(fileURLWithPath: folder.path + "/file"))
    // What is below a file is no file.
    let kept = folder.path + "/file/keys"
    let plan = try UndoPlan(forgetsKeys: true, facts(keys: [kept]))
    let refusing = Systemctl { _ in Systemctl.Ending(status: 1, errors: "Access denied\n") }
    #expect(
      throws: SetupProblem.failed(
        command: "systemctl disable --quiet --now latchkeyd.service", reason: "Access denied")
    ) { try MachineUndo(systemctl: refusing) { _ in }.run(plan) }
    #expect(FileManager.default.fileExists(atPath: folder.path + "/file"))
    let obeying = Systemctl { _ in Systemctl.Ending(status: 0, errors: "") }
    let problem = #expect(throws: SetupProblem.self) { try MachineUndo(systemctl: obeying) { _ in }.run(plan) }
    #expect(problem?.description.contains(kept + " can't be removed") == true)
  }
}
