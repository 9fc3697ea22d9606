import Foundation
import Glibc
import JournalEvents
import ProcessTesting
import Testing

@Suite("What goes over the air from the link to the bolt", .serialized, .timeLimit(.minutes(15)))
struct ArrivalWriteTests {
  /// What a monitor has printed of calls for characteristics of the lock's service: reads, and the values that were written.
  /// One that was written again, as on a machine with much to do, counts once. Once it has its answer, a phone that was never
  /// here reads something of another service, for which it must bond.
  private func operations(_ output: String) -> (reads: Int, written: Set<String>) {
    let calls = output.components(separatedBy: "method call ").dropFirst()
    let writes = calls.filter { $0.contains("member=WriteValue") }
    let services = Set(writes.compactMap(service(of:)))
    return (
      calls.count { call in call.contains("member=ReadValue") && service(of: call).map(services.contains) != false },
      Set(
        writes.compactMap { call in
          call.components(separatedBy: "array of bytes [").dropFirst().first?.components(separatedBy: "]").first
        })
    )
  }

  /// The path of the service whose characteristic a call is for.
  private func service(of call: String) -> String? {
    call.components(separatedBy: "path=").dropFirst().first?.components(separatedBy: "/char").first
  }

  @Test("L2: one write and no read, of a phone that was never here, and of one that returns with its agent dead")
  func oneWrite() async throws {
    let house = try await Household(phones: ["phone"])
    let first = try await house.listenToCharacteristics(on: "phone")
    try await house.bringHome("phone")
    first.signal(SIGTERM)
    let meeting = try await first.finish().output
    #expect(operations(meeting).reads == 0 && operations(meeting).written.count == 1, "\(meeting)")

    let unlocked = try await house.latchkey("phone", "unlock")
    #expect(unlocked.status == 0, "\(unlocked.errors)")
    try await house.hear(Recorded.Lock.boltMoved.rawValue, on: Household.door)
    _ = try await house.latchkey("phone", "leave", "org.latchkey.agent")
    try await house.world(#"{"move":{"machine":"phone","x":500,"y":0}}"#)
    // The lock locks behind its owner. By then the agent has asked for the next link.
    try await house.hear(Recorded.Lock.boltMoved.rawValue, on: Household.door)
    let killed = try await house.latchkey("phone", "reclaim", "org.latchkey.agent")
    #expect(killed.status == 0, "\(killed.errors)")

    let second = try await house.listenToCharacteristics(on: "phone")
    try await house.world(#"{"move":{"machine":"phone","x":30,"y":0}}"#)
    try await house.world(#"{"walk":{"machine":"phone","x":1,"y":0,"seconds":10}}"#)
    try await house.hear(Recorded.Agent.willRestoreState.rawValue, on: "phone")
    try await house.hear(Recorded.Lock.boltMoved.rawValue, on: Household.door)
    second.signal(SIGTERM)
    let arrival = try await second.finish().output
    #expect(operations(arrival).reads == 0 && operations(arrival).written.count == 1, "\(arrival)")
    #expect(arrival.contains("\"command\""), "without a response: \(arrival)")
  }
}
