import BlueZ
import BusTesting
import BusValue
import Foundation
import Glibc
import SystemBus
import Testing
import Threads

@testable import BlueZBus

/// What clients register, with which adapter, and which of their signals are used.
@Suite("Registrations on the bus", .timeLimit(.minutes(20)))
struct RegistrationTests {
  private static let second = WellKnown.adapter(1)

  /// A second adapter like the first.
  private static func addAdapter(_ pair: Pair) async throws {
    let signal = Signal.interfacesAdded(path: second, Sample.objects[Sample.adapter] ?? [:])
    pair.server.broadcast(signal)
    #expect(try await pair.messages.next() == .signal(signal))
  }

  @Test("C7: monitors that come and go below a registered root are announced, and others are not")
  func monitors() async throws {
    let pair = try await Pair()
    let name = try await pair.register()
    let properties = Sample.monitorInterfaces[InterfaceName.advertisementMonitor] ?? [:]
    let (root, added) = (Sample.monitors, Sample.monitors.appending("far"))
    let nowhere = ObjectPath(unchecked: "/nowhere")
    pair.client.send(.monitorAdded(root: nowhere, path: nowhere.appending("far"), properties))
    pair.client.send(.monitorAdded(root: Sample.application, path: Sample.application.appending("far"), properties))
    pair.client.send(.monitorAdded(root: root, path: added, properties))
    #expect(try await pair.events.next() == .message(from: name, .monitorAdded(root: root, path: added, properties)))
    // It is exported.
    pair.server.send(.callback(CallbackIdentifier(1), path: added, .monitor(.activate)), to: name)
    guard case .callback(let identifier, added, .monitor(.activate)) = try await pair.messages.next() else {
      Issue.record("the monitor is not there")
      return
    }
    pair.client.send(.answer(identifier, .success(.none)))
    #expect(try await pair.events.next() == .message(from: name, .answer(CallbackIdentifier(1), .success(.none))))
    pair.client.send(.monitorRemoved(root: root, path: added))
    #expect(try await pair.events.next() == .message(from: name, .monitorRemoved(root: root, path: added)))
    try await pair.exchange(1, Sample.adapter, .unregisterMonitor(root: root))
    pair.client.send(.monitorAdded(root: root, path: added, properties))
    try await pair.exchange(2, Sample.adapter, .startDiscovery)
    pair.close()
  }

  @Test(
    "C7: a battery provider has its answer before its objects are fetched, and what comes below its root is announced")
  func batteries() async throws {
    let pair = try await Pair()
    let root = ObjectPath(unchecked: "/batteries")
    let (one, two) = (root.appending("one"), root.appending("two"))
    pair.server.broadcast(.interfacesAdded(path: Sample.adapter, [InterfaceName.batteryProviderManager: [:]]))
    _ = try await pair.messages.next()
    let properties: Properties = ["Device": .path(Sample.adapter.appending("dev")), "Percentage": .byte(50)]
    let peer = try Bus(address: pair.bus.address)
    try peer.start(
      BusHandlers(
        onCall: { bus, call in
          let objects: ManagedObjects = [
            one: [InterfaceName.batteryProvider: properties], two: ["org.example.Other": [:]],
          ]
          bus.reply(to: call, with: .success([ObjectCoding.value(objects)]))
        }))
    async let answer = peer.call(
      MethodCall(
        to: WellKnown.busName, path: Sample.adapter, interface: InterfaceName.batteryProviderManager,
        member: "RegisterBatteryProvider", arguments: [.path(root)]))
    guard
      case .message(let name, .call(let call, Sample.adapter, .registerBatteryProvider(root))) =
        try await pair.events.next()
    else {
      Issue.record("no registration")
      return
    }
    pair.server.send(.reply(call, .success(.none)), to: name)
    #expect(try await answer.isEmpty)
    #expect(try await pair.events.next() == .message(from: name, .batteryAdded(root: root, path: one, properties)))
    func emit(_ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [Value]) {
      let signal = OutgoingSignal(path: path, interface: interface, member: member, arguments: arguments)
      peer.enqueue { bus in try? bus.emit(signal) }
    }
    let interfaces = ObjectCoding.value([InterfaceName.batteryProvider: properties])
    emit(ObjectPath(unchecked: "/other"), BusName.objectManager, "InterfacesAdded", [.path(two), interfaces])
    emit(root, BusName.objectManager, "InterfacesAdded", [.path(two), interfaces])
    #expect(try await pair.events.next() == .message(from: name, .batteryAdded(root: root, path: two, properties)))
    emit(
      one, BusName.properties, "PropertiesChanged",
      [.string(InterfaceName.batteryProvider), .properties(["Percentage": .byte(3)]), .strings(["Source"])])
    #expect(
      try await pair.events.next()
        == .message(from: name, .batteryChanged(path: one, ["Percentage": .byte(3)], gone: ["Source"])))
    emit(
      root, BusName.objectManager, "InterfacesRemoved", [.path(one), .strings([InterfaceName.batteryProvider])])
    #expect(try await pair.events.next() == .message(from: name, .batteryRemoved(root: root, path: one)))
    peer.closeAndWait()
    #expect(try await pair.events.next() == .clientVanished(name))
    pair.close()
  }

  @Test("H4: an advertisement whose object does not tell its properties is registered without any")
  func bareAdvertisement() async throws {
    let pair = try await Pair()
    let peer = try Bus(address: pair.bus.address)
    try peer.start()
    let arrival = pair.answeringNext()
    try await peer.call(
      MethodCall(
        to: WellKnown.busName, path: Sample.adapter, interface: InterfaceName.advertisingManager,
        member: "RegisterAdvertisement", arguments: [.path(Sample.advertisement), .properties([:])]))
    guard
      case .message(_, .call(_, Sample.adapter, .registerAdvertisement(Sample.advertisement, [:]))) =
        try await arrival.value
    else {
      Issue.record("another registration")
      return
    }
    peer.closeAndWait()
    pair.close()
  }

  @Test("C7: a client that does not list its monitors is registered without any")
  func silentMonitors() async throws {
    let pair = try await Pair()
    let peer = try Bus(address: pair.bus.address)
    try peer.start()
    async let answer = peer.call(
      MethodCall(
        to: WellKnown.busName, path: Sample.adapter, interface: InterfaceName.advertisementMonitorManager,
        member: "RegisterMonitor", arguments: [.path(Sample.monitors)]))
    guard
      case .message(let sender, .call(let call, Sample.adapter, .registerMonitor(Sample.monitors, [:]))) =
        try await pair.events.next()
    else {
      Issue.record("no registration came")
      return
    }
    pair.server.send(.reply(call, .success(.none)), to: sender)
    #expect(try await answer == [])
    peer.close()
    pair.close()
  }

  @Test("C7: an application's objects need not be below its root")
  func elsewhere() async throws {
    let pair = try await Pair()
    let peer = try Bus(address: pair.bus.address)
    let objects: ManagedObjects = [ObjectPath(unchecked: "/elsewhere"): ["org.example.Other": ["a": .byte(1)]]]
    try peer.start(
      BusHandlers(onCall: { bus, call in bus.reply(to: call, with: .success([ObjectCoding.value(objects)])) }))
    async let answer = peer.call(
      MethodCall(
        to: WellKnown.busName, path: Sample.adapter, interface: InterfaceName.gattManager,
        member: "RegisterApplication", arguments: [.path(Sample.application), .properties([:])]))
    guard
      case .message(let name, .call(let call, _, .registerApplication(Sample.application, objects))) =
        try await pair.events.next()
    else {
      Issue.record("no registration came")
      return
    }
    pair.server.send(.reply(call, .success(.none)), to: name)
    _ = try await answer
    peer.close()
    pair.close()
  }

  @Test("C3: an advertisement that is registered is refused at once, until it is released")
  func twice() async throws {
    let pair = try await Pair()
    let peer = try Bus(address: pair.bus.address)
    let asked = Inbox<String>()
    try peer.start(
      BusHandlers(onCall: { bus, call in
        asked.put(call.member)
        bus.reply(to: call, with: .success(call.member == "GetAll" ? [.properties([:])] : []))
      }))
    let call = MethodCall(
      to: WellKnown.busName, path: Sample.adapter, interface: InterfaceName.advertisingManager,
      member: "RegisterAdvertisement", arguments: [.path(.root), .properties([:])])
    func register() async throws -> String {
      async let answer = peer.call(call)
      guard case .message(let name, .call(let identifier, _, .registerAdvertisement)) = try await pair.events.next()
      else { throw PrivateBus.Failure(description: "no registration came") }
      pair.server.send(.reply(identifier, .success(.none)), to: name)
      _ = try await answer
      return name
    }
    let name = try await register()
    #expect(try await asked.next() == "GetAll")
    let refused = await #expect(throws: BusError.self) { try await peer.call(call) }
    #expect(refused == BusError(.alreadyExists))
    #expect(asked.untaken.isEmpty)
    pair.server.send(
      .callback(CallbackIdentifier(1), path: .root, .release(interface: InterfaceName.advertisement)), to: name)
    #expect(try await asked.next() == "Release")
    #expect(try await pair.events.next() == .message(from: name, .answer(CallbackIdentifier(1), .success(.none))))
    _ = try await register()
    peer.close()
    pair.close()
  }

  @Test("C: each adapter has a register of its own: one root, and one advertisement, may be registered with both")
  func perAdapter() async throws {
    let pair = try await Pair()
    try await Self.addAdapter(pair)
    let peer = try Bus(address: pair.bus.address)
    try peer.start(BusHandlers(onCall: { bus, call in Self.answer(call, bus) }))
    func register(_ adapter: ObjectPath, _ interface: String, _ member: String) async throws -> Request? {
      async let answer = peer.call(
        MethodCall(
          to: WellKnown.busName, path: adapter, interface: interface, member: member,
          arguments: member == "RegisterMonitor" ? [.path(.root)] : [.path(.root), .properties([:])]))
      guard case .message(let sender, .call(let call, adapter, let request)) = try await pair.events.next() else {
        return nil
      }
      pair.server.send(.reply(call, .success(.none)), to: sender)
      _ = try await answer
      return request
    }
    for adapter in [Sample.adapter, Self.second] {
      for (interface, member) in [
        (InterfaceName.gattManager, "RegisterApplication"),
        (InterfaceName.advertisingManager, "RegisterAdvertisement"),
        (InterfaceName.advertisementMonitorManager, "RegisterMonitor"),
      ] {
        #expect(try await register(adapter, interface, member) != nil, "\(adapter) \(member)")
      }
    }
    peer.close()
    pair.close()
  }

  @Test("C2: descriptors that a client puts where none belongs are closed")
  func strayDescriptors() async throws {
    let pair = try await Pair()
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    let (given, kept) = (ends[0], ends[1])
    let peer = try Bus(address: pair.bus.address)
    try peer.start(
      BusHandlers(onCall: { bus, call in
        guard call.member == "AcquireNotify" else { return Self.answer(call, bus) }
        let stray = Value.structure([.fileDescriptor(given), .array(of: "h", [.fileDescriptor(given)])])
        bus.reply(to: call, with: .success([.uint16(23), .variant(.fileDescriptor(given)), stray]))
      }))
    async let registered = peer.call(
      MethodCall(
        to: WellKnown.busName, path: Sample.adapter, interface: InterfaceName.gattManager,
        member: "RegisterApplication", arguments: [.path(.root), .properties([:])]))
    guard case .message(let name, .call(let call, _, .registerApplication)) = try await pair.events.next() else {
      Issue.record("no registration came")
      return
    }
    pair.server.send(.reply(call, .success(.none)), to: name)
    _ = try await registered
    let request = RemoteRequest(device: Sample.device, mtu: 517)
    pair.server.send(.callback(CallbackIdentifier(3), path: Sample.exported, .acquireNotify(request)), to: name)
    guard case .message(name, .answer(CallbackIdentifier(3), .failure)) = try await pair.events.next() else {
      Issue.record("it was taken")
      return
    }
    close(given)
    let count = await withCheckedContinuation { continuation in
      let isStarted: Void? = try? DetachedThread.start {
        var byte: UInt8 = 0
        // Until the other end is closed everywhere.
        continuation.resume(returning: recv(kept, &byte, 1, 0))
      }
      if isStarted == nil { continuation.resume(returning: -1) }
    }
    #expect(count == 0)
    close(kept)
    peer.close()
    pair.close()
  }

  /// A client that has all its objects at the root.
  private static func answer(_ call: IncomingCall, _ bus: isolated Bus) {
    let objects = Sample.applicationObjects.merging([Sample.monitor: Sample.monitorInterfaces]) { $1 }
    bus.reply(
      to: call,
      with: .success([
        call.member == "GetManagedObjects"
          ? ObjectCoding.value(objects) : .properties(Sample.advertisementProperties)
      ]))
  }

  @Test("C: an adapter that goes takes what was registered with it, and nothing of another's")
  func removal() async throws {
    let pair = try await Pair()
    let name = try await pair.register()
    try await Self.addAdapter(pair)
    let gone = Signal.interfacesRemoved(
      path: Self.second, [InterfaceName.adapter, InterfaceName.gattManager, InterfaceName.advertisingManager])
    pair.server.broadcast(gone)
    #expect(try await pair.messages.next() == .signal(gone))
    pair.client.send(.valueChanged(path: Sample.exported, value: [7]))
    #expect(try await pair.events.next() == .message(from: name, .valueChanged(path: Sample.exported, value: [7])))
    pair.close()
  }
}
