import BlueZ
import BlueZModel
import BusValue
import Testing
import TimeTypes

/// BatteryProviderManager1: batteries that clients know of.
@Suite struct BatteryProviderTests {
  private static let root = ObjectPath(unchecked: "/batteries")
  private static let other = ClientIdentifier(":1.77")
  private static let register = Request.registerBatteryProvider(root: root)
  private static let unregister = Request.unregisterBatteryProvider(root: root)
  private static func path(_ name: String) -> ObjectPath { root.appending(name) }

  private static func battery(_ device: ObjectPath, _ percentage: UInt8? = 50) -> Properties {
    var properties = PropertyValues<BatteryProvider1>()
    properties.device = device
    properties.source = "a sensor"
    properties.percentage = percentage
    return properties.all
  }

  /// A phone that is bonded with a lock and has a provider.
  private static func bench() -> (Bench, lock: ObjectPath) {
    var bench = Bench()
    let lock = bench.settle()
    #expect(bench.ask(Bench.phone, Bench.adapter, register) == .success(.none))
    bench.signals = []
    return (bench, lock)
  }

  private func shown(_ bench: Bench, _ lock: ObjectPath) -> Properties? {
    bench.phoneObjects[lock]?[InterfaceName.battery]
  }

  private func add(
    _ name: String, _ properties: Properties, to bench: inout Bench, by client: ClientIdentifier = Bench.system
  ) {
    bench.send(Bench.phone, .batteryAdded(root: Self.root, path: Self.path(name), properties), from: client)
  }

  @Test("C7: a root has one provider, whoever it is, and only that client unregisters it")
  func roots() {
    var (bench, _) = Self.bench()
    let exists = BlueZError(.alreadyExists, "Provider already exists")
    let missing = BlueZError(.doesNotExist, "Provider does not exist")
    for client in [Bench.system, Self.other] {
      #expect(bench.ask(Bench.phone, Bench.adapter, Self.register, from: client) == .failure(exists))
    }
    #expect(bench.ask(Bench.phone, Bench.adapter, Self.unregister, from: Self.other) == .failure(missing))
    #expect(bench.ask(Bench.phone, Bench.adapter, Self.unregister) == .success(.none))
    #expect(bench.ask(Bench.phone, Bench.adapter, Self.unregister) == .failure(missing))
    #expect(bench.ask(Bench.phone, Bench.adapter, Self.register, from: Self.other) == .success(.none))
  }

  @Test("C7: a provided battery is Battery1 of its device, follows its changes, and goes with its object")
  func follows() {
    var (bench, lock) = Self.bench()
    add("one", Self.battery(lock), to: &bench)
    #expect(shown(bench, lock) == ["Percentage": .byte(50), "Source": .string("a sensor")])
    #expect(
      bench.signals.map(\.signal) == [
        .interfacesAdded(
          path: lock, [InterfaceName.battery: ["Percentage": .byte(50), "Source": .string("a sensor")]])
      ])
    for (changed, gone) in [
      (["Percentage": .byte(40)], []), (["Percentage": .byte(40)], []), (["Percentage": .byte(101)], []),
      (["Percentage": .uint16(30)], []), (["Source": .string("new")], []), ([:], ["Percentage"]),
    ] as [(Properties, [String])] {
      bench.send(Bench.phone, .batteryChanged(path: Self.path("one"), changed, gone: gone))
    }
    #expect(bench.changes(InterfaceName.battery, "Percentage").map(\.value) == [.byte(40), .byte(0)])
    #expect(shown(bench, lock)?["Source"] == .string("a sensor"))
    bench.signals = []
    bench.send(Bench.phone, .batteryRemoved(root: Self.root, path: Self.path("one")))
    #expect(shown(bench, lock) == nil)
    #expect(bench.signals.map(\.signal) == [.interfacesRemoved(path: lock, [InterfaceName.battery])])
  }

  @Test("C7: batteries of unknown and temporary devices are ignored, and so are others of the same device")
  func ignored() throws {
    var (bench, lock) = Self.bench()
    add("nobody", Self.battery(Bench.adapter.appending("dev_00_00_00_00_00_00")), to: &bench)
    add("homeless", ["Percentage": .byte(9)], to: &bench)
    add("wrong", ["Device": .uint32(1), "Percentage": .byte(9)], to: &bench)
    add("foreign", Self.battery(lock), to: &bench, by: Self.other)
    #expect(bench.signals.isEmpty)
    add("full", Self.battery(lock, 200), to: &bench)
    #expect(shown(bench, lock) == ["Source": .string("a sensor")])
    add("second", Self.battery(lock, 20), to: &bench)
    bench.send(Bench.phone, .batteryChanged(path: Self.path("second"), ["Percentage": .byte(10)], gone: []))
    #expect(shown(bench, lock)?["Percentage"] == nil)
    // Any object of the root takes its device's battery along.
    bench.send(Bench.phone, .batteryRemoved(root: Self.root, path: Self.path("second")))
    #expect(shown(bench, lock) == nil)

    var fresh = Bench()
    fresh.serveLock(encrypted: false)
    #expect(fresh.ask(Bench.phone, Bench.adapter, Self.register) == .success(.none))
    let found = fresh.discover()
    let stranger = try #require(found)
    add("one", Self.battery(stranger), to: &fresh)
    #expect(shown(fresh, stranger) == nil)
  }

  @Test("C7: a provider's batteries go when it unregisters, dies, or the adapter goes", arguments: 0..<4)
  func ends(_ way: Int) {
    var (bench, lock) = Self.bench()
    add("one", Self.battery(lock), to: &bench)
    bench.signals = []
    switch way {
    case 0: #expect(bench.ask(Bench.phone, Bench.adapter, Self.unregister) == .success(.none))
    case 1: bench.vanish(Bench.phone)
    case 2: bench.command(.plug(machine: Bench.phone, isOn: false))
    default: bench.command(.stopBluetoothd(machine: Bench.phone, killed: false))
    }
    #expect(shown(bench, lock) == nil)
    let gone = bench.signals.filter { entry in
      guard case .interfacesRemoved(lock, let interfaces) = entry.signal else { return false }
      return entry.machine == Bench.phone && interfaces.contains(InterfaceName.battery)
    }
    #expect(gone.count == 1)
  }

  @Test("C7: a battery stays on the bus when its device is removed, and has the device again when that is found")
  func outlives() {
    var (bench, lock) = Self.bench()
    add("one", Self.battery(lock), to: &bench)
    bench.signals = []
    #expect(bench.ask(Bench.phone, Bench.adapter, .removeDevice(lock)) == .success(.none))
    #expect(bench.phoneObjects[lock].map { Array($0.keys) } == [InterfaceName.battery])
    #expect(bench.signals.last?.signal == .interfacesRemoved(path: lock, [InterfaceName.device]))
    bench.signals = []
    let found = bench.discover()
    #expect(found == lock)
    let added = bench.signals.compactMap { entry -> Interfaces? in
      if case .interfacesAdded(lock, let interfaces) = entry.signal { interfaces } else { nil }
    }
    #expect(added.map { Array($0.keys) } == [[InterfaceName.device]])
    #expect(bench.phoneObjects[lock]?.count == 2)
    #expect(bench.ask(Bench.phone, Bench.adapter, Self.unregister) == .success(.none))
    #expect(bench.phoneObjects[lock].map { Array($0.keys) } == [InterfaceName.device])
  }
}
