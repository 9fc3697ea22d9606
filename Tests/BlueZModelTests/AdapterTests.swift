import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Radio
import Testing
import TimeTypes

/// Adapter1's properties and discovery (src/adapter.c of BlueZ 5.82).
@Suite struct AdapterTests {
  private func set(_ name: String, _ value: Value, _ bench: inout Bench) -> Result<Reply, BlueZError>? {
    bench.ask(Bench.phone, Bench.adapter, .setProperty(interface: InterfaceName.adapter, name: name, value: value))
  }

  private func value(_ name: String, _ bench: Bench) -> Value? {
    bench.phoneObjects[Bench.adapter]?[InterfaceName.adapter]?[name]
  }

  @Test(
    "H4: a value that a property has already is no change",
    arguments: [
      ("Powered", Value.bool(true)), ("Discoverable", .bool(true)), ("Connectable", .bool(true)),
      ("Pairable", .bool(true)),
      ("Alias", .string("a phone")), ("Alias", .string("")),
    ])
  func unchanged(name: String, value: Value) {
    var bench = Bench()
    #expect(set(name, value, &bench)?.isSuccess == true)
    bench.signals = []
    #expect(set(name, value, &bench)?.isSuccess == true)
    #expect(bench.signals.isEmpty)
  }

  @Test("H4: a client is answered before its change of a property is reported")
  func answeredFirst() throws {
    var world = SimulatedWorld(seed: 1)
    _ = world.addMachine(SimulatedMachine(name: "phone"), at: .zero)
    for (number, name) in ["Discoverable", "Pairable", "Powered"].enumerated() {
      let request = Request.setProperty(
        interface: InterfaceName.adapter, name: name, value: .bool(name != "Powered"))
      let outputs = world.handle(
        .message(
          machine: "phone", from: ClientIdentifier(":1.1"),
          .call(CallIdentifier(UInt64(number)), path: Bench.adapter, request)), at: .zero)
      let answer = outputs.firstIndex { if case .send(_, _, .reply) = $0 { true } else { false } }
      let report = outputs.firstIndex { output in
        if case .broadcast(_, .propertiesChanged(_, _, let changed, _)) = output { changed[name] != nil } else { false }
      }
      #expect(try #require(answer) < #require(report), "\(name)")
    }
  }

  @Test("H4: a value in a variant of its own is of the wrong type")
  func nestedVariant() {
    var bench = Bench()
    let refusal = BlueZError(
      name: "org.freedesktop.DBus.Error.InvalidSignature", message: "Invalid signature for 'Powered'")
    #expect(set("Powered", .variant(.bool(false)), &bench)?.error == refusal)
    #expect(value("Powered", bench) == .bool(true))
  }

  @Test("H4: Connectable can be set, and goes with Discoverable")
  func connectable() {
    var bench = Bench()
    #expect(set("Connectable", .bool(true), &bench)?.isSuccess == true)
    #expect(value("Connectable", bench) == .bool(true) && value("Discoverable", bench) == .bool(false))
    #expect(set("Discoverable", .bool(true), &bench)?.isSuccess == true)
    #expect(set("Connectable", .bool(false), &bench)?.isSuccess == true)
    #expect(value("Connectable", bench) == .bool(false) && value("Discoverable", bench) == .bool(false))
  }

  @Test("H4: an adapter that is off becomes discoverable only without a time limit, and stays so without one")
  func discoverableOff() {
    var bench = Bench()
    #expect(set("Powered", .bool(false), &bench)?.isSuccess == true)
    for isOn in [true, false] {
      #expect(set("Discoverable", .bool(isOn), &bench)?.error == .failed("Not Powered"))
    }
    #expect(set("DiscoverableTimeout", .uint32(0), &bench)?.isSuccess == true)
    #expect(set("Discoverable", .bool(true), &bench)?.isSuccess == true)
    for isOn in [true, false] {
      #expect(set("Powered", .bool(isOn), &bench)?.isSuccess == true)
      #expect(value("Discoverable", bench) == .bool(true))
    }
  }

  @Test("H4: a long Alias is cut to 247 bytes, unless that would cut a character")
  func longAlias() {
    var bench = Bench()
    #expect(set("Alias", .string(String(repeating: "x", count: 300)), &bench)?.isSuccess == true)
    #expect(value("Alias", bench) == .string(String(repeating: "x", count: 247)))
    #expect(
      set("Alias", .string(String(repeating: "é", count: 130)), &bench)?.error
        == .invalidArguments("Invalid arguments in method call"))
  }

  @Test("H4: a client that discovers may want the adapter to be discoverable, as long as it discovers")
  func discoverableFilter() {
    var bench = Bench()
    bench.call(Bench.phone, Bench.adapter, .setDiscoveryFilter(DiscoveryFilter(discoverable: true)))
    #expect(value("Discoverable", bench) == .bool(false))
    bench.call(Bench.phone, Bench.adapter, .startDiscovery)
    #expect(value("Discoverable", bench) == .bool(true))
    bench.run(.seconds(200))
    #expect(value("Discoverable", bench) == .bool(true))
    bench.vanish(Bench.phone)
    #expect(value("Discoverable", bench) == .bool(false))
  }

  @Test(
    "H4: a discovery without a filter pauses for 5 s after 10 s; one with a filter goes on", arguments: [true, false])
  func pauses(hasFilter: Bool) {
    var bench = Bench()
    bench.call(
      Bench.phone, Bench.adapter,
      .setDiscoveryFilter(hasFilter ? DiscoveryFilter(rssi: -120) : DiscoveryFilter(transport: "le")))
    bench.call(Bench.phone, Bench.adapter, .startDiscovery)
    bench.run(.seconds(11))
    bench.serveLock()
    bench.run(.seconds(3))
    #expect((bench.lockPath != nil) == hasFilter)
    #expect(value("Discovering", bench) == .bool(true))
    bench.run(.seconds(4))
    #expect(bench.lockPath != nil)
  }

  /// The phone's clients discover with filters, one each, while the door advertises.
  private func discover(
    _ filters: [DiscoveryFilter?], discoverable: Bool = true, door: Position? = nil
  ) -> (isShown: Bool, isTold: Bool) {
    var bench = Bench()
    bench.serveLock(isDiscoverable: discoverable)
    if let door { bench.command(.move(machine: Bench.door, x: door.x, y: door.y)) }
    for (number, filter) in filters.enumerated() {
      let client = ClientIdentifier(":1.\(50 + number)")
      if let filter { _ = bench.ask(Bench.phone, Bench.adapter, .setDiscoveryFilter(filter), from: client) }
      _ = bench.ask(Bench.phone, Bench.adapter, .startDiscovery, from: client)
    }
    bench.run(.seconds(8))
    return (bench.phoneObjects.keys.contains { $0.parent == Bench.adapter }, bench.lockPath != nil)
  }

  @Test("H4: the kernel knows clients' filters as one, so a client hears what another looks for")
  func mergedFilters() {
    let other = BluetoothUUID(UInt16(0x180F))
    let strong = DiscoveryFilter(rssi: 0)
    #expect(discover([DiscoveryFilter(uuids: [other])]) == (false, false))
    #expect(discover([strong]) == (false, false))
    #expect(discover([DiscoveryFilter(uuids: [other]), DiscoveryFilter(uuids: [Bench.service])]) == (true, true))
    #expect(discover([strong, DiscoveryFilter(uuids: [Bench.service])]) == (true, true))
    #expect(discover([strong, nil]) == (true, true))
    // A path loss is not applied.
    #expect(discover([DiscoveryFilter(pathloss: 1)]) == (true, true))
    #expect(discover([DiscoveryFilter(transport: "bredr")]) == (false, false))
  }

  @Test("H4: with a filter everyone counts as discoverable; with a pattern only who matches it, for all clients")
  func discoverableAndPatterns() {
    #expect(discover([nil], discoverable: false) == (true, false))
    #expect(discover([DiscoveryFilter(transport: "le")], discoverable: false) == (true, false))
    for filter in [
      DiscoveryFilter(duplicateData: true), DiscoveryFilter(pathloss: 100), DiscoveryFilter(rssi: -127),
      DiscoveryFilter(pattern: ""), DiscoveryFilter(pattern: "Front"),
    ] {
      #expect(discover([filter], discoverable: false) == (true, true), "\(filter)")
    }
    #expect(discover([DiscoveryFilter(pattern: "Back")]) == (true, false))
    #expect(discover([DiscoveryFilter(pattern: "Back"), nil]) == (true, false))
    #expect(discover([DiscoveryFilter(pattern: "Back"), DiscoveryFilter(pattern: "Front d")]) == (true, true))
  }

  @Test("H4: data that has not changed is reported again only to a client that asked for every advertisement")
  func duplicates() {
    for wanted in [nil, false, true] {
      var bench = Bench()
      bench.call(
        Bench.door, Bench.adapter,
        .registerAdvertisement(
          path: ObjectPath(unchecked: "/advertisement"),
          properties: [
            "Type": .string("peripheral"), "Discoverable": .bool(true), "MinInterval": .uint32(100),
            "MaxInterval": .uint32(100),
            "ManufacturerData": .dictionary(key: "q", value: "v", [.uint16(1): .variant(.bytes([1, 2]))]),
          ]))
      bench.call(Bench.phone, Bench.adapter, .setDiscoveryFilter(DiscoveryFilter(duplicateData: wanted)))
      bench.call(Bench.phone, Bench.adapter, .startDiscovery)
      bench.run(.seconds(5))
      let reports = bench.changes(InterfaceName.device, "ManufacturerData").count
      #expect(wanted == true ? reports > 10 : reports == 0, "\(String(describing: wanted)): \(reports)")
    }
  }

  @Test("H4: profiles of classic Bluetooth belong to a client and a path, and their services to the adapter")
  func profiles() {
    var bench = Bench()
    let (other, path) = (ClientIdentifier(":1.77"), ObjectPath(unchecked: "/profile"))
    func ask(_ request: Request, _ client: ClientIdentifier = Bench.system) -> BlueZError? {
      bench.ask(Bench.phone, WellKnown.managerPath, request, from: client)?.error
    }
    func announced(_ uuid: BluetoothUUID = Bench.service) -> Bool {
      bench.phoneObjects[Bench.adapter]?[InterfaceName.adapter]?["UUIDs"]?.stringsValue?
        .contains(uuid.description) == true
    }
    func register(_ name: String = Bench.service.description, isServer: Bool = true) -> Request {
      .registerProfile(path: path, name: name, isServer: isServer)
    }
    #expect(ask(register("door"))?.kind == .invalidArguments)
    #expect(ask(.unregisterProfile(path: path)) == .doesNotExist)
    #expect(ask(register()) == nil)
    #expect(announced())
    #expect(ask(register()) == .alreadyExists)
    #expect(ask(register("door")) == .alreadyExists)
    #expect(ask(.unregisterProfile(path: path), other) == .doesNotExist)
    #expect(ask(.unregisterProfile(path: path)) == nil)
    #expect(!announced())
    #expect(ask(register(isServer: false)) == nil)
    #expect(!announced())
    #expect(ask(register(Bench.offer.description), other) == nil)
    #expect(announced(Bench.offer))
    bench.vanish(Bench.phone, other)
    #expect(!announced(Bench.offer))
    bench.callbacks = []
    bench.command(.stopBluetoothd(machine: Bench.phone, killed: false))
    #expect(bench.callbacks.map(\.callback) == [.release(interface: InterfaceName.profile)])
    #expect(bench.callbacks.map(\.path) == [path])
  }

  @Test("H4: a UUID has one profile, whoever registered it; another spelling of it counts as another UUID")
  func profileUUIDs() {
    var bench = Bench()
    let (other, text) = (ClientIdentifier(":1.77"), Bench.service.description)
    func ask(_ name: String, _ path: String, _ client: ClientIdentifier = Bench.system) -> BlueZError? {
      let request = Request.registerProfile(path: ObjectPath(unchecked: path), name: name, isServer: false)
      return bench.ask(Bench.phone, WellKnown.managerPath, request, from: client)?.error
    }
    let taken = BlueZError.notPermitted("UUID already registered")
    #expect(ask(text, "/a") == nil)
    #expect(ask(text, "/b") == taken)
    #expect(ask(text, "/a", other) == taken)
    #expect(ask(text.uppercased(), "/a", other) == nil)
    #expect(ask("spp", "/c") == nil)
    #expect(ask("spp", "/d") == nil, "a word is not compared with the UUID that it stands for")
    #expect(ask("00001101-0000-1000-8000-00805f9b34fb", "/e") == taken)
    // bluetoothd's own: a network access point.
    #expect(ask("00001116-0000-1000-8000-00805f9b34fb", "/e") == taken)
    bench.vanish(Bench.phone)
    #expect(ask(text, "/b", other) == nil)
  }

  @Test(
    "H4: a property that can't be set is read-only even where it is missing",
    arguments: ["ExperimentalFeatures", "Address", "WakeAllowed", "Mood"])
  func readOnly(_ name: String) {
    var bench = Bench()
    let isKnown = ["ExperimentalFeatures", "Address"].contains(name)
    let error = set(name, .bool(true), &bench)?.error
    #expect(error?.name.hasSuffix(isKnown ? "PropertyReadOnly" : "UnknownProperty") == true)
  }

  @Test("H4: timeouts, and a Discoverable without an end, survive bluetoothd's restart", arguments: [true, false])
  func settingsAreKept(killed: Bool) {
    var bench = Bench()
    for (name, seconds) in [("DiscoverableTimeout", UInt32(0)), ("PairableTimeout", 60)] {
      #expect(set(name, .uint32(seconds), &bench)?.isSuccess == true)
    }
    #expect(set("Discoverable", .bool(true), &bench)?.isSuccess == true)
    bench.command(.restartBluetoothd(machine: Bench.phone, killed: killed))
    bench.run(.seconds(5))
    #expect(value("DiscoverableTimeout", bench) == .uint32(0))
    #expect(value("PairableTimeout", bench) == .uint32(60))
    #expect(value("Discoverable", bench) == .bool(true) && value("Connectable", bench) == .bool(true))
    #expect(set("Discoverable", .bool(false), &bench)?.isSuccess == true)
    bench.command(.restartBluetoothd(machine: Bench.phone, killed: killed))
    bench.run(.seconds(5))
    #expect(value("Discoverable", bench) == .bool(false))
  }

  @Test("H4: a Discoverable with an end, or of a discovery, does not survive bluetoothd's restart")
  func discoverableForATime() {
    var bench = Bench()
    #expect(set("Discoverable", .bool(true), &bench)?.isSuccess == true)
    bench.command(.restartBluetoothd(machine: Bench.phone, killed: true))
    bench.run(.seconds(5))
    #expect(value("Discoverable", bench) == .bool(false))
    #expect(set("DiscoverableTimeout", .uint32(0), &bench)?.isSuccess == true)
    bench.call(Bench.phone, Bench.adapter, .setDiscoveryFilter(DiscoveryFilter(discoverable: true)))
    bench.call(Bench.phone, Bench.adapter, .startDiscovery)
    #expect(value("Discoverable", bench) == .bool(true))
    bench.command(.restartBluetoothd(machine: Bench.phone, killed: true))
    bench.run(.seconds(5))
    #expect(value("Discoverable", bench) == .bool(false))
  }

  @Test("H4: PairableTimeout counts when an agent has made the adapter pairable")
  func pairableTimeout() {
    var bench = Bench()
    #expect(set("PairableTimeout", .uint32(2), &bench)?.isSuccess == true)
    bench.registerAgent(Bench.phone, .noInputNoOutput)
    #expect(value("Pairable", bench) == .bool(true))
    bench.run(.seconds(3))
    #expect(value("Pairable", bench) == .bool(false))
  }
}
