import AppLink
import CoreBluetoothTestKit
import Testing

@Suite("What an app reports to its user", .timeLimit(.minutes(20)))
struct UserReportTests {
  private func next(_ system: ScriptedSystem) async throws -> AppReport? {
    guard case .report(let report) = try await system.requests.next() else { return nil }
    return report
  }

  @Test("H7: a system that comes back hears the last states, and the movements that it missed, once")
  func restart() async throws {
    let system = ScriptedSystem()
    system.run {
      UserReport.movement("opened", of: "Door")
      UserReport.state("locked", of: "Door", isNew: false)
    }
    system.attach()
    #expect(try await next(system) == AppReport(.knownState, subject: "Door", text: "locked"))
    #expect(try await next(system) == AppReport(.movement, subject: "Door", text: "opened"))
    system.run {
      UserReport.state("unlocked", of: "Door")
      UserReport.state("unlocked", of: "Door")
      UserReport.movement("unlocked by hand", of: "Door")
    }
    #expect(try await next(system) == AppReport(.state, subject: "Door", text: "unlocked"))
    #expect(try await next(system) == AppReport(.movement, subject: "Door", text: "unlocked by hand"))
    system.detach()
    system.run {
      for number in 1...30 { UserReport.movement("turn \(number)", of: "Door") }
      for number in 1...8 { UserReport.state("open", of: "Window \(number)") }
    }
    system.attach()
    for number in 1...8 {
      #expect(try await next(system) == AppReport(.knownState, subject: "Window \(number)", text: "open"))
    }
    for number in 11...30 {
      #expect(try await next(system) == AppReport(.movement, subject: "Door", text: "turn \(number)"))
    }
    system.detach()
    system.attach()
    for number in 1...8 {
      #expect(try await next(system) == AppReport(.knownState, subject: "Window \(number)", text: "open"))
    }
    system.run { UserReport.movement("the end", of: "Door") }
    #expect(try await next(system)?.text == "the end")
  }
}
