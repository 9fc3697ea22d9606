import BlueZ
import BluetoothTypes
import BusTesting
import BusValue
import Glibc
import Logging
import SystemBus
import Testing

@testable import BlueZBus

/// Which calls and signals are refused, and with which errors.
@Suite("Refusals on the bus")
struct RefusalTests {
  @Test("attack 37: signals and calls of another than org.bluez's owner change nothing")
  func forged() async throws {
    let pair = try await Pair()
    let name = try await pair.register()
    let forger = try Bus(address: pair.bus.address)
    try forger.start()
    var forgedSignal = ObjectCoding.outgoing(Sample.signals[1])
    forgedSignal.destination = name
    try await forger.emit(forgedSignal)
    forgedSignal.destination = nil
    try await forger.emit(forgedSignal)
    // A forged call that is taken would not be answered.
    let outcomes = Inbox<String>()
    let listener = Task { while true { outcomes.put("the client takes \(try await pair.messages.next())") } }
    for (path, callback, _) in Sample.callbacks {
      let coded = CallbackCoding.call(callback, onDescriptor: path == Sample.exportedDescriptor)
      await forger.call(
        MethodCall(
          to: name, path: path, interface: coded.interface, member: coded.member, arguments: coded.arguments)
      ) { result in
        switch result {
        case .success: outcomes.put("done")
        case .failure(let error): outcomes.put(error.name)
        }
      }
      #expect(try await outcomes.next() == BusError.Name.accessDenied, "\(callback)")
    }
    listener.cancel()
    _ = await listener.result
    // A value sent by another client for a path that a client registered must not count as that client's value.
    try await forger.emit(
      OutgoingSignal(
        path: Sample.exported, interface: BusName.properties, member: "PropertiesChanged",
        arguments: [
          .string(InterfaceName.gattCharacteristic), .properties(["Value": .bytes([6, 6, 6])]), .strings([]),
        ], destination: "org.bluez"))
    _ = try await forger.credentials(of: name)
    pair.server.broadcast(Sample.signals[2])
    #expect(try await pair.messages.next() == .signal(Sample.signals[2]))
    pair.client.send(.valueChanged(path: Sample.exported, value: [1]))
    #expect(try await pair.events.next() == .message(from: name, .valueChanged(path: Sample.exported, value: [1])))
    forger.close()
    pair.close()
  }

  @Test("bad calls are refused as D-Bus does, and the model hears nothing of them")
  func badCalls() async throws {
    let pair = try await Pair()
    let peer = try Bus(address: pair.bus.address)
    try peer.start()
    func refusal(
      _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [Value] = []
    ) async -> String? {
      do {
        try await peer.call(
          MethodCall(to: "org.bluez", path: path, interface: interface, member: member, arguments: arguments))
        return nil
      } catch { return error.name }
    }
    let unknownMethod = BusError.Name.unknownMethod
    // Errors of bluetoothd's own parsers, not the bus's.
    let refused = "org.bluez.Error.InvalidArguments"
    #expect(await refusal(Sample.device.appending("x"), InterfaceName.device, "Connect") == BusError.Name.unknownObject)
    #expect(await refusal(Sample.device, InterfaceName.device, "Explode") == unknownMethod)
    #expect(await refusal(Sample.device, InterfaceName.adapter, "StartDiscovery") == unknownMethod)
    #expect(await refusal(Sample.descriptor, InterfaceName.gattCharacteristic, "StartNotify") == unknownMethod)
    #expect(await refusal(Sample.descriptor, InterfaceName.gattDescriptor, "StartNotify") == unknownMethod)
    #expect(await refusal(Sample.device, InterfaceName.device, "Connect", [.byte(1)]) == unknownMethod)
    #expect(await refusal(Sample.device, InterfaceName.device, "ConnectProfile", [.string("no UUID")]) == refused)
    let options = Value.properties(["offset": .string("1")])
    #expect(await refusal(Sample.characteristic, InterfaceName.gattCharacteristic, "ReadValue", [options]) == refused)
    #expect(
      await refusal(
        Sample.characteristic, InterfaceName.gattCharacteristic, "WriteValue",
        [.bytes([]), .properties(["type": .string("loud")])]) == "org.bluez.Error.NotSupported")
    #expect(
      await refusal(
        Sample.adapter, InterfaceName.adapter, "SetDiscoveryFilter", [.properties(["RSSI": .string("far")])]) == refused
    )
    #expect(
      await refusal(
        WellKnown.managerPath, InterfaceName.agentManager, "RegisterAgent",
        [
          .path(Sample.agent), .string("Telepathy"),
        ]) == refused)
    // There is no application to fetch.
    #expect(
      await refusal(
        Sample.adapter, InterfaceName.gattManager, "RegisterApplication", [.path(.root), .properties([:])])
        == "org.bluez.Error.Failed")
    try await pair.exchange(1, Sample.adapter, .startDiscovery)
    #expect(pair.events.untaken.isEmpty)
    peer.close()
    pair.close()
  }

  @Test(
    "H4: ConnectProfile takes the names and numbers of profiles, too",
    arguments: ["spp", "1101", "0x1101", "00001101-0000-1000-8000-00805f9b34fb"])
  func profileNames(name: String) async throws {
    let pair = try await Pair()
    let peer = try Bus(address: pair.bus.address)
    try peer.start()
    let arrival = pair.answeringNext()
    try await peer.call(
      MethodCall(
        to: "org.bluez", path: Sample.device, interface: InterfaceName.device, member: "ConnectProfile",
        arguments: [.string(name)]))
    let profile = BluetoothUUID(0x1101 as UInt16)
    guard case .message(_, .call(_, Sample.device, .connectProfile(profile))) = try await arrival.value else {
      Issue.record("another call")
      return
    }
    peer.close()
    pair.close()
  }

  @Test("H4: a file descriptor is a value of the wrong type where bluetoothd looks for one, and ignored elsewhere")
  func unexpectedDescriptors() async throws {
    let pair = try await Pair()
    let peer = try Bus(address: pair.bus.address)
    try peer.start()
    var ends: [Int32] = [-1, -1]
    #expect(pipe(&ends) == 0)
    defer { for descriptor in ends { Glibc.close(descriptor) } }
    let descriptor = Value.fileDescriptor(ends[0])
    for (path, interface, member, arguments) in [
      (Sample.adapter, InterfaceName.adapter, "SetDiscoveryFilter", [Value.properties(["Pattern": descriptor])]),
      (
        Sample.characteristic, InterfaceName.gattCharacteristic, "ReadValue", [.properties(["offset": descriptor])]
      ),
    ] {
      let refusal = await #expect(throws: BusError.self) {
        try await peer.call(
          MethodCall(to: "org.bluez", path: path, interface: interface, member: member, arguments: arguments))
      }
      #expect(refusal?.name == "org.bluez.Error.InvalidArguments")
    }
    await peer.call(
      MethodCall(
        to: "org.bluez", path: Sample.characteristic, interface: InterfaceName.gattCharacteristic, member: "ReadValue",
        arguments: [.properties(["stray": descriptor])])
    ) { _ in }
    let request = try await Self.nextRequest(of: pair)
    #expect(request == .readValue(offset: 0))
    peer.close()
    pair.close()
  }

  @Test("H4: options are taken in capitals, and a descriptor is written whatever the type")
  func options() async throws {
    let pair = try await Pair()
    let peer = try Bus(address: pair.bus.address)
    try peer.start()
    func write(_ path: ObjectPath, _ interface: String, _ options: Properties) async throws -> Request {
      await peer.call(
        MethodCall(
          to: "org.bluez", path: path, interface: interface, member: "WriteValue",
          arguments: [.bytes([1]), .properties(options)])
      ) { _ in }
      return try await Self.nextRequest(of: pair)
    }
    let capitals: Properties = ["Type": .string("Request"), "OFFSET": .uint16(2)]
    #expect(
      try await write(Sample.characteristic, InterfaceName.gattCharacteristic, capitals)
        == .writeValue([1], WriteOptions(kind: .request, offset: 2)))
    // Of two spellings one always counts, and each must have the right type.
    for number in 1..<16 {
      func spelled(_ name: String) -> String {
        String(name.enumerated().map { number >> $0.offset & 1 == 1 ? Character($0.element.uppercased()) : $0.element })
      }
      let spellings: Properties = [
        spelled("offset"): .uint16(2), "offset": .uint16(3), spelled("type"): .string("reliable"),
        "type": .string("command"),
      ]
      #expect(
        try await write(Sample.characteristic, InterfaceName.gattCharacteristic, spellings)
          == .writeValue([1], WriteOptions(kind: .command, offset: 3)))
    }
    let refusal = await #expect(throws: BusError.self) {
      try await peer.call(
        MethodCall(
          to: "org.bluez", path: Sample.characteristic, interface: InterfaceName.gattCharacteristic,
          member: "ReadValue", arguments: [.properties(["offset": .uint16(1), "OFFSET": .byte(2)])]))
    }
    #expect(refusal?.name == "org.bluez.Error.InvalidArguments")
    for type in [Value.string("loud"), .byte(1)] {
      #expect(
        try await write(Sample.descriptor, InterfaceName.gattDescriptor, ["type": type])
          == .writeValue([1], WriteOptions(kind: nil, offset: 0)))
    }
    peer.close()
    pair.close()
  }

  private static func nextRequest(of pair: Pair) async throws -> Request {
    let event = try await pair.events.next()
    guard case .message(_, .call(_, _, let request)) = event else {
      throw PrivateBus.Failure(description: "\(event) in place of a call")
    }
    return request
  }

  @Test("H4: what bluetoothd does not have is refused in its words")
  func words() async throws {
    let pair = try await Pair()
    let peer = try Bus(address: pair.bus.address)
    try peer.start()
    func refusal(
      _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [Value] = []
    ) async -> BusError? {
      await #expect(throws: BusError.self) {
        try await peer.call(
          MethodCall(to: "org.bluez", path: path, interface: interface, member: member, arguments: arguments))
      }
    }
    func absent(_ member: String, _ signature: String, _ interface: String) -> String {
      "Method \"\(member)\" with signature \"\(signature)\" on interface \"\(interface)\" doesn't exist\n"
    }
    let nowhere = ObjectPath(unchecked: "/org/bluez/hci0/dev_00_00_00_00_00_00")
    for (path, interface, member, arguments, error) in [
      (Sample.device, InterfaceName.device, "Connect", [Value.byte(1), .strings([])], BusError.Name.unknownMethod),
      (Sample.device, InterfaceName.device, "Explode", [], BusError.Name.unknownMethod),
      (Sample.device, "org.bluez.Network1", "Connect", [.string("nap")], BusError.Name.unknownMethod),
      (Sample.device, BusName.properties, "Get", [.string(InterfaceName.device)], BusError.Name.unknownMethod),
      (Sample.device, BusName.introspectable, "Introspect", [.byte(0)], BusError.Name.unknownMethod),
      (Sample.device, BusName.objectManager, "GetManagedObjects", [], BusError.Name.unknownMethod),
      (
        WellKnown.managerPath, BusName.properties, "GetAll", [.string(InterfaceName.agentManager)],
        BusError.Name.unknownMethod
      ),
      (nowhere, InterfaceName.device, "Connect", [], BusError.Name.unknownObject),
      (nowhere, BusName.properties, "GetAll", [.string(InterfaceName.device)], BusError.Name.unknownObject),
    ] {
      let refused = await refusal(path, interface, member, arguments)
      #expect(refused?.name == error, "\(interface).\(member)")
      #expect(refused?.message == absent(member, arguments.map(\.signature).joined(), interface))
    }
    for (arguments, message) in [
      ([Value.string(InterfaceName.adapter), .string("Powered")], "No such interface '\(InterfaceName.adapter)'"),
      ([.string(InterfaceName.device), .string("Mood")], "No such property 'Mood'"),
    ] {
      let refused = await refusal(Sample.device, BusName.properties, "Get", arguments)
      #expect(refused == BusError(name: BusError.Name.invalidArguments, message: message))
    }
    for standard in [BusName.properties, BusName.introspectable] {
      let all = try await peer.call(
        MethodCall(
          to: "org.bluez", path: Sample.device, interface: BusName.properties, member: "GetAll",
          arguments: [.string(standard)]))
      #expect(all == [.properties([:])], "\(standard)")
    }
    #expect(pair.events.untaken.isEmpty)
    peer.close()
    pair.close()
  }

  @Test("H4: a call on an object that has just gone is refused like one on an object that was never there")
  func goesMeanwhile() async throws {
    let pair = try await Pair()
    let peer = try Bus(address: pair.bus.address)
    try peer.start()
    let refusals = Inbox<BusError?>()
    let connect = MethodCall(
      to: "org.bluez", path: Sample.device, interface: InterfaceName.device, member: "Connect", arguments: [])
    await peer.call(connect) { result in
      if case .failure(let error) = result { refusals.put(error) } else { refusals.put(nil) }
    }
    guard case .message(let sender, .call(let call, _, _)) = try await pair.events.next() else {
      Issue.record("the call does not arrive")
      return
    }
    pair.server.send(.reply(call, .failure(.unknownObject(Sample.device))), to: sender)
    let refusal = try await refusals.next()
    #expect(refusal?.name == BusError.Name.unknownObject)
    #expect(
      refusal?.message == "Method \"Connect\" with signature \"\" on interface \"org.bluez.Device1\" doesn't exist\n")
    peer.close()
    pair.close()
  }
}
