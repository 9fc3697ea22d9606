import AppLink
import BluetoothTypes
import BusTesting
import Foundation
import Logging
import Testing

@testable import AppLinkBus

/// Requests that latchkeyd refuses.
@Suite("Refused requests")
struct RefusedRequestTests {
  private struct Collector: LogHandler {
    let lines: Inbox<String>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.error

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.put("\(event.level): \(event.message)") }
  }

  @Test("S8: the log says at once that latchkeyd refuses a manager of before")
  func refusedManager() async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    let app = App()
    let lines = Inbox<String>()
    let client = AppLinkClient(
      address: bus.address.text, logger: Logger(label: "test") { _ in Collector(lines: lines) }, delegate: app)
    try client.start()
    _ = try await app.told.next()
    let view = ManagerView(state: .poweredOn, discovered: (0..<40_000).map { _ in PeerIdentifier(UUID()) })
    client.send(.resumeManager(ManagerIdentifier(1), ManagerCreation(role: .central), view))
    client.send(.central(ManagerIdentifier(1), .stopScan))
    #expect(try await lines.next().hasPrefix("critical: latchkeyd refuses"))
    client.close()
    system.server.close()
  }
}
