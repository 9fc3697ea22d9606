import BlueZ
import BluetoothTypes
import BusTesting
import BusValue
import Glibc
import Logging
import SystemBus
import Testing

@testable import BlueZBus

@Suite("org.bluez over the bus")
struct BlueZBusTests {
  @Test("every request arrives as it was made, and every reply as it was given")
  func requests() async throws {
    let pair = try await Pair()
    for (number, (path, request, answer)) in Sample.calls.enumerated() {
      try await pair.exchange(UInt64(number), path, request, answer: answer)
    }
    try await pair.exchange(901, Sample.adapter, .unregisterApplication(root: Sample.application))
    try await pair.exchange(902, Sample.adapter, .unregisterAdvertisement(path: Sample.advertisement))
    try await pair.exchange(904, Sample.adapter, .unregisterMonitor(root: Sample.monitors))
    try await pair.exchange(903, WellKnown.managerPath, .unregisterAgent(path: Sample.agent))
    pair.close()
  }

  @Test("properties and objects are read from the mirror, which follows every signal")
  func mirror() async throws {
    let pair = try await Pair()
    func ask(_ path: ObjectPath, _ request: Request) async throws -> DaemonMessage {
      pair.client.send(.call(CallIdentifier(1), path: path, request))
      return try await pair.messages.next()
    }
    for signal in Sample.signals { pair.server.broadcast(signal) }
    for signal in Sample.signals { #expect(try await pair.messages.next() == .signal(signal)) }
    var objects = Sample.objects
    objects[Sample.device]?[InterfaceName.device]?["Connected"] = .bool(false)
    objects[Sample.device]?[InterfaceName.device]?["RSSI"] = nil
    objects[Sample.characteristic]?[InterfaceName.gattCharacteristic]?["Value"] = .bytes([1])
    #expect(try await ask(.root, .getManagedObjects) == .reply(CallIdentifier(1), .success(.objects(objects))))
    #expect(
      try await ask(Sample.device, .getProperty(interface: InterfaceName.device, name: "Connected"))
        == .reply(CallIdentifier(1), .success(.value(.bool(false)))))
    let properties = try #require(objects[Sample.device]?[InterfaceName.device])
    #expect(
      try await ask(Sample.device, .getAllProperties(interface: InterfaceName.device))
        == .reply(CallIdentifier(1), .success(.properties(properties))))
    guard
      case .reply(_, .failure(let error)) = try await ask(
        Sample.device, .getProperty(interface: InterfaceName.device, name: "RSSI"))
    else {
      Issue.record("an invalidated property was read")
      return
    }
    #expect(error.name == BusError.Name.invalidArguments)
    pair.close()
  }

  @Test("every callback reaches the client's object, and its answer comes back")
  func callbacks() async throws {
    let pair = try await Pair()
    let name = try await pair.register()
    for (number, (path, callback, answer)) in Sample.callbacks.enumerated() {
      let sent = CallbackIdentifier(UInt64(1000 + number))
      pair.server.send(.callback(sent, path: path, callback), to: name)
      guard case .callback(let identifier, let arrivedPath, let arrived) = try await pair.messages.next() else {
        Issue.record("no callback came")
        return
      }
      #expect(arrivedPath == path)
      #expect(arrived == callback)
      pair.client.send(.answer(identifier, answer))
      #expect(try await pair.events.next() == .message(from: name, .answer(sent, answer)))
    }
    pair.close()
  }

  @Test("a value of the exported characteristic reaches the server; one of another path does not")
  func values() async throws {
    let pair = try await Pair()
    let name = try await pair.register()
    pair.client.send(.valueChanged(path: Sample.exported.appending("no"), value: [0]))
    for byte in UInt8(1)...100 { pair.client.send(.valueChanged(path: Sample.exported, value: [byte])) }
    for byte in UInt8(1)...100 {
      #expect(
        try await pair.events.next() == .message(from: name, .valueChanged(path: Sample.exported, value: [byte])))
    }
    pair.close()
  }

  @Test("a failed registration exports nothing, and can be made again")
  func failedRegistration() async throws {
    let pair = try await Pair()
    let request = Request.registerApplication(root: Sample.application, objects: Sample.applicationObjects)
    let name = try await pair.exchange(1, Sample.adapter, request, answer: .failure(.failed("Failed to register")))
    pair.client.send(.valueChanged(path: Sample.exported, value: [1]))
    pair.server.send(.callback(CallbackIdentifier(5), path: Sample.exported, .startNotify), to: name)
    guard case .message(name, .answer(CallbackIdentifier(5), .failure(let error))) = try await pair.events.next() else {
      Issue.record("an object that isn't exported answered")
      return
    }
    #expect(error.name == BusError.Name.unknownObject)
    try await pair.exchange(2, Sample.adapter, request)
    pair.client.send(.call(CallIdentifier(3), path: Sample.adapter, request))
    #expect(try await pair.messages.next() == .reply(CallIdentifier(3), .failure(.alreadyExists)))
    pair.close()
  }

  @Test("bluetoothd leaves and comes back: vanished, then its objects anew; open calls get no reply")
  func restart() async throws {
    let pair = try await Pair()
    let first = try await pair.register()
    pair.client.send(.call(CallIdentifier(1), path: Sample.device, .connect))
    guard case .message = try await pair.events.next() else {
      Issue.record("no call came")
      return
    }
    pair.server.close()
    #expect(try await pair.messages.next() == .vanished)
    // Sent while bluetoothd is away, so it is dropped.
    pair.client.send(.call(CallIdentifier(2), path: Sample.device, .connect))
    let events = Inbox<BlueZServerEvent>()
    let second = try startServer(on: pair.bus, events)
    #expect(try await pair.messages.next() == .appeared(Sample.objects))
    let request = Request.registerApplication(root: Sample.application, objects: Sample.applicationObjects)
    pair.client.send(.call(CallIdentifier(3), path: Sample.adapter, request))
    guard case .message(first, .call(let identifier, _, request)) = try await events.next() else {
      Issue.record("what was registered before can't be registered again")
      return
    }
    second.send(.reply(identifier, .success(.none)), to: first)
    #expect(try await pair.messages.next() == .reply(CallIdentifier(3), .success(.none)))
    pair.client.close()
    second.close()
  }

  @Test("a client that starts before bluetoothd hears of it when it comes")
  func clientFirst() async throws {
    let bus = try PrivateBus()
    let messages = Inbox<DaemonMessage>()
    let client = BlueZClient(address: bus.address.text, logger: logger) { messages.put($0) }
    try client.start()
    let server = try startServer(on: bus, Inbox())
    #expect(try await messages.next() == .appeared(Sample.objects))
    bus.stop()
    #expect(try await messages.next() == .vanished)
    client.close()
    server.close()
  }

  @Test("a client's end is reported once, and its later messages are ignored")
  func clientVanishes() async throws {
    let pair = try await Pair()
    let name = try await pair.register()
    pair.client.send(.call(CallIdentifier(1), path: Sample.device, .connect))
    guard case .message(_, .call(let open, _, .connect)) = try await pair.events.next() else {
      Issue.record("no call came")
      return
    }
    pair.server.send(
      .callback(
        CallbackIdentifier(1), path: Sample.exported, .readValue(RemoteRequest(device: Sample.device, mtu: 23))),
      to: name)
    guard case .callback = try await pair.messages.next() else {
      Issue.record("no callback came")
      return
    }
    pair.client.close()
    #expect(try await pair.events.next() == .clientVanished(name))
    // Neither does any harm.
    pair.server.send(.reply(open, .success(.none)), to: name)
    pair.server.send(.callback(CallbackIdentifier(2), path: Sample.exported, .startNotify), to: name)
    let other = Inbox<DaemonMessage>()
    let second = BlueZClient(address: pair.bus.address.text, logger: logger) { other.put($0) }
    try second.start()
    #expect(try await other.next() == .appeared(Sample.objects))
    second.send(.call(CallIdentifier(1), path: Sample.device, .disconnect))
    guard case .message(let newName, .call(_, _, .disconnect)) = try await pair.events.next() else {
      Issue.record("something came in between")
      return
    }
    #expect(newName != name)
    second.close()
    pair.server.close()
  }

  @Test("H4: an application that is unregistered before its objects are known never was one", .timeLimit(.minutes(20)))
  func withdrawn() async throws {
    let pair = try await Pair()
    defer { pair.close() }
    let peer = try Bus(address: pair.bus.address)
    let fetches = Inbox<IncomingCall>()
    try peer.start(BusHandlers(onCall: { _, call in fetches.put(call) }))
    defer { peer.close() }
    func call(_ member: String, _ arguments: [Value]) async -> String? {
      do {
        try await peer.call(
          MethodCall(
            to: "org.bluez", path: Sample.adapter, interface: InterfaceName.gattManager, member: member,
            arguments: arguments))
        return nil
      } catch { return error.name }
    }
    async let registration = call("RegisterApplication", [.path(Sample.application), .properties([:])])
    let fetch = try await fetches.next()
    #expect(await call("UnregisterApplication", [.path(Sample.application)]) == nil)
    peer.enqueue { $0.reply(to: fetch, with: .success([ObjectCoding.value(Sample.applicationObjects)])) }
    #expect(await registration == "org.bluez.Error.Failed")
    // The server's user hears of neither.
    try await pair.exchange(3, Sample.adapter, .startDiscovery)
  }

  @Test("with no simulated controller the RSSI is asked of the controller itself, and its absence is an error")
  func controllerRSSI() async throws {
    let bus = try PrivateBus()
    let daemon = try Bus(address: bus.address, name: "org.bluez")
    try daemon.start(
      BusHandlers(onCall: { bus, call in
        if call.member == "GetManagedObjects" {
          bus.reply(to: call, with: .success([ObjectCoding.value(Sample.objects)]))
        } else {
          bus.reply(to: call, with: .failure(.unknownMethod(call)))
        }
      }))
    let messages = Inbox<DaemonMessage>()
    let client = BlueZClient(address: bus.address.text, logger: logger) { messages.put($0) }
    try client.start()
    #expect(try await messages.next() == .appeared(Sample.objects))
    let absent = ObjectPath(unchecked: "/org/bluez/hci999/dev_C0_FF_EE_00_00_01")
    for number in UInt64(1)...2 {
      client.send(.call(CallIdentifier(number), path: absent, .readConnectionRSSI))
      guard case .reply(CallIdentifier(number), .failure(let error)) = try await messages.next() else {
        Issue.record("no adapter, and yet an RSSI")
        return
      }
      #expect(error.name == "org.bluez.Error.Failed")
      #expect(error.message.contains("hci999"))
    }
    client.close()
    daemon.close()
  }

  @Test("AcquireWrite passes a descriptor that works, and keeps none behind")
  func descriptors() async throws {
    let pair = try await Pair()
    var ends: [Int32] = [-1, -1]
    #expect(pipe(&ends) == 0)
    pair.client.send(.call(CallIdentifier(1), path: Sample.characteristic, .acquireWrite))
    guard case .message(let name, .call(let identifier, _, .acquireWrite)) = try await pair.events.next() else {
      Issue.record("no call came")
      return
    }
    pair.server.send(.reply(identifier, .success(.channel(fileDescriptor: ends[1], mtu: 517))), to: name)
    guard case .reply(_, .success(.channel(let received, 517))) = try await pair.messages.next() else {
      Issue.record("no channel came")
      return
    }
    var byte: UInt8 = 7
    #expect(write(received, &byte, 1) == 1)
    close(received)
    // Once every write end is closed, the byte is followed by the end.
    var bytes: [UInt8] = [0, 0]
    #expect(read(ends[0], &bytes, 1) == 1)
    #expect(bytes[0] == 7)
    close(ends[0])
    pair.close()
  }

  @Test("many clients at once are distinguished, and each is answered in its own order")
  func concurrency() async throws {
    let pair = try await Pair()
    var clients: [(BlueZClient, Inbox<DaemonMessage>)] = []
    for _ in 0..<6 {
      let messages = Inbox<DaemonMessage>()
      let client = BlueZClient(address: pair.bus.address.text, logger: logger) { messages.put($0) }
      try client.start()
      #expect(try await messages.next() == .appeared(Sample.objects))
      clients.append((client, messages))
    }
    for number in UInt64(0)..<50 {
      for (client, _) in clients {
        client.send(.call(CallIdentifier(number), path: Sample.characteristic, .readValue(offset: UInt16(number))))
      }
    }
    for _ in 0..<300 {
      guard case .message(let name, .call(let identifier, _, .readValue(let offset))) = try await pair.events.next()
      else {
        Issue.record("something else came")
        return
      }
      pair.server.send(.reply(identifier, .success(.bytes([UInt8(offset)]))), to: name)
    }
    for (client, messages) in clients {
      for number in UInt64(0)..<50 {
        #expect(try await messages.next() == .reply(CallIdentifier(number), .success(.bytes([UInt8(number)]))))
      }
      client.close()
    }
    pair.close()
  }

  @Test("a second server of org.bluez on one bus is refused with the reason")
  func nameTaken() async throws {
    let pair = try await Pair()
    let second = BlueZServer(address: pair.bus.address.text, logger: logger) { _ in }
    let error = #expect(throws: BusError.self) { try second.start() }
    #expect(error?.name == BusError.Name.nameTaken)
    pair.close()
  }
}
