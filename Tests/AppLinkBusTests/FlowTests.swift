import AppLink
import BusTesting
import BusValue
import Dispatch
import Synchronization
import SystemBus
import Testing

@testable import AppLinkBus

/// A system that handles requests when the test says so, and counts those that wait.
private final class SlowSystem: Sendable {
  private struct Count {
    var now = 0
    var most = 0
  }

  let events = Inbox<AppLinkServerEvent>()
  private let box = Holder()
  private let count = Mutex(Count())

  init(on bus: PrivateBus) throws {
    let server = AppLinkServer(address: bus.address.text, logger: logger) { [self] event in
      switch event {
      case .attach(_, _, _, let token): box.value?.reply(to: token, .success(TestSystem.reply))
      case .request, .query:
        count.withLock { count in
          count.now += 1
          count.most = max(count.most, count.now)
        }
        events.put(event)
      default: events.put(event)
      }
    }
    box.value = server
    try server.start()
  }

  var most: Int { count.withLock { $0.most } }

  func handle(_ connection: AppConnection) {
    count.withLock { $0.now -= 1 }
    box.value?.handled(connection)
  }
  func reply(_ token: QueryToken) { box.value?.reply(to: token, .success([])) }
  func reply(_ token: ControlToken) { box.value?.reply(to: token, .success(nil)) }
  func close() { box.value?.close() }
}

@Suite("How much an app may say at once", .timeLimit(.minutes(20)))
struct FlowTests {
  private func request(_ number: UInt64) -> Request {
    .completeAction(ActionIdentifier(number), error: nil)
  }

  @Test("a burst waits in the app until the system has dealt with what came before, and nothing is lost")
  func burst() async throws {
    let bus = try PrivateBus()
    let system = try SlowSystem(on: bus)
    let app = App()
    let client = AppLinkClient(address: bus.address.text, logger: logger, delegate: app)
    try client.start()
    #expect(try await app.told.next() == .attached(TestSystem.reply))
    for number in UInt64(1)...4096 { client.send(request(number)) }
    for number in UInt64(1)...4096 {
      guard case .request(let connection, let request) = try await system.events.next() else {
        Issue.record("no request came")
        return
      }
      #expect(request == self.request(number))
      system.handle(connection)
    }
    #expect(system.most <= 64)
    client.close()
    system.close()
  }

  @Test("a burst of large requests waits in the app too, since their bytes count as well as their number")
  func burstOfBytes() async throws {
    let bus = try PrivateBus()
    let system = try SlowSystem(on: bus)
    let app = App()
    let client = AppLinkClient(address: bus.address.text, logger: logger, delegate: app)
    try client.start()
    #expect(try await app.told.next() == .attached(TestSystem.reply))
    for number in UInt8(0)..<198 { client.send(Self.large(number)) }
    var next = UInt8(0)
    var connection: AppConnection?
    func receive(_ count: Int) async throws {
      for _ in 0..<count {
        guard case .request(let sender, let request) = try await system.events.next() else {
          throw PrivateBus.Failure(description: "no request came")
        }
        #expect(request == Self.large(next))
        connection = sender
        next += 1
      }
    }
    // 18 requests of 60,000 bytes fill the window. At least each ninth has a receipt, so nine more come. One always
    // waits, so that the system keeps counting.
    try await receive(18)
    // Later than any call that did not wait: the system answers these after what is in its queue.
    let other = try Bus(address: bus.address)
    try other.start()
    for _ in 0..<50 { #expect(await refusal(other, call("StopScan", [Sample.manager.busValue])) != nil) }
    #expect(system.most == 18)
    other.close()
    for round in 0..<20 {
      for _ in 0..<(round == 0 ? 17 : 9) { system.handle(try #require(connection)) }
      try await receive(9)
    }
    #expect(system.most == 18)
    client.close()
    system.close()
  }

  private static func large(_ number: UInt8) -> Request {
    .peripheral(
      Sample.manager, .updateValue(Sample.id(6), value: Array(repeating: number, count: 60_000), centrals: nil))
  }

  @Test("a query comes after everything that was sent before it, on any thread", arguments: [true, false])
  func query(insideDelegate: Bool) async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    let asker = Asker(saying: (UInt64(1)...300).map(request))
    try asker.start(on: bus)
    let (connection, _, _) = try await system.nextAttach()
    _ = try await asker.attached.next()
    if insideDelegate {
      system.server.send(Sample.events[1], to: connection)
    } else {
      DispatchQueue.global().async { asker.ask() }
    }
    for number in UInt64(1)...300 { #expect(try await system.events.next() == .request(connection, request(number))) }
    guard case .query = try await system.events.next() else {
      Issue.record("no query came")
      return
    }
    #expect(try await asker.answers.next().get() == [Sample.peripheral, Sample.barePeripheral])
    asker.close()
    system.server.close()
  }

  @Test("what an app sent before it left arrives")
  func leaving() async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    let attached = try await AttachedApp(on: bus, to: system)
    let (client, connection) = (attached.client, attached.connection)
    for number in UInt64(1)...300 { client.send(request(number)) }
    client.close()
    for number in UInt64(1)...300 { #expect(try await system.events.next() == .request(connection, request(number))) }
    #expect(try await system.events.next() == .detached(connection))
    system.server.close()
  }

  private func call(_ member: String, _ arguments: [Value] = [], control: Bool = false) -> MethodCall {
    MethodCall(
      to: AppLinkName.busName, path: AppLinkName.path,
      interface: control ? AppLinkName.controlInterface : AppLinkName.appInterface, member: member,
      arguments: arguments)
  }

  private func refusal(_ peer: Bus, _ call: MethodCall) async -> BusError? {
    do {
      // A refusal comes at once. The timeout ends the wait if there is none.
      try await peer.call(call, timeout: .seconds(20))
      return nil
    } catch { return error }
  }

  @Test(
    "an app that exceeds the limit, by number or by bytes, is refused and detached, and may attach again",
    arguments: [(Request.central(Sample.manager, .stopScan), 256), (large(7), 70)])
  func flood(_ request: Request, count: Int) async throws {
    let bus = try PrivateBus()
    let system = try SlowSystem(on: bus)
    let peer = try Bus(address: bus.address)
    try peer.start()
    let connection = AppConnection(name: peer.uniqueName)
    let attach = call("Attach", [.uint32(1), .string("x"), .array(of: "t", [])])
    try await peer.call(attach)
    let message = RequestCoding.message(request)
    let said = call(message.name, message.arguments)
    for _ in 0..<count { try await peer.callWithoutReply(said) }
    let error = await refusal(peer, said)
    #expect(error?.name == "org.latchkey.Error.LimitReached")
    let bytes = count * message.arguments.byteCount
    #expect(error?.message.contains("\(count) requests of this connection wait already, with \(bytes) bytes") == true)
    #expect(error?.message.contains("(at most 256, with 4194304)") == true)
    #expect(await refusal(peer, said)?.name == "org.latchkey.Error.NotAttached")
    // After attaching again, it has as many requests waiting as before, until they are handled.
    try await peer.call(attach)
    #expect(await refusal(peer, said)?.name == "org.latchkey.Error.LimitReached")
    for _ in 0..<count {
      #expect(try await system.events.next() == .request(connection, request))
      system.handle(connection)
    }
    for _ in 0..<2 { #expect(try await system.events.next() == .detached(connection)) }
    try await peer.call(attach)
    try await peer.callWithoutReply(said)
    #expect(try await system.events.next() == .request(connection, request))
    peer.close()
    #expect(try await system.events.next() == .detached(connection))
    system.close()
  }

  @Test("the reply to a request means that the system has processed it")
  func reply() async throws {
    let bus = try PrivateBus()
    let system = try SlowSystem(on: bus)
    let peer = try Bus(address: bus.address)
    try peer.start()
    try await peer.call(call("Attach", [.uint32(1), .string("x"), .array(of: "t", [])]))
    let said = Inbox<String>()
    let stop = call("StopScan", [Sample.manager.busValue])
    await peer.call(stop) { _ in said.put("replied") }
    guard case .request(let connection, _) = try await system.events.next() else {
      Issue.record("no request came")
      return
    }
    // Later than a reply that came with the request.
    _ = try await peer.credentials(of: peer.uniqueName)
    _ = await refusal(peer, call("Unlock"))
    #expect(said.untaken == [])
    system.handle(connection)
    #expect(try await said.next() == "replied")
    peer.close()
    system.close()
  }

  @Test("of users' requests 64 wait; the next is refused until one is answered")
  func manyUsers() async throws {
    let bus = try PrivateBus()
    let system = try SlowSystem(on: bus)
    let peer = try Bus(address: bus.address)
    try peer.start()
    let on = call("SetBluetooth", [.bool(true)], control: true)
    for _ in 0..<64 { try await peer.callWithoutReply(on) }
    #expect(await refusal(peer, on)?.name == "org.latchkey.Error.LimitReached")
    guard case .control(_, _, let token) = try await system.events.next() else {
      Issue.record("no request came")
      return
    }
    system.reply(token)
    // The place is free once the answer, which takes the same way, has been sent.
    try await peer.callWithoutReply(on)
    for _ in 0..<63 + 1 { _ = try await system.events.next() }
    peer.close()
    system.close()
  }
}
