import AppLink
import BusTesting
import BusValue
import Synchronization
import SystemBus
import Testing

@testable import AppLinkBus

@Suite("A link that the system has forgotten", .timeLimit(.minutes(20)))
struct ForgottenLinkTests {
  @Test("L3: an app that is told that it is not attached can attach again, on the same connection")
  func attachesAgain() async throws {
    let bus = try PrivateBus()
    let events = Inbox<AppLinkServerEvent>()
    let box = Mutex<AppLinkServer?>(nil)
    let server = AppLinkServer(address: bus.address.text, logger: logger) { event in
      let server = box.withLock { $0 }
      switch event {
      case .attach(_, _, _, let token): server?.reply(to: token, .success(TestSystem.reply))
      case .query(let connection, _, let token):
        server?.reply(to: token, .failure(AppLinkError(.notAttached, "Attach before asking.")))
        server?.handled(connection)
      default: break
      }
      events.put(event)
    }
    box.withLock { $0 = server }
    try server.start()
    let peer = try Bus(address: bus.address)
    try peer.start()
    func call(_ member: String, _ arguments: [Value]) -> MethodCall {
      MethodCall(
        to: AppLinkName.busName, path: AppLinkName.path, interface: AppLinkName.appInterface, member: member,
        arguments: arguments)
    }
    let attach = call("Attach", [.uint32(1), .string("x"), .array(of: "t", [])])
    try await peer.call(attach)
    _ = try await events.next()
    await #expect(throws: BusError.self) {
      try await peer.call(call("RetrievePeripherals", [Sample.manager.busValue, .strings([])]))
    }
    _ = try await events.next()
    #expect(try await events.next() == .detached(AppConnection(name: peer.uniqueName)))
    try await peer.call(attach)
    guard case .attach = try await events.next() else {
      Issue.record("it is not attached again")
      return
    }
    peer.close()
    #expect(try await events.next() == .detached(AppConnection(name: peer.uniqueName)))
    server.close()
  }
}
