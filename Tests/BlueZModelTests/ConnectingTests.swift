import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

@Suite struct Connecting {
  private func absentLock(_ bench: inout Bench) -> ObjectPath {
    let path = bench.settle()
    _ = bench.ask(Bench.phone, path, .disconnect)
    bench.command(.move(machine: Bench.phone, x: 5000, y: 0))
    bench.run(.seconds(5))
    return path
  }

  @Test("H4: Connect to an absent device fails after 41 s, and its caller need not live to see it")
  func absent() {
    var bench = Bench()
    let path = absentLock(&bench)
    let start = bench.now
    let first = bench.call(Bench.phone, path, .connect)
    bench.run(.seconds(10))
    let other = ClientIdentifier(":1.77")
    #expect(bench.ask(Bench.phone, path, .connect, from: other)?.error == .inProgress)
    bench.vanish(Bench.phone)
    bench.run(.seconds(10))
    #expect(bench.ask(Bench.phone, path, .connect, from: other)?.error == .inProgress)
    #expect(bench.answer(first)?.error == .failed("le-connection-abort-by-local"))
    #expect(bench.now - start == .seconds(41))
  }

  @Test("H4: Disconnect cancels a pending Connect")
  func canceled() {
    var bench = Bench()
    let path = absentLock(&bench)
    let call = bench.call(Bench.phone, path, .connect)
    bench.run(.seconds(5))
    #expect(bench.ask(Bench.phone, path, .disconnect)?.isSuccess == true)
    #expect(bench.replies[call]?.error == .failed("br-connection-canceled"))
    bench.comeHome()
    #expect((bench.run(within: .seconds(60)) { $0.isConnected }) == false)
  }

  @Test("H4: Connect to a connected device succeeds at once")
  func alreadyConnected() {
    var bench = Bench()
    let path = bench.settle()
    let call = bench.call(Bench.phone, path, .connect)
    #expect(bench.replies[call]?.isSuccess == true)
  }

  @Test("H4: a device that was only seen vanishes 30 s after it was seen last")
  func temporary() throws {
    var bench = Bench()
    bench.serveLock()
    let found = bench.discover()
    let path = try #require(found)
    bench.run(.seconds(29))
    #expect(bench.phoneObjects[path] != nil)
    bench.run(.seconds(2))
    #expect(bench.phoneObjects[path] == nil)
    #expect(bench.signals.contains { if case .interfacesRemoved(path, _) = $0.signal { true } else { false } })
  }

  @Test("H4: Connect to a blocked device fails once its link has come up, and the other side has seen it for a moment")
  func blocked() throws {
    var bench = Bench()
    bench.serveLock()
    let found = bench.discover()
    let path = try #require(found)
    func block(_ isBlocked: Bool) -> Request {
      .setProperty(interface: InterfaceName.device, name: "Blocked", value: .bool(isBlocked))
    }
    #expect(bench.ask(Bench.phone, path, block(true))?.isSuccess == true)
    bench.command(.move(machine: Bench.phone, x: 5000, y: 0))
    let call = bench.call(Bench.phone, path, .connect)
    bench.run(.seconds(20))
    #expect(bench.replies[call] == nil, "a device that is away is waited for")
    bench.comeHome()
    #expect(bench.answer(call)?.error == .failed("le-connection-abort-by-local"))
    #expect(bench.changes(InterfaceName.device, "Connected", of: path).isEmpty)
    #expect(bench.device(path, "Connected") == .bool(false))
    #expect(bench.ask(Bench.phone, path, block(false))?.isSuccess == true)
    #expect(bench.ask(Bench.phone, path, .connect)?.isSuccess == true)
  }

  @Test("H4: Pair of a blocked device makes one link and fails 20 s later")
  func blockedPairing() throws {
    var bench = Bench()
    bench.serveLock()
    bench.registerAgents()
    let found = bench.discover()
    let path = try #require(found)
    _ = bench.ask(
      Bench.phone, path, .setProperty(interface: InterfaceName.device, name: "Blocked", value: .bool(true)))
    let began = bench.now
    let call = bench.call(Bench.phone, path, .pair)
    #expect(bench.answer(call)?.error == .authenticationTimeout)
    #expect(bench.now - began >= .seconds(20) && bench.now - began < .seconds(24))
  }

  @Test("H4: a block survives bluetoothd's restart, with or without a bond", arguments: [true, false])
  func blockIsKept(bonded: Bool) throws {
    var bench = Bench()
    if bonded { _ = bench.settle() } else { bench.serveLock() }
    let found = bonded ? bench.lockPath : bench.discover()
    let path = try #require(found)
    _ = bench.ask(
      Bench.phone, path, .setProperty(interface: InterfaceName.device, name: "Blocked", value: .bool(true)))
    bench.command(.restartBluetoothd(machine: Bench.phone, killed: true))
    bench.run(.seconds(60))
    #expect(bench.device(path, "Blocked") == .bool(true))
    #expect(bench.ask(Bench.phone, path, .connect)?.error == .failed("le-connection-abort-by-local"))
  }

  @Test("H4: ConnectProfile waits for no other call and needs power")
  func connectProfile() throws {
    var bench = Bench()
    bench.serveLock()
    let found = bench.discover()
    let path = try #require(found)
    let profile = Request.connectProfile(BluetoothUUID(0x1101 as UInt16))
    let connect = bench.call(Bench.phone, path, .connect)
    #expect(
      bench.replies[bench.call(Bench.phone, path, profile)]?.error
        == BlueZError(.inProgress, "br-connection-busy"))
    #expect(bench.answer(connect)?.isSuccess == true)
    #expect(bench.ask(Bench.phone, path, profile)?.error == .failed("br-connection-sdp-search"))
    _ = bench.ask(
      Bench.phone, Bench.adapter, .setProperty(interface: InterfaceName.adapter, name: "Powered", value: .bool(false)))
    #expect(
      bench.ask(Bench.phone, path, profile)?.error == BlueZError(.notReady, "br-connection-adapter-not-powered"))
  }

  @Test("H4: a device does not vanish after a ConnectProfile")
  func wantedByProfile() throws {
    var bench = Bench()
    bench.serveLock()
    let found = bench.discover()
    let path = try #require(found)
    _ = bench.ask(Bench.phone, path, .connectProfile(BluetoothUUID(0x1101 as UInt16)))
    bench.leave()
    bench.run(.seconds(60))
    #expect(bench.phoneObjects[path] != nil)
  }

  @Test("H4: StartNotify is refused while a Disconnect waits, and leaves nothing for the next link")
  func notifyWhileDisconnecting() throws {
    var bench = Bench()
    bench.serveLock(encrypted: false)
    let path = bench.meet()
    let offer = try #require(bench.characteristic(Bench.offer))
    let disconnect = bench.call(Bench.phone, path, .disconnect)
    #expect(bench.ask(Bench.phone, offer, .startNotify)?.error == .notConnected)
    #expect(bench.answer(disconnect)?.isSuccess == true)
    #expect(bench.ask(Bench.phone, path, .connect)?.isSuccess == true)
    bench.run(.seconds(5))
    #expect(bench.phoneObjects[offer]?[InterfaceName.gattCharacteristic]?["Notifying"] == .bool(false))
  }

  @Test("H4: on an adapter for Low Energy no discovery is for classic Bluetooth alone")
  func classicDiscovery() {
    var bench = Bench()
    bench.serveLock()
    func ask(_ request: Request) -> BlueZError? { bench.ask(Bench.phone, Bench.adapter, request)?.error }
    #expect(ask(.setDiscoveryFilter(DiscoveryFilter(transport: "bredr"))) == nil)
    #expect(ask(.startDiscovery) == .busy)
    #expect(ask(.stopDiscovery) == .failed("No discovery started"))
    let other = ClientIdentifier(":1.77")
    #expect(bench.ask(Bench.phone, Bench.adapter, .startDiscovery, from: other)?.isSuccess == true)
    #expect(ask(.startDiscovery) == nil, "beside another client's, there is something to hear")
  }

  @Test("H4: a filtered discovery continues to report a device that stays")
  func filteredDiscovery() throws {
    var bench = Bench()
    bench.serveLock()
    bench.call(
      Bench.phone, Bench.adapter,
      .setDiscoveryFilter(DiscoveryFilter(uuids: [Bench.service], transport: "le", duplicateData: false)))
    bench.call(Bench.phone, Bench.adapter, .startDiscovery)
    bench.run(.seconds(120))
    #expect(bench.lockPath != nil)
  }

  @Test(
    "H4: filters by service, strength and pattern",
    arguments: [
      (DiscoveryFilter(uuids: [BluetoothUUID(UInt16(0x180F))]), false), (DiscoveryFilter(uuids: [Bench.service]), true),
      (DiscoveryFilter(rssi: 0), false), (DiscoveryFilter(rssi: -100), true),
      (DiscoveryFilter(pattern: "Back"), false), (DiscoveryFilter(pattern: "Front"), true),
    ])
  func filters(filter: DiscoveryFilter, isFound: Bool) {
    var bench = Bench()
    bench.serveLock()
    bench.call(Bench.phone, Bench.adapter, .setDiscoveryFilter(filter))
    bench.call(Bench.phone, Bench.adapter, .startDiscovery)
    bench.run(.seconds(5))
    #expect((bench.lockPath != nil) == isFound)
  }

  @Test(
    "H4: a device that is not discoverable shows only its address, unless a client looks for it or for near devices",
    arguments: [
      (DiscoveryFilter(), false), (DiscoveryFilter(transport: "le"), false), (DiscoveryFilter(rssi: -127), true),
      (DiscoveryFilter(uuids: [Bench.service]), true), (DiscoveryFilter(pattern: "Front"), true),
    ])
  func undiscoverable(filter: DiscoveryFilter, isTold: Bool) throws {
    var bench = Bench()
    let found = bench.foundOfUndiscoverableLock(filter)
    #expect(found.count == 1)
    #expect((found.first?["RSSI"] != nil) == isTold)
    #expect((found.first?["UUIDs"]?.stringsValue?.isEmpty == false) == isTold)
  }

  @Test(
    "H4: for an adapter with classic Bluetooth Transport=le is a filter, so a device that is not discoverable is told of",
    arguments: [
      (DiscoveryFilter(), false), (DiscoveryFilter(transport: "auto"), false), (DiscoveryFilter(transport: "le"), true),
    ])
  func undiscoverableInDualMode(filter: DiscoveryFilter, isTold: Bool) throws {
    var bench = Bench(isDualMode: true)
    let found = bench.foundOfUndiscoverableLock(filter)
    #expect(found.count == 1)
    #expect((found.first?["UUIDs"]?.stringsValue?.isEmpty == false) == isTold)
  }

  @Test("H4: an adapter with classic Bluetooth discovers by that alone, and finds none of the others")
  func classicDiscoveryInDualMode() {
    var bench = Bench(isDualMode: true)
    bench.serveLock()
    bench.call(Bench.phone, Bench.adapter, .setDiscoveryFilter(DiscoveryFilter(transport: "bredr")))
    #expect(bench.ask(Bench.phone, Bench.adapter, .startDiscovery)?.isSuccess == true)
    bench.run(.seconds(5))
    #expect(bench.phoneObjects.values.allSatisfy { $0[InterfaceName.device] == nil })
  }

  @Test("H4: with a known database Connected comes about 270 ms before ServicesResolved, and nothing is explored")
  func reconnects() throws {
    var bench = Bench()
    let path = bench.settle()
    bench.leave()
    #expect(bench.phoneObjects.keys.contains { $0.isWithin(path) && $0 != path })
    bench.signals = []
    bench.comeHome()
    bench.run(within: .seconds(5)) { $0.isResolved(path) }
    let connected = try #require(bench.changes(InterfaceName.device, "Connected").last?.at)
    let resolved = try #require(bench.changes(InterfaceName.device, "ServicesResolved").last?.at)
    #expect(resolved - connected >= .milliseconds(200) && resolved - connected <= .milliseconds(340))
    #expect(!bench.signals.contains { if case .interfacesAdded = $0.signal { true } else { false } })
  }

  @Test("H4: a query for a link's strength is answered while the link lives, and refused without one")
  func strength() throws {
    var bench = Bench()
    let path = bench.settle()
    guard case .success(.rssi(let rssi))? = bench.ask(Bench.phone, path, .readConnectionRSSI) else {
      Issue.record("no strength")
      return
    }
    #expect(rssi < -20 && rssi > -90)
    bench.leave()
    #expect(bench.ask(Bench.phone, path, .readConnectionRSSI)?.error == .notConnected)
  }
}

extension Bench {
  /// The devices that the phone is told of while it discovers with a filter beside a lock that is not discoverable.
  fileprivate mutating func foundOfUndiscoverableLock(_ filter: DiscoveryFilter) -> [Properties] {
    serveLock(isDiscoverable: false)
    call(Self.phone, Self.adapter, .setDiscoveryFilter(filter))
    call(Self.phone, Self.adapter, .startDiscovery)
    run(.seconds(5))
    return phoneObjects.values.compactMap { $0[InterfaceName.device] }
  }
}
