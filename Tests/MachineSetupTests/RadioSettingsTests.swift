import Foundation
import Testing

@testable import MachineSetup

@Suite("bluetoothd's settings") struct RadioSettingsTests {
  private static let theirs = "[General]\nName = Door\n\n[LE]\n#MinConnectionInterval=\nMinAdvertisementInterval = 800"

  @Test("Setup: a lock's settings come after the administrator's, once, and taking them away leaves the file as it was")
  func block() {
    let lock = RadioSettings(.lock)
    let once = lock.written(to: Self.theirs + "\n")
    #expect(once.hasPrefix(Self.theirs + "\n"))
    #expect(once.components(separatedBy: "[LE]").count == 3)
    for line in ["MinAdvertisementInterval = 243", "MaxAdvertisementInterval = 243", "MinConnectionInterval = 6"] {
      #expect(once.contains("\n\(line)\n"))
    }
    #expect(lock.written(to: once) == once)
    #expect(RadioSettings.isWritten(in: once) && !RadioSettings.isWritten(in: Self.theirs))
    #expect(RadioSettings.removed(from: once) == Self.theirs + "\n")
    #expect(RadioSettings.removed(from: lock.written(to: Self.theirs)) == Self.theirs + "\n")
    #expect(RadioSettings.removed(from: lock.written(to: "")) == "")
    #expect(RadioSettings.removed(from: once + "[Policy]\nA = b\n") == Self.theirs + "\n[Policy]\nA = b\n")
  }

  @Test("Setup: a phone's window is a choice, and choosing the other takes it back; half a block is left alone")
  func phone() {
    let always = RadioSettings(.phone, scansAlways: true).written(to: Self.theirs + "\n")
    #expect(always.contains("ScanWindowAutoConnect = 96"))
    #expect(RadioSettings(.phone).written(to: always) == Self.theirs + "\n")
    let cut = String(always.prefix(always.count - 12))
    #expect(RadioSettings.removed(from: cut) == cut)
  }

  @Test("Setup: settings are written before the adapter is used, and undone with the setup")
  func plans() throws {
    let facts = MachineFacts(isRoot: true, hasSystemd: true, hasSystem: true, hasApp: true, keys: .none)
    let radio = RadioSettings(.lock)
    let steps = try SetupPlan(.lock(phone: nil), facts, radio: radio).steps
    #expect(steps.prefix(3) == [.enable(unit: "bluetooth.service"), .writeRadioSettings(radio), .powerAdapter])
    var undo = UndoFacts(isRoot: true, hasSystemd: true, hasSystem: true, roles: [], keyFiles: [])
    #expect(try !UndoPlan(forgetsKeys: false, undo).steps.contains(.removeRadioSettings))
    undo.hasRadioSettings = true
    #expect(try UndoPlan(forgetsKeys: false, undo).steps.last == .removeRadioSettings)
  }

  @Test("Setup: the file keeps its mode, and one that can't be changed is named")
  func file() throws {
    let folder = TestFolder()
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    let file = RadioSettingsFile(path: folder.path + "/main.conf")
    #expect(try file.change { RadioSettings(.lock).written(to: $0) }, "a missing file is made")
    #expect(file.isWritten)
    #expect(chmod(file.path, 0o600) == 0)
    #expect(try !file.change { RadioSettings(.lock).written(to: $0) })
    #expect(try file.change { RadioSettings.removed(from: $0) })
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600 && attributes[.size] as? Int == 0)
    let missing = RadioSettingsFile(path: folder.path + "/none/main.conf")
    #expect(throws: SetupProblem.self) { try missing.change { _ in "x" } }
  }
}
