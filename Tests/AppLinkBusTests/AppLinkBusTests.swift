import AppLink
import BluetoothTypes
import BusTesting
import BusValue
import Foundation
import Logging
import Synchronization
import SystemBus
import Testing

@testable import AppLinkBus

@Suite("The link to apps over the bus")
struct AppLinkBusTests {
  @Test("every request, query and event arrives as it was sent, in order")
  func roundTrip() async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    let attached = try await AttachedApp(on: bus, to: system)
    let (app, client, connection) = (attached.app, attached.client, attached.connection)
    #expect(attached.credentials == Credentials(processIdentifier: getpid(), userIdentifier: getuid()))
    #expect(attached.attachment == Attachment(bundleIdentifier: "org.latchkey.test"))

    for request in Sample.requests { client.send(request) }
    for request in Sample.requests { #expect(try await system.events.next() == .request(connection, request)) }

    for query in Sample.queries {
      #expect(try client.query(query) == [Sample.peripheral, Sample.barePeripheral])
      guard case .query(connection, let asked, _) = try await system.events.next() else {
        Issue.record("no query came")
        return
      }
      #expect(asked == query)
    }

    for event in Sample.events { system.server.send(event, to: connection) }
    for event in Sample.events { #expect(try await app.told.next() == .event(event)) }

    client.close()
    #expect(try await system.events.next() == .detached(connection))
    system.server.close()
  }

  @Test("C7: a channel's socket reaches the app open, and the system's own is closed")
  func sockets() async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    let attached = try await AttachedApp(on: bus, to: system)
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
    let released = Inbox<Int32>()
    var channel: ChannelDescriptor? = ChannelDescriptor(owning: ends[0]) { number in
      close(number)
      released.put(number)
    }
    for event in channel.map({ Sample.events(with: $0) }) ?? [] { system.server.send(event, to: attached.connection) }
    channel = nil
    var sockets: [ChannelDescriptor] = []
    for _ in 0..<2 {
      guard case .event(let event) = try await attached.app.told.next() else { continue }
      switch event.body {
      case .channelOpened(_, psm: 0x80, let socket, mtu: 512),
        .operationCompleted(_, _, .channel(let socket, mtu: 512)):
        sockets.append(socket)
      default: Issue.record("\(event)")
      }
    }
    #expect(try await released.next() == ends[0])
    #expect(sockets.count == 2)
    for (number, socket) in sockets.enumerated() {
      #expect(send(socket.number, [UInt8(number)], 1, 0) == 1)
      var byte: UInt8 = 9
      #expect(recv(ends[1], &byte, 1, Int32(MSG_DONTWAIT)) == 1)
      #expect(byte == UInt8(number))
    }
    close(ends[1])
    attached.client.close()
    system.server.close()
  }

  @Test("every message is read back as it was written")
  func coding() throws {
    for request in Sample.requests {
      let message = RequestCoding.message(request)
      #expect(try RequestCoding.request(message.name, ArgumentReader(message.arguments)) == request)
    }
    for event in Sample.events {
      let message = EventCoding.message(event)
      #expect(try EventCoding.event(message.name, message.arguments) == event)
    }
  }

  @Test("the samples are every method and every event there is, and have the described types")
  func shapes() {
    func check(_ messages: [WireMessage], _ shapes: [MessageShape]) {
      for shape in shapes {
        let same = messages.filter { $0.name == shape.name }
        #expect(!same.isEmpty, "no sample of \(shape.name)")
        for message in same {
          #expect(message.arguments.map(\.signature).joined() == shape.signature, "\(shape.name)")
        }
      }
      #expect(Set(messages.map(\.name)).isSubset(of: shapes.map(\.name)))
    }
    check(Sample.requests.map(RequestCoding.message), RequestCoding.shapes)
    check(Sample.queries.map(QueryCoding.message), QueryCoding.shapes)
    let channel = ChannelDescriptor(owning: 0) { _ in }
    check((Sample.events + Sample.events(with: channel)).map(EventCoding.message), EventCoding.shapes)
    check([AttachCoding.message(Attachment(bundleIdentifier: "x"))], [AttachCoding.shape])
    check(Sample.controlRequests.map(ControlCoding.message), ControlCoding.shapes)
  }

  /// `LATCHKEY_RECORD_WIRE=1` writes the served interfaces into the files, below their comments.
  @Test("the interface described in config/dbus is the one that is served")
  func introspection() async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    let other = try Bus(address: bus.address)
    try other.start()
    let reply = try await other.call(
      MethodCall(
        to: AppLinkName.busName, path: AppLinkName.path, interface: BusName.introspectable, member: "Introspect"))
    let served = try #require(reply.first?.stringValue)
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../config/dbus")
    for name in [AppLinkName.appInterface, AppLinkName.controlInterface] {
      let file = folder.appending(path: name + ".xml")
      let described = try String(contentsOf: file, encoding: .utf8)
      if ProcessInfo.processInfo.environment["LATCHKEY_RECORD_WIRE"] != nil {
        let head = try #require(described.range(of: "<node>")).upperBound
        let body = indented(try #require(interface(name, in: served)), by: 1)
        try Data((described[..<head] + "\n\(body)\n</node>\n").utf8).write(to: file)
        continue
      }
      #expect(interface(name, in: described) != nil)
      #expect(interface(name, in: described) == interface(name, in: served), "config/dbus/\(name).xml")
    }
    other.close()
    system.server.close()
  }

  /// One tag per line, with two more columns of indentation for each level.
  private func indented(_ text: String, by level: Int) -> String {
    var level = level
    return text.replacingOccurrences(of: "><", with: ">\n<").split(separator: "\n").map { tag in
      if tag.hasPrefix("</") { level -= 1 }
      defer { if !tag.hasPrefix("</"), !tag.hasSuffix("/>") { level += 1 } }
      return String(repeating: "  ", count: level) + tag
    }.joined(separator: "\n")
  }

  /// The text of one interface, without comments and without space between tags.
  private func interface(_ name: String, in document: String) -> String? {
    var text = document
    while let start = text.range(of: "<!--"), let end = text.range(of: "-->") {
      text.removeSubrange(start.lowerBound..<end.upperBound)
    }
    let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    let tight = lines.joined(separator: " ").replacingOccurrences(of: "> <", with: "><")
    guard let start = tight.range(of: "<interface name=\"\(name)\">"),
      let end = tight.range(of: "</interface>", range: start.upperBound..<tight.endIndex)
    else { return nil }
    return String(tight[start.lowerBound..<end.upperBound])
  }

  @Test("an app attaches when the system appears, and again to the next one, with the number of its last event")
  func reattach() async throws {
    let bus = try PrivateBus()
    let app = App()
    let client = AppLinkClient(address: bus.address.text, logger: logger, delegate: app)
    try client.start()
    // Dropped, and not sent later.
    client.send(.central(Sample.manager, .stopScan))
    let away = #expect(throws: AppLinkError.self) { try client.query(Sample.queries[0]) }
    #expect(away?.code == .unavailable)
    for round in UInt64(1)...3 {
      let system = try TestSystem(on: bus)
      let (connection, _, attachment) = try await system.nextAttach()
      #expect(attachment.lastEvent == (round == 1 ? nil : EventSequence(round - 1)))
      #expect(try await app.told.next() == .attached(TestSystem.reply))
      let event = Event(sequence: EventSequence(round), manager: Sample.manager, body: .stateChanged(.poweredOn))
      system.server.send(event, to: connection)
      #expect(try await app.told.next() == .event(event))
      client.send(.destroyManager(Sample.manager))
      #expect(try await system.events.next() == .request(connection, .destroyManager(Sample.manager)))
      system.server.close()
      #expect(try await app.told.next() == .detached)
    }
    client.close()
  }

  @Test("a query is answered inside a delegate's method as well, and fails when the system dies meanwhile")
  func queries() async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    let asker = Asker(asksWhenAttached: true)
    try asker.start(on: bus)
    #expect(try await asker.answers.next().get() == [Sample.peripheral, Sample.barePeripheral])
    system.server.close()
    asker.close()

    // A system that never answers, and dies.
    let mute = try Bus(address: bus.address, name: AppLinkName.busName)
    let asked = Inbox<Bool>()
    try mute.start(
      BusHandlers(onCall: { bus, call in
        if call.member == "Attach" {
          bus.reply(to: call, with: .success(AttachCoding.values(TestSystem.reply)))
        } else {
          asked.put(true)
        }
      }))
    let app = App()
    let second = AppLinkClient(address: bus.address.text, logger: logger, delegate: app)
    try second.start()
    #expect(try await app.told.next() == .attached(TestSystem.reply))
    // On a separate thread: a query blocks, and the tests have few threads.
    let answers = Inbox<Result<QueryReply, AppLinkError>>()
    DispatchQueue.global().async {
      answers.put(Result { () throws(AppLinkError) in try second.query(Sample.queries[1]) })
    }
    _ = try await asked.next()
    mute.closeAndWait()
    let result = try await answers.next()
    let failure = #expect(throws: AppLinkError.self) { try result.get() }
    #expect(failure?.code == .unavailable)
    second.close()
  }

  @Test("a refused app is told why, and tries again with the next system")
  func refusal() async throws {
    let bus = try PrivateBus()
    let error = AppLinkError(.unknownApp, "no Info.plist names org.latchkey.test")
    let strict = try TestSystem(on: bus, refusing: error)
    let app = App()
    let client = AppLinkClient(address: bus.address.text, logger: logger, delegate: app)
    try client.start()
    #expect(try await app.told.next() == .refused(error))
    strict.server.close()
    let kind = try TestSystem(on: bus)
    #expect(try await app.told.next() == .attached(TestSystem.reply))
    client.close()
    kind.server.close()
  }

  @Test("a malformed message is refused by name and changes nothing; a client that isn't attached is refused")
  func malformed() async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    let peer = try Bus(address: bus.address)
    try peer.start()
    func call(_ member: String, _ arguments: [Value], interface: String = AppLinkName.appInterface) -> MethodCall {
      MethodCall(
        to: AppLinkName.busName, path: AppLinkName.path, interface: interface, member: member, arguments: arguments)
    }
    func refusal(_ call: MethodCall) async -> String? {
      do {
        try await peer.call(call)
        return nil
      } catch { return error.name }
    }
    let identifier = Sample.manager.busValue
    #expect(await refusal(call("StopScan", [identifier])) == "org.latchkey.Error.NotAttached")
    #expect(await refusal(call("Attach", [.string("x")])) == "org.latchkey.Error.InvalidArguments")
    try await peer.call(call("Attach", [.uint32(1), .string("x"), .array(of: "t", [])]))
    _ = try await system.nextAttach()
    #expect(
      await refusal(call("Attach", [.uint32(1), .string("x"), .array(of: "t", [])]))
        == "org.latchkey.Error.AlreadyAttached")
    let bad: [MethodCall] = [
      call("StopScan", []), call("StopScan", [.string("1")]), call("StopScan", [identifier, identifier]),
      call("CreateManager", [identifier, .string("observer"), .array(of: "s", [])]),
      call("CreateManager", [identifier, .string("central"), .strings(["a", "b"])]),
      call("CreateManager", [identifier, .string(String(repeating: "x", count: 5000)), .array(of: "s", [])]),
      call("CancelConnection", [identifier, .string("no uuid")]),
      call("RetrievePeripherals", [identifier, .strings(Array(repeating: Sample.peer.uuidString, count: 4097))]),
      call(
        "UpdateValue",
        [
          identifier, Sample.peer.busValue, .bytes(Array(repeating: 0, count: 65537)), .array(of: "as", []),
        ]),
      call(
        "Connect",
        [
          identifier, Sample.peer.busValue,
          .structure([.bool(true), .bool(true), .bool(true), .bool(true), .double(.nan)]),
        ]),
    ]
    for message in bad { #expect(await refusal(message) == "org.latchkey.Error.InvalidArguments", "\(message.member)") }
    #expect(await refusal(call("Unlock", [])) == BusError.Name.unknownMethod)
    #expect(await refusal(call("StopScan", [identifier], interface: "org.other")) == BusError.Name.unknownMethod)
    try await peer.call(call("StopScan", [identifier]))
    #expect(
      try await system.events.next()
        == .request(AppConnection(name: peer.uniqueName), .central(Sample.manager, .stopScan)))
    peer.close()
    system.server.close()
  }

  @Test("attack 37: events of another than the system are not the system's")
  func forgedEvents() async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    let attached = try await AttachedApp(on: bus, to: system)
    let (app, client, connection) = (attached.app, attached.client, attached.connection)
    let forger = try Bus(address: bus.address)
    try forger.start()
    let forged = EventCoding.message(Sample.events[1])
    try await forger.emit(
      OutgoingSignal(
        path: AppLinkName.path, interface: AppLinkName.appInterface, member: forged.name,
        arguments: forged.arguments, destination: connection.name))
    // The bus has delivered it before it answers this.
    _ = try await forger.credentials(of: connection.name)
    system.server.send(Sample.events[5], to: connection)
    #expect(try await app.told.next() == .event(Sample.events[5]))
    for other in [forger] { other.close() }
    client.close()
    system.server.close()
  }

  @Test("the user's requests arrive with their sender, and are answered")
  func control() async throws {
    let bus = try PrivateBus()
    let asked = Inbox<(ControlRequest, Credentials)>()
    let box = Holder()
    let server = AppLinkServer(address: bus.address.text, logger: logger) { event in
      guard case .control(let request, let credentials, let token) = event else { return }
      asked.put((request, credentials))
      if case .openApp("unknown") = request {
        box.value?.reply(to: token, .failure(AppLinkError(.unknownApp, "no such app")))
      } else {
        box.value?.reply(to: token, .success(request.returnsStatus ? Sample.status : nil))
      }
    }
    box.value = server
    let client = try ControlClient(address: bus.address.text)
    let absent = await #expect(throws: AppLinkError.self) { try await client.status() }
    #expect(absent?.code == .unavailable)
    try server.start()
    for request in Sample.controlRequests {
      #expect(try await client.perform(request) == (request.returnsStatus ? Sample.status : nil))
      let (told, credentials) = try await asked.next()
      #expect(told == request)
      #expect(credentials.userIdentifier == getuid())
    }
    await #expect(throws: AppLinkError(.unknownApp, "no such app")) {
      try await client.perform(.openApp(bundleIdentifier: "unknown"))
    }
    server.close()
  }

  @Test("many apps at once each get their own events, in order")
  func manyApps() async throws {
    let bus = try PrivateBus()
    let system = try TestSystem(on: bus)
    var apps: [AttachedApp] = []
    for _ in 0..<8 { apps.append(try await AttachedApp(on: bus, to: system)) }
    for number in UInt64(1)...100 {
      for (index, attached) in apps.enumerated() {
        let event = Event(
          sequence: EventSequence(number), manager: Sample.manager, body: .updateCredit(index))
        system.server.send(event, to: attached.connection)
      }
    }
    for (index, attached) in apps.enumerated() {
      for number in UInt64(1)...100 {
        let event = Event(sequence: EventSequence(number), manager: Sample.manager, body: .updateCredit(index))
        #expect(try await attached.app.told.next() == .event(event))
      }
      attached.client.close()
    }
    system.server.close()
  }

  @Test("a second system on one bus is refused with the reason")
  func secondSystem() throws {
    let bus = try PrivateBus()
    let first = AppLinkServer(address: bus.address.text, logger: logger) { _ in }
    try first.start()
    let second = AppLinkServer(address: bus.address.text, logger: logger) { _ in }
    let error = #expect(throws: BusError.self) { try second.start() }
    #expect(error?.name == BusError.Name.nameTaken)
    first.close()
  }
}
