import Foundation
import LockCryptography
import LockProtocol
import Testing

@testable import MachineSetup

@Suite("What a setup does") struct SetupPlanTests {
  private let keys = TestKeys()

  private func facts(_ keys: PresentKeys = .none) -> MachineFacts {
    MachineFacts(isRoot: true, hasSystemd: true, hasSystem: true, hasApp: true, keys: keys)
  }

  @Test("H2: a new lock gets its keys after its adapter is known to be there, and runs in the end")
  func newLock() throws {
    #expect(
      try SetupPlan(.lock(phone: nil), facts()).steps == [
        .enable(unit: "bluetooth.service"), .powerAdapter, .makeLock(phone: nil), .enable(unit: "latchkeyd.service"),
        .turnBluetoothOn, .endApp, .startApp,
      ])
    #expect(try SetupPlan(.lock(phone: keys.phone), facts()).steps.contains(.makeLock(phone: keys.phone)))
  }

  @Test("H2: a second setup of a lock changes no keys and does not end the lock's process")
  func lockAgain() throws {
    let steps = try SetupPlan(.lock(phone: nil), facts(.lock(phones: []))).steps
    #expect(
      steps == [
        .enable(unit: "bluetooth.service"), .powerAdapter, .enable(unit: "latchkeyd.service"), .turnBluetoothOn,
        .startApp,
      ])
    #expect(
      try SetupPlan(.lock(phone: keys.phone), facts(.lock(phones: [keys.phone.publicKey]))).steps == steps)
  }

  @Test("L5: a lock of an earlier version gets a code, and its process reads it")
  func codeForAnOlderLock() throws {
    let steps = try SetupPlan(.lock(phone: nil), facts(.lock(phones: [], hasCode: false))).steps
    #expect(steps.contains(.addCode) && steps.suffix(2) == [.endApp, .startApp])
    let folder = TestFolder()
    _ = try Provisioning.makeLock(directory: folder.path, enrolledPhones: [keys.phone.publicKey])
    let path = folder.path + "/" + LockKeys.fileName
    let old = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
      .filter { !$0.contains("enrolmentCode") }.joined(separator: "\n")
    try old.write(toFile: path, atomically: false, encoding: .utf8)
    #expect(try LockKeys.read(fromDirectory: folder.path).code == nil)
    let code = try #require(try LockKeys.addCode(inDirectory: folder.path).code)
    #expect(try LockKeys.addCode(inDirectory: folder.path).code == code, "an existing code stays")
    let read = try LockKeys.read(fromDirectory: folder.path)
    #expect(read.code == code && read.enrolledPhones == [keys.phone.publicKey])
  }

  @Test("H2: a phone is added to an existing lock, whose process is ended so that it reads its keys again")
  func enroll() throws {
    let steps = try SetupPlan(.lock(phone: keys.phone), facts(.lock(phones: [[UInt8](repeating: 1, count: 32)]))).steps
    #expect(steps.contains(.enroll(keys.phone)))
    #expect(steps.suffix(2) == [.endApp, .startApp])
  }

  @Test("H2: a new phone gets its key, and its agent is opened again")
  func newPhone() throws {
    #expect(
      try SetupPlan(.phone(lock: keys.lock), facts()).steps == [
        .enable(unit: "bluetooth.service"), .powerAdapter, .makePhone(lock: keys.lock),
        .enable(unit: "latchkeyd.service"), .turnBluetoothOn, .endApp, .openApp,
      ])
  }

  @Test("H2: a second setup of a phone needs no lock's text, and takes the same one")
  func phoneAgain() throws {
    let steps = try SetupPlan(.phone(lock: nil), facts(.phone(lock: keys.lock))).steps
    #expect(!steps.contains { if case .makePhone = $0 { true } else { false } })
    #expect(try SetupPlan(.phone(lock: keys.lock), facts(.phone(lock: keys.lock))).steps == steps)
  }

  @Test("H2: a phone that has a lock is not given another")
  func otherLock() throws {
    let other = TestKeys().lock
    #expect(throws: SetupProblem.otherLock(keys.lock)) {
      try SetupPlan(.phone(lock: other), facts(.phone(lock: keys.lock)))
    }
  }

  @Test("L5: a phone without a lock gets a key, and its agent runs, so that it can be enrolled or invited")
  func pendingPhone() throws {
    let end: [SetupStep] = [.enable(unit: "latchkeyd.service"), .turnBluetoothOn, .endApp, .openApp]
    #expect(
      try SetupPlan(.phone(lock: nil), facts()).steps
        == [.enable(unit: "bluetooth.service"), .powerAdapter, .makePendingPhone] + end)
    #expect(
      try SetupPlan(.phone(lock: nil), facts(.pendingPhone)).steps
        == [.enable(unit: "bluetooth.service"), .powerAdapter] + end)
    #expect(
      try SetupPlan(.phone(lock: keys.lock), facts(.pendingPhone)).steps.contains(.makePhone(lock: keys.lock)))
  }

  @Test(
    "H2: an obstacle to a setup is reported before anything is done, with what to do",
    arguments: [
      (\MachineFacts.isRoot, "sudo latchkey setup lock"), (\.hasSystemd, "systemd"),
      (\.hasSystem, "apt install ./latchkeyd_*.deb"), (\.hasApp, "apt install ./latchkey-lock_*.deb"),
    ] as [(WritableKeyPath<MachineFacts, Bool> & Sendable, String)])
  func preconditions(_ fact: WritableKeyPath<MachineFacts, Bool> & Sendable, _ advice: String) throws {
    var facts = facts()
    facts[keyPath: fact] = false
    let error = #expect(throws: SetupProblem.self) { try SetupPlan(.lock(phone: nil), facts) }
    #expect(error?.description.contains(advice) == true)
  }
}

/// New keys for a lock and a phone.
struct TestKeys {
  let lock: LockIntroduction
  let phone: PhoneIntroduction

  init() {
    let folder = TestFolder()
    // This fails only if the machine's temporary folder can't be written.
    guard let lockKeys = try? Provisioning.makeLock(directory: folder.path + "/lock", enrolledPhones: []),
      case let lock = LockIntroduction(lockKeys),
      let phoneKeys = try? Provisioning.makePhone(directory: folder.path + "/phone", lock: lock)
    else { preconditionFailure("keys could not be made in \(folder.path)") }
    self.lock = lock
    phone = PhoneIntroduction(phoneKeys)
  }
}
