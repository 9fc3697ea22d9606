import CoreBluetoothTestKit
import Testing

@Suite("An inbox")
struct InboxTests {
  @Test("H5: a wait ends when its test is cancelled, and takes nothing that comes later")
  func cancellation() async throws {
    let inbox = Inbox<Int>()
    let cancelled = Task { try await inbox.next() }
    let patient = Task { try await inbox.next() }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    inbox.put(1)
    #expect(try await patient.value == 1)
    inbox.put(2)
    #expect(try await inbox.next() == 2)
    #expect(inbox.pending.isEmpty)
  }
}
