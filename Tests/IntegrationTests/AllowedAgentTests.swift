import Journal
import JournalEvents
import Testing

/// Its user does not let the agent use Bluetooth, and lets it again.
@Suite("An agent that may not use Bluetooth for a while, with real processes", .timeLimit(.minutes(10)))
struct AllowedAgentTests {
  @Test("C1, A8: once it may use Bluetooth again, the agent finds what it knew of its lock anew, and opens the door")
  func allowedAgain() async throws {
    let household = try await Household(phones: ["ann"])
    try await household.bringHome("ann")
    #expect(try await household.latchkey("ann", "unlock").status == 0)

    #expect(try await household.latchkey("ann", "allow", "org.latchkey.agent", "no").status == 0)
    for question in ["lock", "door"] {
      let refused = try await household.latchkey("ann", question)
      #expect(refused.status == 1 && refused.errors.contains("latchkey allow org.latchkey.agent yes"), "\(refused)")
    }

    #expect(try await household.latchkey("ann", "allow", "org.latchkey.agent", "yes").status == 0)
    try await household.hear(Recorded.Agent.didConnect.rawValue, on: "ann")
    let locked = try await household.latchkey("ann", "lock")
    #expect(locked.status == 0, "\(locked)")
    #expect(!(try household.journalText().contains("API MISUSE")))
  }

  @Test("L8: a person whose phone's Bluetooth is off is told so, and how to switch it on")
  func switchedOff() async throws {
    let household = try await Household(phones: ["ann"])
    try await household.bringHome("ann")
    #expect(try await household.latchkey("ann", "bluetooth", "off").status == 0)
    for question in ["unlock", "door", "room"] {
      let refused = try await household.latchkey("ann", question)
      #expect(refused.status == 1 && refused.errors.contains("latchkey bluetooth on"), "\(refused)")
    }
  }

  @Test("L3: who switches Bluetooth off is told which apps that do not run wait for nothing any more")
  func switchedOffWhileDead() async throws {
    let household = try await Household(phones: ["ann"])
    try await household.bringHome("ann")
    #expect(try await household.latchkey("ann", "reclaim", "org.latchkey.agent").status == 0)
    let off = try await household.latchkey("ann", "bluetooth", "off")
    #expect(off.status == 0 && off.errors.contains("latchkey open org.latchkey.agent"), "\(off)")
    let again = try await household.latchkey("ann", "bluetooth", "off")
    #expect(again.status == 0 && again.errors.isEmpty, "\(again)")
    #expect(try await household.latchkey("ann", "bluetooth", "on").status == 0)
    #expect(try await household.latchkey("ann", "open", "org.latchkey.agent").status == 0)
    try await household.bringHome("ann")
  }
}
