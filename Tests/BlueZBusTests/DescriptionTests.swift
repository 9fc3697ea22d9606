import BlueZ
import BusTesting
import BusValue
import SystemBus
import Testing

@testable import BlueZBus

/// How a server's objects are announced and described.
@Suite("Descriptions on the bus")
struct DescriptionTests {
  @Test("H4: every object is found by introspection, with its interfaces")
  func introspection() async throws {
    let pair = try await Pair()
    let peer = try Bus(address: pair.bus.address)
    try peer.start()
    func introspect(_ path: ObjectPath) async throws -> String {
      let reply = try await peer.call(
        MethodCall(to: "org.bluez", path: path, interface: BusName.introspectable, member: "Introspect"))
      return reply.first?.stringValue ?? ""
    }
    #expect(try await introspect(.root).contains("<node name=\"org\"/>"))
    #expect(try await introspect(.root).contains(BusName.objectManager))
    #expect(try await introspect(ObjectPath(unchecked: "/org")).contains("<node name=\"bluez\"/>"))
    let device = try await introspect(Sample.device)
    #expect(device.contains("<method name=\"CancelPairing\"/>"))
    #expect(device.contains("<property name=\"RSSI\" type=\"n\" access=\"read\"/>"))
    // The simulator's own interface is not shown to clients. Properties that an object may have are described even if
    // it lacks them now.
    #expect(!device.contains("org.latchkey.SimulatedController1"))
    #expect(device.contains("name=\"WakeAllowed\" type=\"b\" access=\"readwrite\""))
    #expect(device.contains("<node name=\"service0001\"/>"))
    await #expect(throws: BusError.self) { try await introspect(ObjectPath(unchecked: "/com")) }
    peer.close()
    pair.close()
  }

  @Test("H4: without --experimental its methods are neither described nor known")
  func experimentalMethods() async throws {
    for isExperimental in [false, true] {
      let bus = try PrivateBus()
      let calls = Inbox<BlueZServerEvent>()
      let server = BlueZServer(
        address: bus.address.text, logger: logger, objects: Sample.objects, isExperimental: isExperimental
      ) { calls.put($0) }
      try server.start()
      let peer = try Bus(address: bus.address)
      try peer.start()
      for (path, interface, method) in [
        (Sample.adapter, InterfaceName.adapter, "ConnectDevice"),
        (Sample.device, InterfaceName.device, "GetServiceRecords"),
      ] {
        let document = try await peer.call(
          MethodCall(to: "org.bluez", path: path, interface: BusName.introspectable, member: "Introspect"))
        #expect(document.first?.stringValue?.contains(method) == isExperimental)
        let arguments: [Value] = method == "ConnectDevice" ? [.properties([:])] : []
        let call = MethodCall(to: "org.bluez", path: path, interface: interface, member: method, arguments: arguments)
        if isExperimental {
          await peer.call(call) { _ in }
          guard case .message(_, .call) = try await calls.next() else {
            Issue.record("\(method) was not delivered")
            return
          }
        } else {
          let refusal = await #expect(throws: BusError.self) { try await peer.call(call) }
          #expect(refusal?.name == BusError.Name.unknownMethod)
        }
      }
      peer.close()
      server.close()
    }
  }

  @Test("H4: a new object is announced with the standard interfaces, and what an object gets later without them")
  func announcements() async throws {
    let pair = try await Pair()
    let listener = try Bus(address: pair.bus.address)
    let added = Inbox<[String]>()
    try listener.start(
      BusHandlers(
        onSignal: { _, signal in
          guard case .dictionary(_, _, let interfaces)? = signal.arguments.last else { return }
          added.put(interfaces.keys.compactMap(\.stringValue).sorted())
        }))
    await listener.addMatch(MatchRule(interface: BusName.objectManager, member: "InterfacesAdded"))
    _ = try await listener.credentials(of: listener.uniqueName)
    let (device, bare) = (Sample.adapter.appending("dev_00"), Sample.adapter.appending("bare"))
    let battery: Interfaces = [InterfaceName.battery: ["Percentage": .byte(7)]]
    pair.server.broadcast(.interfacesAdded(path: device, [InterfaceName.device: ["Paired": .bool(true)]]))
    pair.server.broadcast(.interfacesAdded(path: device, battery))
    pair.server.broadcast(.interfacesAdded(path: bare, [InterfaceName.agentManager: [:]]))
    pair.server.broadcast(.interfacesAdded(path: bare, battery))
    #expect(
      try await added.next() == [InterfaceName.device, BusName.introspectable, BusName.properties])
    #expect(try await added.next() == [InterfaceName.battery])
    #expect(try await added.next() == [InterfaceName.agentManager, BusName.introspectable])
    #expect(try await added.next() == [InterfaceName.battery, BusName.properties])
    listener.close()
    pair.close()
  }

  @Test("H4: the standard interfaces go with an object, and not with an interface before")
  func departures() async throws {
    let pair = try await Pair()
    let listener = try Bus(address: pair.bus.address)
    let removed = Inbox<[String]>()
    try listener.start(
      BusHandlers(onSignal: { _, signal in
        if let names = signal.arguments.last?.stringsValue { removed.put(names) }
      }))
    await listener.addMatch(MatchRule(interface: BusName.objectManager, member: "InterfacesRemoved"))
    _ = try await listener.credentials(of: listener.uniqueName)
    let battery: Interfaces = [InterfaceName.battery: ["Percentage": .byte(7)]]
    pair.server.broadcast(.interfacesAdded(path: Sample.device, battery))
    pair.server.broadcast(.interfacesRemoved(path: Sample.device, [InterfaceName.battery]))
    pair.server.broadcast(
      .interfacesRemoved(path: Sample.device, [InterfaceName.properties, InterfaceName.device]))
    pair.server.broadcast(.interfacesRemoved(path: WellKnown.managerPath, [InterfaceName.agentManager]))
    #expect(try await removed.next() == [InterfaceName.battery])
    #expect(try await removed.next() == [BusName.properties, BusName.introspectable, InterfaceName.device])
    // The manager has no properties.
    #expect(try await removed.next() == [BusName.introspectable, InterfaceName.agentManager])
    listener.close()
    pair.close()
  }
}
