import BusTesting
import BusValue
import Glibc
import Synchronization
import SystemBus
import Testing

private let path = ObjectPath(unchecked: "/test")

@Suite("Several connections on one thread", .timeLimit(.minutes(15)))
struct SharedThreadTests {
  /// A thread with connections to a bus. Each tells what it was called with.
  private final class Stage: Sendable {
    let daemon: PrivateBus
    let thread: BusThread
    let told = Inbox<String>()

    init() throws {
      daemon = try PrivateBus()
      thread = try BusThread()
      try thread.start()
    }

    deinit { thread.stop() }

    func bus(messagesPerTurn: Int = 1, mayHandle: @escaping @Sendable () -> Bool = { true }) throws -> Bus {
      let bus = try Bus(
        address: daemon.address, thread: thread, messagesPerTurn: messagesPerTurn, mayHandle: mayHandle)
      let told = told
      try bus.start(
        BusHandlers(onCall: { bus, call in
          told.put(call.member)
          bus.reply(to: call, with: .success([.string(call.member)]))
        }))
      return bus
    }

    func client() throws -> Bus {
      let client = try Bus(address: daemon.address)
      try client.start()
      return client
    }
  }

  private static func call(_ bus: Bus, _ member: String) -> MethodCall {
    MethodCall(to: bus.uniqueName, path: path, interface: "test.Told", member: member)
  }

  @Test("each is served, and the end of one is not the end of another")
  func served() async throws {
    let stage = try Stage()
    let (first, second) = (try stage.bus(), try stage.bus(messagesPerTurn: 8))
    let client = try stage.client()
    for _ in 0..<20 {
      try await client.call(Self.call(first, "First"))
      try await client.call(Self.call(second, "Second"))
      #expect(try await stage.told.next() == "First")
      #expect(try await stage.told.next() == "Second")
    }
    // One may call another: it waits for nothing on the thread.
    #expect(try await first.call(Self.call(second, "Third")) == [.string("Third")])
    first.closeAndWait()
    try await client.call(Self.call(second, "Fourth"))
    let gone = await #expect(throws: BusError.self) { try await client.call(Self.call(first, "Fifth")) }
    #expect(gone?.name == BusError.Name.nameHasNoOwner)
    let third = try stage.bus()
    try await client.call(Self.call(third, "Sixth"))
    for bus in [second, third, client] { bus.close() }
  }

  @Test("what came while a call was waited for is handled, though nothing comes after it", arguments: [1, 8])
  func nothingIsLeft(messagesPerTurn: Int) async throws {
    let stage = try Stage()
    let (first, second) = (try stage.bus(messagesPerTurn: messagesPerTurn), try stage.bus())
    let client = try stage.client()
    let server = try stage.client()
    let count = 50
    for _ in 0..<20 {
      let isReached = Semaphore()
      let mayGoOn = Semaphore()
      first.enqueue { _ in
        isReached.signal()
        mayGoOn.wait()
        // It reads what the bus has for this connection, up to the answer.
        _ = try? first.callAndWait(
          MethodCall(to: "org.freedesktop.DBus", path: path, interface: "org.freedesktop.DBus", member: "GetId"))
      }
      isReached.wait()
      for number in 0..<count {
        try await client.callWithoutReply(Self.call(first, "Number\(number)"))
        try await server.callWithoutReply(Self.call(second, "Other"))
      }
      // The bus has passed them on.
      try await client.call(
        MethodCall(to: "org.freedesktop.DBus", path: path, interface: "org.freedesktop.DBus", member: "GetId"))
      mayGoOn.signal()
      var told: [String] = []
      for _ in 0..<(2 * count) { told.append(try await stage.told.next()) }
      #expect(told.filter { $0 != "Other" } == (0..<count).map { "Number\($0)" })
    }
    for bus in [first, second, client, server] { bus.close() }
  }

  @Test("what one may not handle waits on the bus, in order, and others are served")
  func waits() async throws {
    let stage = try Stage()
    let mayHandle = Flag()
    let (first, second) = (try stage.bus(mayHandle: { mayHandle.isSet }), try stage.bus())
    let client = try stage.client()
    for number in 0..<100 { try await client.callWithoutReply(Self.call(first, "Number\(number)")) }
    for _ in 0..<10 {
      try await client.call(Self.call(second, "Other"))
      #expect(try await stage.told.next() == "Other")
    }
    second.enqueue { _ in mayHandle.set() }
    for number in 0..<100 { #expect(try await stage.told.next() == "Number\(number)") }
    for bus in [first, second, client] { bus.close() }
  }

  @Test("what is put off comes after what is enqueued, and does not wait for ever")
  func putOff() async throws {
    let stage = try Stage()
    let bus = try stage.bus()
    let told = stage.told
    bus.enqueue { bus in
      bus.performInPause { _ in told.put("put off") }
      bus.enqueue { bus in
        told.put("enqueued")
        bus.enqueue { _ in told.put("enqueued later") }
      }
    }
    for expected in ["enqueued", "enqueued later", "put off"] { #expect(try await told.next() == expected) }
    let isDone = Flag()
    bus.enqueue { bus in
      bus.performInPause { _ in isDone.set() }
      Self.goOn(bus, until: isDone) { told.put("done") }
    }
    #expect(try await told.next() == "done")
    bus.close()
  }

  /// Enqueues itself until the flag is set.
  private static func goOn(_ bus: isolated Bus, until flag: Flag, _ end: @escaping @Sendable () -> Void) {
    if flag.isSet { return end() }
    bus.enqueue { goOn($0, until: flag, end) }
  }
}

/// A flag that is set once.
private final class Flag: Sendable {
  private let state = Mutex(false)
  var isSet: Bool { state.withLock { $0 } }
  func set() { state.withLock { $0 = true } }
}

/// Blocks a thread, as nothing but a test should.
private final class Semaphore: Sendable {
  private nonisolated(unsafe) let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
  init() { sem_init(semaphore, 0, 0) }
  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }
  func signal() { sem_post(semaphore) }
  func wait() { while sem_wait(semaphore) != 0 {} }
}
