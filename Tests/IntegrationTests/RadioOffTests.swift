import Testing

/// The machine boots without its radio.
@Suite("Relaunched with the radio off, with real processes", .timeLimit(.minutes(20)))
struct RadioOffTests {
  @Test("S8, C1: an agent that is relaunched where the radio is off asks for nothing until it is on, then for its lock")
  func relaunched() async throws {
    let (_, outcome) = try await LatchkeyCommand.prove(
      """
      name: radio-off
      machines:
        door: {position: [0, 0], apps: [lock]}
        phone: {position: [1, 0], apps: [agent]}
      steps:
        - open app: {machine: phone, app: agent}
        - wait for: {event: status.answered, machine: phone, within: 5min}
        - reboot: {machine: phone, for: 10s}
        - rfkill: {machine: phone, to: block}
        - wait for: {event: stateUpdated, machine: phone, fields: {state: poweredOff}, within: 1min}
        - pass: 10min
        - rfkill: {machine: phone, to: unblock}
        - wait for: {event: status.answered, machine: phone, within: 1min}
      promises: [no-errors-logged, nothing-crashed]
      """)
    #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
  }
}
