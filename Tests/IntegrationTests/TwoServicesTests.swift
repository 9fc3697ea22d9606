import LockProtocol
import Testing

@testable import Stories

/// Another app of the lock's machine publishes a service with the UUID of the lock's, with real processes.
@Suite("A lock beside another app that has its service's UUID", .serialized, .timeLimit(.minutes(10)))
struct TwoServicesTests {
  @Test(
    "L2: the lock's service is the one that is whole, whichever is published first",
    arguments: ["[lock, other]", "[other, lock]"])
  func twoServices(_ apps: String) async throws {
    let (_, outcome) = try await LatchkeyCommand.prove(
      """
      name: two services
      days: 1
      radio: clear
      apps:
        other:
          info plist:
            CFBundleIdentifier: org.example.other
            UIBackgroundModes: [bluetooth-peripheral]
            LatchkeyKeepAlive: true
          executable: trial-app
          arguments: [peripheral, name=other, "service=\(LockService.serviceUUID)", "characteristic=2A37:read+notify"]
      machines:
        door: {position: [0, 0], apps: \(apps)}
        phone: {position: [1, 0], apps: [agent]}
      steps:
        - wait for: {event: lock.started, machine: door, within: 1min}
        - pass: 5s
        - open app: {machine: phone, app: agent}
        - wait for: {event: status.answered, machine: phone, within: 2min}
        - unlock: {machine: phone, expect: done}
        - read log: phone
      promises: [told-nothing-twice, nothing-crashed, no-errors-logged]
      """)
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
  }

  @Test("L5: a phone is enrolled at a lock beside which another app has its service's UUID") func enrolment()
    async throws
  {
    let home = try await Household(
      phones: [], guests: ["alice"],
      publisher: ["peripheral", "name=other", "service=\(LockService.serviceUUID)", "characteristic=2A37:read+notify"])
    let code = try home.lockCode().words
    try await home.press()
    let enrolled = try await home.latchkey("alice", "enroll", "--as", "home", input: code + "\n")
    #expect(enrolled.status == 0, "\(enrolled)")
    let opened = try await home.latchkey("alice", "unlock")
    #expect(opened.status == 0, "\(opened)")
  }
}
