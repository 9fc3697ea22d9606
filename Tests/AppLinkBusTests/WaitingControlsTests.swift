import AppLink
import Testing

@testable import AppLinkBus

@Suite("How many requests of users may wait")
struct WaitingControlsTests {
  private func accept(_ count: Int, of user: UInt32, in controls: inout WaitingControls) throws {
    for _ in 0..<count {
      try controls.arrived()
      try controls.accept(user)
    }
  }

  @Test("a user whose requests wait keeps no other user out")
  func users() throws {
    var controls = WaitingControls()
    try accept(Flow.userControlLimit, of: 1000, in: &controls)
    #expect(throws: AppLinkError(.limitReached, "64 requests of this user wait already; try again")) {
      try accept(1, of: 1000, in: &controls)
    }
    try accept(1, of: 0, in: &controls)
    controls.answered(1000)
    try accept(1, of: 1000, in: &controls)
  }

  @Test("all users together have room too, and it is free again when requests are answered")
  func all() throws {
    var controls = WaitingControls()
    for user in UInt32(1)...4 { try accept(Flow.userControlLimit, of: user, in: &controls) }
    #expect(throws: AppLinkError(.limitReached, "256 requests of users wait already; try again")) {
      try accept(1, of: 5, in: &controls)
    }
    for _ in 0..<Flow.userControlLimit { controls.answered(1) }
    try accept(Flow.userControlLimit, of: 5, in: &controls)
  }

  @Test("requests whose user the bus has not told yet have room of their own, and a forgotten one leaves it")
  func unknown() throws {
    var controls = WaitingControls()
    for _ in 0..<Flow.unknownControlLimit { try controls.arrived() }
    #expect(throws: AppLinkError(.limitReached, "256 requests of users came at once; try again")) {
      try controls.arrived()
    }
    controls.forget()
    try controls.arrived()
    try controls.accept(1)
    try controls.arrived()
  }
}
