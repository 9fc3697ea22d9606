import BusTesting
import BusValue
import Glibc
import Synchronization
import SystemBus
import Testing

private let path = ObjectPath(unchecked: "/test")

/// A connection that returns what it is called with.
private func echo(on address: BusAddress, name: String? = nil) throws -> Bus {
  let bus = try Bus(address: address, name: name)
  try bus.start(
    BusHandlers(onCall: { bus, call in
      switch call.member {
      case "Echo": bus.reply(to: call, with: .success(call.arguments))
      case "Fail": bus.reply(to: call, with: .failure(BusError(name: "test.Failed", message: "as asked")))
      case "Quiet": break
      default: bus.reply(to: call, with: .failure(.unknownMethod(call)))
      }
    }))
  return bus
}

private func call(_ bus: Bus, _ member: String, _ arguments: [Value] = []) -> MethodCall {
  MethodCall(to: bus.uniqueName, path: path, interface: "test.Echo", member: member, arguments: arguments)
}

@Suite("Bus")
struct SystemBusTests {
  @Test("every D-Bus type comes back as it was sent")
  func types() async throws {
    let daemon = try PrivateBus()
    let server = try echo(on: daemon.address)
    let client = try Bus(address: daemon.address)
    try client.start()
    let nested = Value.dictionary(
      key: "s", value: "a(yv)",
      [.string("ä"): .array(of: "(yv)", [.structure([.byte(1), .variant(.strings(["a", ""]))])])])
    let values: [Value] = [
      .byte(255), .bool(true), .bool(false), .int16(-2), .uint16(65535), .int32(.min), .uint32(.max), .int64(.min),
      .uint64(.max), .double(-0.5), .string("tür 🔑"), .path(path), .signature("a{sv}"), .bytes([]), .bytes([0, 1]),
      .array(of: "s", []), .array(of: "ay", [.bytes([1]), .bytes([])]), nested, .variant(.variant(.uint16(7))),
      .properties([
        "Name": .string("x"), "Data": .dictionary(key: "q", value: "v", [.uint16(1): .variant(.bytes([9]))]),
      ]),
      .structure([.string(""), .structure([.bool(true)])]),
    ]
    let reply = try await client.call(call(server, "Echo", values))
    #expect(reply == values)
    #expect(reply.map(\.signature) == values.map(\.signature))
    client.close()
    server.close()
  }

  @Test("calls of one caller are answered in order, many at once")
  func many() async throws {
    let daemon = try PrivateBus()
    let server = try echo(on: daemon.address)
    let client = try Bus(address: daemon.address)
    try client.start()
    let answered = Inbox<Value>()
    client.enqueue { bus in
      for number in 0..<100 {
        bus.call(call(server, "Echo", [.int32(Int32(number))])) { result in
          answered.put((try? result.get())?.first ?? .bool(false))
        }
      }
    }
    for number in 0..<100 { #expect(try await answered.next() == .int32(Int32(number))) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in Int32(0)..<100 {
        group.addTask {
          let reply = try await client.call(call(server, "Echo", [.int32(number)]))
          #expect(reply == [.int32(number)])
        }
      }
      try await group.waitForAll()
    }
    client.close()
    server.close()
  }

  @Test("errors keep their name and text; unknown methods are named")
  func errors() async throws {
    let daemon = try PrivateBus()
    let server = try echo(on: daemon.address)
    let client = try Bus(address: daemon.address)
    try client.start()
    await #expect(throws: BusError(name: "test.Failed", message: "as asked")) {
      try await client.call(call(server, "Fail"))
    }
    let unknown = await #expect(throws: BusError.self) { try await client.call(call(server, "Missing", [.byte(1)])) }
    #expect(unknown?.name == BusError.Name.unknownMethod)
    #expect(unknown?.message.contains("\"Missing\" with signature \"y\"") == true)
    let zero = await #expect(throws: BusError.self) { try await client.call(call(server, "Echo", [.string("a\0b")])) }
    #expect(zero?.name == BusError.Name.invalidArguments)
    client.close()
    server.close()
  }

  @Test("without a bus the error names the address and what has to run")
  func noBus() {
    let error = #expect(throws: BusError.self) {
      try Bus(address: BusAddress("unix:path=/nonexistent/latchkey-bus"))
    }
    #expect(error?.name == BusError.Name.noServer)
    #expect(error?.message.contains("unix:path=/nonexistent/latchkey-bus") == true)
    #expect(error?.message.contains("dbus-daemon must run") == true)
    #expect(throws: BusError.self) { try Bus(address: BusAddress("nonsense")) }
  }

  @Test("the end of the bus is an event; open and later calls fail with it")
  func busEnds() async throws {
    let daemon = try PrivateBus()
    let server = try echo(on: daemon.address)
    let client = try Bus(address: daemon.address)
    let ended = Inbox<BusError>()
    try client.start(BusHandlers(onClose: { _, error in ended.put(error) }))
    let failed = Inbox<Result<[Value], BusError>>()
    client.enqueue { bus in bus.call(call(server, "Quiet")) { failed.put($0) } }
    // An answered call proves that the one without an answer is on its way.
    try await client.call(call(server, "Echo"))
    daemon.stop()
    let result = try await failed.next()
    #expect(throws: BusError.self) { try result.get() }
    #expect(try await ended.next() == .disconnected)
    await #expect(throws: BusError.disconnected) { try await client.call(call(server, "Echo")) }
    client.close()
    server.close()
  }

  @Test("a call with a time-out ends by it, one without waits until its callee leaves")
  func timeOut() async throws {
    let daemon = try PrivateBus()
    let server = try echo(on: daemon.address)
    let client = try Bus(address: daemon.address)
    try client.start()
    await #expect(throws: BusError.self) { try await client.call(call(server, "Quiet"), timeout: .milliseconds(20)) }
    let failed = Inbox<Result<[Value], BusError>>()
    client.enqueue { bus in bus.call(call(server, "Quiet")) { failed.put($0) } }
    try await client.call(call(server, "Echo"))
    server.close()
    let error = await #expect(throws: BusError.self) { try await failed.next().get() }
    #expect(error?.name == BusError.Name.noReply)
    client.close()
  }

  @Test("a name has one owner; its owners are told in order")
  func names() async throws {
    let daemon = try PrivateBus()
    let watcher = try Bus(address: daemon.address)
    try watcher.start()
    let owners = Inbox<String?>()
    watcher.enqueue { bus in bus.watchOwner(of: "test.Name") { _, owner in owners.put(owner) } }
    #expect(try await owners.next() == nil)
    let first = try echo(on: daemon.address, name: "test.Name")
    #expect(try await owners.next() == first.uniqueName)
    let taken = #expect(throws: BusError.self) { try Bus(address: daemon.address, name: "test.Name") }
    #expect(taken?.name == BusError.Name.nameTaken)
    let second = try echo(on: daemon.address)
    await #expect(throws: BusError.self) { try await second.requestName("test.Name") }
    first.closeAndWait()
    // The name is free at once.
    let next = try Bus(address: daemon.address, name: "test.Name")
    next.closeAndWait()
    for owner in [nil, next.uniqueName, nil] { #expect(try await owners.next() == owner) }
    try await second.requestName("test.Name")
    #expect(try await owners.next() == second.uniqueName)
    try await second.releaseName("test.Name")
    #expect(try await owners.next() == nil)
    second.close()
    watcher.close()
  }

  @Test("attack 37: a forged NameOwnerChanged changes nothing")
  func forgedOwner() async throws {
    let daemon = try PrivateBus()
    let watcher = try Bus(address: daemon.address)
    // One inbox for both, so that a forged signal that counts is noticed in place of the one that is waited for.
    let heard = Inbox<String>()
    try watcher.start(BusHandlers(onSignal: { _, signal in heard.put("a signal of \(signal.sender)") }))
    watcher.enqueue { bus in
      bus.watchOwner(of: "test.Name") { _, owner in heard.put("the owner is \(owner ?? "nobody")") }
    }
    #expect(try await heard.next() == "the owner is nobody")
    let forger = try echo(on: daemon.address)
    try await forger.emit(
      OutgoingSignal(
        path: ObjectPath(unchecked: "/org/freedesktop/DBus"), interface: "org.freedesktop.DBus",
        member: "NameOwnerChanged", arguments: [.string("test.Name"), .string(""), .string(forger.uniqueName)],
        destination: watcher.uniqueName))
    // It arrives as a signal of the forger.
    #expect(try await heard.next() == "a signal of \(forger.uniqueName)")
    let real = try echo(on: daemon.address, name: "test.Name")
    #expect(try await heard.next() == "the owner is \(real.uniqueName)")
    for bus in [forger, real, watcher] { bus.close() }
  }

  @Test("matched signals arrive with their sender, in order")
  func signals() async throws {
    let daemon = try PrivateBus()
    let sender = try echo(on: daemon.address)
    let receiver = try Bus(address: daemon.address)
    let received = Inbox<IncomingSignal>()
    try receiver.start(BusHandlers(onSignal: { _, signal in received.put(signal) }))
    let matched = Inbox<Bool>()
    receiver.enqueue { bus in
      bus.addMatch(MatchRule(sender: sender.uniqueName, interface: "test.Signal")) { _ in matched.put(true) }
    }
    #expect(try await matched.next())
    for number in 0..<50 {
      try await sender.emit(
        OutgoingSignal(path: path, interface: "test.Signal", member: "Count", arguments: [.int32(Int32(number))]))
    }
    for number in 0..<50 {
      let signal = try await received.next()
      #expect(signal.sender == sender.uniqueName)
      #expect(signal.arguments == [.int32(Int32(number))])
    }
    sender.close()
    receiver.close()
  }

  @Test("file descriptors travel, and are refused where none is expected")
  func fileDescriptors() async throws {
    let daemon = try PrivateBus()
    let server = try Bus(address: daemon.address)
    var ends: [Int32] = [-1, -1]
    #expect(pipe(&ends) == 0)
    let writeEnd = ends[1]
    try server.start(
      BusHandlers(onCall: { bus, call in bus.reply(to: call, with: .success([.fileDescriptor(writeEnd)])) }))
    let client = try Bus(address: daemon.address)
    try client.start()
    var wanted = call(server, "Open")
    wanted.acceptsFileDescriptors = true
    guard case .fileDescriptor(let received)? = try await client.call(wanted).first else {
      Issue.record("no descriptor came")
      return
    }
    #expect(received != writeEnd)
    var byte: UInt8 = 42
    #expect(write(received, &byte, 1) == 1)
    byte = 0
    #expect(read(ends[0], &byte, 1) == 1)
    #expect(byte == 42)
    await #expect(throws: BusError.self) { try await client.call(call(server, "Open")) }
    for descriptor in [received, ends[0], ends[1]] { close(descriptor) }
    server.close()
    client.close()
  }

  @Test("the bus identifies the caller")
  func credentials() async throws {
    let daemon = try PrivateBus()
    let server = try echo(on: daemon.address)
    let client = try Bus(address: daemon.address)
    try client.start()
    let credentials = try await client.credentials(of: server.uniqueName)
    #expect(credentials == BusCredentials(processIdentifier: getpid(), userIdentifier: getuid()))
    await #expect(throws: BusError.self) { try await client.credentials(of: ":1.9999") }
    server.close()
    client.close()
  }

  @Test("a message beyond the limits is refused, and the next one served")
  func limits() async throws {
    let daemon = try PrivateBus()
    let server = try Bus(
      address: daemon.address, limits: MessageLimits(depth: 4, values: 100, bytes: 1000, openCalls: 2))
    try server.start(
      BusHandlers(onCall: { bus, call in
        if call.member == "Echo" { bus.reply(to: call, with: .success(call.arguments)) }
      }))
    let client = try Bus(address: daemon.address)
    try client.start()
    var deep = Value.byte(1)
    for _ in 0..<10 { deep = .variant(deep) }
    for value in [
      deep, .bytes(Array(repeating: 0, count: 1001)), .array(of: "y", Array(repeating: .byte(1), count: 1001)),
      .array(of: "q", Array(repeating: .uint16(1), count: 101)),
    ] {
      let error = await #expect(throws: BusError.self) { try await client.call(call(server, "Echo", [value])) }
      #expect(error?.name == BusError.Name.limitsExceeded)
    }
    #expect(try await client.call(call(server, "Echo", [.byte(1)])) == [.byte(1)])
    client.enqueue { bus in for _ in 0..<2 { bus.call(call(server, "Quiet")) { _ in } } }
    let error = await #expect(throws: BusError.self) { try await client.call(call(server, "Echo")) }
    #expect(error?.name == BusError.Name.limitsExceeded)
    server.close()
    client.close()
  }

  @Test("a peer that leaves many calls open shuts nobody else out")
  func limitOfPeer() async throws {
    let daemon = try PrivateBus()
    let server = try Bus(address: daemon.address, limits: MessageLimits(openCallsOfPeer: 2))
    let quiet = Mutex<[IncomingCall]>([])
    try server.start(
      BusHandlers(onCall: { bus, call in
        if call.member == "Echo" {
          bus.reply(to: call, with: .success(call.arguments))
        } else {
          quiet.withLock { $0.append(call) }
        }
      }))
    let greedy = try Bus(address: daemon.address)
    try greedy.start()
    greedy.enqueue { bus in for _ in 0..<2 { bus.call(call(server, "Quiet")) { _ in } } }
    let error = await #expect(throws: BusError.self) { try await greedy.call(call(server, "Echo", [.byte(1)])) }
    #expect(error?.name == BusError.Name.limitsExceeded)
    let other = try Bus(address: daemon.address)
    try other.start()
    #expect(try await other.call(call(server, "Echo", [.byte(2)])) == [.byte(2)])
    // An answer makes room for one.
    let answered = try #require(quiet.withLock { $0.first })
    await server.reply(to: answered, with: .success([]))
    #expect(try await greedy.call(call(server, "Echo", [.byte(3)])) == [.byte(3)])
    for bus in [server, greedy, other] { bus.close() }
  }
}
