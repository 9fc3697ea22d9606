import AppLink
import BusTesting
import SystemBus
import Testing

@testable import AppLinkBus

/// A client that gives up what it asked of an app, or leaves the bus before it has the answer.
@Suite("Requests that are given up, over the bus", .timeLimit(.minutes(20)))
struct WithdrawalTests {
  private func ask(_ bus: Bus, _ request: ControlRequest) -> Task<Void, any Error> {
    Task { _ = try await bus.call(ControlCall.call(request)) }
  }

  private func token(_ system: TestSystem) async throws -> (request: ControlRequest, token: ControlToken)? {
    guard case .control(let request, _, let token) = try await system.events.next() else { return nil }
    return (request, token)
  }

  @Test("L8: what a client asked of apps is withdrawn when it says so or leaves, and nobody else's is")
  func withdrawn() async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    let question = ControlRequest.askApp(bundleIdentifier: "a", name: "unlock", argument: "{}")
    let (client, other) = (try Bus(address: bus.address), try Bus(address: bus.address))
    try client.start()
    try other.start()
    let others = ask(other, question)
    _ = try await token(system)
    let answered = ask(client, question)
    let first = try #require(try await token(system))
    system.server.reply(to: first.token, text: "done")
    try await answered.value
    let waiting = ask(client, question)
    let second = try #require(try await token(system))

    let word = ask(client, .withdrawActions)
    #expect(try await system.events.next() == .withdrawn(second.token))
    let third = try #require(try await token(system))
    #expect(third.request == .withdrawActions)
    system.server.reply(to: third.token, .success(nil))
    try await word.value
    // The client still gets its answer.
    system.server.reply(to: second.token, text: "too late")
    try await waiting.value

    let gone = ask(client, .performAction(bundleIdentifier: "a", name: "unlock"))
    let fourth = try #require(try await token(system))
    client.close()
    #expect(try await system.events.next() == .withdrawn(fourth.token))
    await #expect(throws: (any Error).self) { try await gone.value }
    system.server.reply(to: fourth.token, .success(nil))
    other.close()
    await #expect(throws: (any Error).self) { try await others.value }
    system.server.close()
  }
}
