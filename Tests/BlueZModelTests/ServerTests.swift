import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

@Suite struct Serving {
  @Test("H4: StartNotify comes with the first subscription, not with a bonded peer's return")
  func startNotifyOnce() {
    var bench = Bench()
    _ = bench.settle(notifying: true)
    func count(_ bench: Bench) -> Int { bench.callbacks.count { $0.callback == .startNotify } }
    #expect(count(bench) == 1)
    bench.leave()
    bench.comeHomeAndConnect()
    bench.run(.seconds(2))
    #expect(count(bench) == 1)
    #expect(!bench.callbacks.contains { $0.callback == .stopNotify })
  }

  @Test("H4: bluetoothd queues what the link can't carry yet: of 5000 values emitted at once each arrives, in order")
  func flood() throws {
    var bench = Bench()
    _ = bench.settle(notifying: true)
    let offer = try #require(bench.characteristic(Bench.offer))
    bench.signals = []
    let values = (0..<5000).map { [UInt8($0 / 256), UInt8($0 % 256)] }
    for value in values { bench.send(Bench.door, .valueChanged(path: Bench.offerPath, value: value)) }
    bench.run(.seconds(120))
    #expect(
      bench.changes(InterfaceName.gattCharacteristic, "Value", of: offer).map(\.value) == values.map { .bytes($0) })
  }

  @Test("H4: a value emitted before the link can carry it is lost; later it arrives, before services are resolved")
  func valueAtLinkUp() throws {
    var bench = Bench()
    let path = bench.settle(notifying: true)
    let offer = try #require(bench.characteristic(Bench.offer))
    bench.leave()
    bench.signals = []
    bench.comeHomeAndConnect()
    bench.send(Bench.door, .valueChanged(path: Bench.offerPath, value: [1]))
    bench.run(within: .seconds(1)) {
      $0.phoneObjects[offer]?[InterfaceName.gattCharacteristic]?["MTU"] == .uint16(517)
    }
    // The lock agrees on the MTU an event later than the phone.
    bench.run(.milliseconds(40))
    #expect(!bench.isResolved(path))
    let value = [UInt8](repeating: 5, count: 32)
    bench.send(Bench.door, .valueChanged(path: Bench.offerPath, value: value))
    bench.run(within: .seconds(5)) { $0.isResolved(path) }
    let arrived = try #require(bench.changes(InterfaceName.gattCharacteristic, "Value", of: offer).first)
    #expect(arrived.value == .bytes(value))
    let resolved = try #require(bench.changes(InterfaceName.device, "ServicesResolved").last)
    #expect(arrived.at <= resolved.at)
  }

  @Test("H4: after the lock's bluetoothd restarted and its application came back, StartNotify comes again")
  func forgetsOnRestart() {
    var bench = Bench()
    _ = bench.settle(notifying: true)
    bench.leave()
    bench.command(.restartBluetoothd(machine: Bench.door, killed: true))
    bench.registerAgents()
    bench.serveLock()
    bench.callbacks = []
    bench.comeHomeAndConnect()
    bench.run(.seconds(2))
    #expect(bench.callbacks.contains { $0.callback == .startNotify })
  }

  @Test("H4: an application has five seconds, then the peer gets 0x0e")
  func slowApplication() throws {
    var bench = Bench()
    _ = bench.settle()
    let command = try #require(bench.characteristic(Bench.command))
    bench.answers = { if case .writeValue = $0 { nil } else { .success(.none) } }
    let start = bench.now
    let result = bench.ask(Bench.phone, command, .writeValue([1], WriteOptions(kind: .request)))
    #expect(result?.error == .attError(.unlikelyError))
    #expect(bench.now - start >= .seconds(5) && bench.now - start < .milliseconds(5300))
    #expect(bench.isConnected)
  }

  @Test("H4: a link lost over an unanswered request kills bluetoothd, which the system restarts empty")
  func crash() throws {
    var bench = Bench()
    _ = bench.settle()
    let command = try #require(bench.characteristic(Bench.command))
    bench.answers = { if case .writeValue = $0 { nil } else { .success(.none) } }
    let call = bench.call(Bench.phone, command, .writeValue([1], WriteOptions(kind: .request)))
    bench.run(.milliseconds(500))
    let start = bench.now
    bench.command(.move(machine: Bench.phone, x: 5000, y: 0))
    bench.run(.seconds(3))
    #expect(bench.replies[call]?.error == .attError(.unlikelyError))
    bench.run(.seconds(5))
    let stops = bench.events.compactMap { entry -> Duration? in
      if case .bluetoothdStopped(Bench.door, "crashed") = entry.event { entry.at - start } else { nil }
    }
    let died = try #require(stops.first)
    #expect(died > .seconds(4) && died < .seconds(5))
    let starts = bench.events.filter { $0.event == .bluetoothdStarted(machine: Bench.door) }.map(\.at)
    #expect(starts.last.map { $0 - start } == died + .seconds(1))
    #expect(
      bench.world.managedObjects(of: Bench.door)[Bench.adapter]?[InterfaceName.advertisingManager]?["ActiveInstances"]
        == .byte(0))
  }

  @Test("H4: without that quirk, bluetoothd survives a link that is lost over an unanswered request")
  func noCrash() throws {
    var bench = Bench()
    _ = bench.settle()
    var quirks = BlueZConfiguration.Quirks()
    quirks.crashesOnUnansweredRequest = false
    bench.world.setQuirks(quirks, of: Bench.door)
    let command = try #require(bench.characteristic(Bench.command))
    bench.answers = { if case .writeValue = $0 { nil } else { .success(.none) } }
    bench.call(Bench.phone, command, .writeValue([1], WriteOptions(kind: .request)))
    bench.run(.milliseconds(500))
    bench.leave()
    bench.run(.seconds(20))
    #expect(bench.world.isRunning(Bench.door))
    #expect(!bench.events.contains { $0.event == .bluetoothdStopped(machine: Bench.door, cause: "crashed") })
  }

  @Test("H4: an application that dies takes its services along, and what a peer waits for is not supported")
  func applicationDies() throws {
    var bench = Bench()
    let path = bench.settle(notifying: true)
    let command = try #require(bench.characteristic(Bench.command))
    bench.answers = { if case .writeValue = $0 { nil } else { .success(.none) } }
    let call = bench.call(Bench.phone, command, .writeValue([1], WriteOptions(kind: .request)))
    bench.run(.milliseconds(500))
    bench.vanish(Bench.door)
    #expect(bench.answer(call)?.error == .notSupported)
    bench.run(.seconds(2))
    #expect(bench.signals.contains { if case .interfacesRemoved(command, _) = $0.signal { true } else { false } })
    #expect(
      bench.ask(Bench.phone, command, .writeValue([1], WriteOptions()))?.error == .unknownObject(command))
    #expect(bench.isConnected)
    #expect(bench.device(path, "Bonded") == .bool(true))
    // When it is registered again, its handles move, and the peer notices.
    bench.serveLock()
    bench.run(.seconds(3))
    let moved = try #require(bench.characteristic(Bench.command))
    #expect(moved != command)
    let offer = try #require(bench.characteristic(Bench.offer))
    #expect(bench.phoneObjects[offer]?[InterfaceName.gattCharacteristic]?["Notifying"] == .bool(false))
  }

  @Test("H4: an exported Handle is honoured; a central that was away with the application notices nothing")
  func fixedHandle() throws {
    var bench = Bench()
    bench.serveLock(handle: 0x40)
    bench.registerAgents()
    _ = bench.meet()
    let offer = try #require(bench.characteristic(Bench.offer))
    #expect(offer.text.contains("/service0040/"))
    #expect(bench.ask(Bench.phone, offer, .startNotify)?.isSuccess == true)
    bench.registerProfile()
    bench.run(.seconds(1))
    bench.leave()
    bench.vanish(Bench.door)
    bench.registerDoorAgent()
    bench.serveLock(handle: 0x40)
    bench.signals = []
    bench.comeHomeAndConnect()
    bench.run(.seconds(2))
    #expect(!bench.signals.contains { if case .interfacesRemoved = $0.signal { true } else { false } })
    bench.send(Bench.door, .valueChanged(path: Bench.offerPath, value: [3]))
    bench.run(.seconds(1))
    #expect(bench.changes(InterfaceName.gattCharacteristic, "Value", of: offer).last?.value == .bytes([3]))
  }

  @Test("H4: applications that make no sense are refused, and nothing changes")
  func badApplications() {
    var bench = Bench()
    let root = ObjectPath(unchecked: "/bad")
    var objects = Bench.lockObjects
    objects[Bench.offerPath]?[InterfaceName.gattCharacteristic]?["Flags"] = .strings(["teleport"])
    let before = bench.world.managedObjects(of: Bench.door)
    let other: ManagedObjects = [root: ["org.example.Other": ["Mood": .string("good")]]]
    for bad in [[:], objects, other] as [ManagedObjects] {
      let error = bench.ask(Bench.door, Bench.adapter, .registerApplication(root: root, objects: bad))?.error
      #expect(error == .failed(bad.isEmpty ? "No object received" : "No valid service object found"))
    }
    #expect(bench.world.managedObjects(of: Bench.door) == before)
    #expect(bench.ask(Bench.door, Bench.adapter, .unregisterApplication(root: root))?.error == .doesNotExist)
  }

  @Test("H4: advertisements are counted, limited and checked, and go with their client")
  func advertisements() {
    var bench = Bench()
    func register(_ bench: inout Bench, _ number: Int, _ properties: Properties) -> BlueZError? {
      bench.ask(
        Bench.door, Bench.adapter,
        .registerAdvertisement(path: ObjectPath(unchecked: "/advertisement\(number)"), properties: properties))?.error
    }
    let good: Properties = ["Type": .string("peripheral")]
    for number in 0..<5 { #expect(register(&bench, number, good) == nil) }
    #expect(register(&bench, 0, good) == .alreadyExists)
    #expect(register(&bench, 5, good)?.name == "org.bluez.Error.NotPermitted")
    bench.vanish(Bench.door)
    #expect(register(&bench, 6, ["Type": .string("smoke")]) == .failed("Failed to parse advertisement."))
    let uuids = (0..<3).map { BluetoothUUID(high: 0x1234_5678_1234_5678, low: $0).description }
    let long: Properties = ["Type": .string("peripheral"), "ServiceUUIDs": .strings(uuids)]
    #expect(register(&bench, 7, long) == .failed("Failed to register advertisement"))
    #expect(
      bench.world.managedObjects(of: Bench.door)[Bench.adapter]?[InterfaceName.advertisingManager]?["ActiveInstances"]
        == .byte(0))
  }

  @Test("H4: bluetoothd releases advertisements and agents, but not applications")
  func releases() {
    var bench = Bench()
    _ = bench.settle()
    bench.callbacks = []
    for machine in [Bench.door, Bench.phone] { bench.command(.stopBluetoothd(machine: machine, killed: false)) }
    let released = bench.callbacks.compactMap { entry -> String? in
      if case .release(let interface) = entry.callback { entry.machine + " " + interface } else { nil }
    }
    #expect(
      Set(released) == ["door org.bluez.LEAdvertisement1", "door org.bluez.Agent1", "phone org.bluez.Agent1"])
  }
}
