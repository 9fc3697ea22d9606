import AppLink
import BusTesting
import Testing

@testable import AppLinkBus

/// An app that handles events as soon as it is attached, all at once.
private final class HastyApp: AppLinkDelegate, @unchecked Sendable {
  /// Set before the client is started.
  var client: AppLinkClient?
  let requests: [Request]

  init(_ requests: [Request]) { self.requests = requests }

  var attachment: Attachment { Attachment(bundleIdentifier: "org.latchkey.test") }
  func linkDidAttach(_ reply: AttachReply) { for request in requests { client?.send(request) } }
  func linkDidReceive(_ event: Event) {}
  func linkDidDetach() {}
  func linkWasRefused(_ error: AppLinkError) {}
}

@Suite("What an app has handled", .timeLimit(.minutes(20)))
struct HandledEventsTests {
  private func handled(_ number: UInt64) -> Request { .handled(through: EventSequence(number)) }
  private func action(_ number: UInt64) -> Request { .completeAction(ActionIdentifier(number), error: nil) }

  @Test("W2: of a burst of handled events the last is told, and before what the app asks for afterwards")
  func burst() async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    let app = HastyApp((1...20).map(handled) + [action(1)] + (21...40).map(handled))
    let client = AppLinkClient(address: bus.address.text, logger: logger, delegate: app)
    app.client = client
    try client.start()
    while true { if case .attach = try await system.events.next() { break } }
    for expected in [handled(20), action(1), handled(40)] {
      guard case .request(_, let request) = try await system.events.next() else {
        Issue.record("no request came")
        return
      }
      #expect(request == expected)
    }
    client.close()
    system.server.close()
  }
}
