import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

/// How `Pair()` ends other than with a bond (src/device.c and src/adapter.c of BlueZ 5.82).
@Suite struct PairingEndTests {
  private static let failed = BlueZError.authenticationFailed("Authentication Failed")
  private static let other = ClientIdentifier(":1.77")

  private func set(_ name: String, _ value: Value, of machine: String, _ bench: inout Bench) {
    bench.call(
      machine, Bench.adapter, .setProperty(interface: InterfaceName.adapter, name: name, value: value))
  }

  /// The door's device for the phone.
  private func phone(_ name: String, _ bench: Bench) -> Value? {
    bench.world.managedObjects(of: Bench.door).values.compactMap { $0[InterfaceName.device]?[name] }.first
  }

  /// A pairing whose questions nobody answers.
  private func asked() throws -> (Bench, ObjectPath, CallIdentifier) {
    var bench = Bench()
    bench.serveLock()
    bench.registerAgents(.displayYesNo)
    let found = bench.discover()
    let path = try #require(found)
    bench.answers = { _ in nil }
    let pair = bench.call(Bench.phone, path, .pair)
    bench.run(within: .seconds(20)) { bench in bench.unanswered.count == 2 }
    #expect(bench.unanswered.count == 2)
    return (bench, path, pair)
  }

  @Test(
    "H4: Pair() fails where no agent is registered, because bluetoothd answers the kernel's question with no",
    arguments: [[], [Bench.door], [Bench.phone]])
  func withoutAgent(agents: [String]) throws {
    var bench = Bench()
    bench.serveLock()
    for machine in agents { bench.registerAgent(machine, .noInputNoOutput) }
    let found = bench.discover()
    let path = try #require(found)
    #expect(bench.ask(Bench.phone, path, .pair)?.error == Self.failed)
    #expect(!bench.isBonded(path) && phone("Bonded", bench) != .bool(true))
  }

  @Test("H4: Pair() of a client without an agent needs another client's agent, which is not asked")
  func anotherClientsAgent() throws {
    var bench = Bench()
    bench.serveLock()
    bench.registerAgents()
    let found = bench.discover()
    let path = try #require(found)
    #expect(bench.answer(bench.call(Bench.phone, path, .pair, from: Self.other))?.isSuccess == true)
    #expect(bench.isBonded(path))
    #expect(!bench.callbacks.contains { $0.machine == Bench.phone })
  }

  @Test("H4: a pairing with Pairable off leaves no bond on either side, and lasts as long as its link")
  func withoutBond() throws {
    var bench = Bench()
    bench.serveLock()
    bench.registerAgents()
    set("Pairable", .bool(false), of: Bench.phone, &bench)
    let found = bench.discover()
    let path = try #require(found)
    #expect(bench.ask(Bench.phone, path, .pair)?.isSuccess == true)
    bench.run(.seconds(2))
    #expect(bench.device(path, "Paired") == .bool(true) && bench.device(path, "Bonded") == .bool(false))
    #expect(phone("Paired", bench) == .bool(true) && phone("Bonded", bench) == .bool(false))
    let offer = try #require(bench.characteristic(Bench.offer))
    #expect(bench.ask(Bench.phone, offer, .readValue(offset: 0))?.bytes == [7, 7], "the link is encrypted")
    bench.signals = []
    #expect(bench.ask(Bench.phone, path, .disconnect)?.isSuccess == true)
    bench.run(.seconds(1))
    #expect(bench.changes(InterfaceName.device, "Paired", of: path).map(\.value) == [.bool(false)])
    #expect(bench.device(path, "Paired") == .bool(false) && phone("Paired", bench) == .bool(false))
    for machine in [Bench.phone, Bench.door] {
      #expect(bench.world.storage(of: machine)?.devices.isEmpty == true)
    }
  }

  @Test("H4: a private peer that was paired without a bond is another device afterwards")
  func privateWithoutBond() throws {
    var bench = Bench(doorIsPrivate: true)
    bench.serveLock()
    bench.registerAgents()
    set("Pairable", .bool(false), of: Bench.phone, &bench)
    let found = bench.discover()
    let path = try #require(found)
    #expect(bench.ask(Bench.phone, path, .pair)?.isSuccess == true)
    let identity = try #require(bench.world.address(of: Bench.door))
    #expect(bench.device(path, "Address") == .string(identity.description))
    bench.run(.seconds(1))
    #expect(bench.ask(Bench.phone, path, .disconnect)?.isSuccess == true)
    bench.run(.seconds(40))
    #expect(bench.phoneObjects[path] == nil)
  }

  enum End: CaseIterable { case outOfRange, peerDisconnects, peerPowersOff, powerOff }

  @Test("H4: Pair() is canceled by the loss of its link, whoever ends the link", arguments: End.allCases)
  func lost(end: End) throws {
    var (bench, _, pair) = try asked()
    switch end {
    case .outOfRange: bench.command(.move(machine: Bench.phone, x: 5000, y: 0))
    case .peerDisconnects:
      let device = bench.world.managedObjects(of: Bench.door).keys.first { $0.parent == Bench.adapter }
      bench.call(Bench.door, try #require(device), .disconnect)
    case .peerPowersOff: set("Powered", .bool(false), of: Bench.door, &bench)
    case .powerOff: set("Powered", .bool(false), of: Bench.phone, &bench)
    }
    #expect(bench.answer(pair)?.error == .authenticationCanceled)
  }

  /// A device that was found, and has gone out of range since.
  private func foundAndGone() throws -> (Bench, ObjectPath) {
    var bench = Bench()
    bench.serveLock()
    bench.registerAgents()
    let found = bench.discover()
    let path = try #require(found)
    bench.command(.move(machine: Bench.phone, x: 5000, y: 0))
    return (bench, path)
  }

  @Test("H4: Pair() of a device that is gone fails after bluetoothd's two minutes for a pairing")
  func gone() throws {
    var (bench, path) = try foundAndGone()
    let began = bench.now
    let call = bench.call(Bench.phone, path, .pair)
    #expect(bench.answer(call, within: .seconds(200))?.error == .authenticationTimeout)
    #expect(bench.now - began == .seconds(120))
    bench.run(.seconds(3))
    #expect(bench.phoneObjects[path] == nil)
  }

  @Test("H4: power that goes off cancels a Pair() that still looks for its device")
  func goneWithoutPower() throws {
    var (bench, path) = try foundAndGone()
    let call = bench.call(Bench.phone, path, .pair)
    bench.run(.seconds(5))
    set("Powered", .bool(false), of: Bench.phone, &bench)
    #expect(bench.answer(call)?.error == .authenticationCanceled)
  }

  @Test("H4: Pairable stays off when an agent comes, goes or asks that is not the default agent")
  func pairableStaysOff() {
    var bench = Bench()
    func pairable(_ bench: Bench) -> Value? { bench.phoneObjects[Bench.adapter]?[InterfaceName.adapter]?["Pairable"] }
    func manage(_ request: Request, _ client: ClientIdentifier) {
      #expect(bench.ask(Bench.phone, WellKnown.managerPath, request, from: client)?.isSuccess == true)
    }
    let path = ObjectPath(unchecked: "/agent")
    bench.registerAgent(Bench.phone, .noInputNoOutput)
    set("Pairable", .bool(false), of: Bench.phone, &bench)
    bench.signals = []
    manage(.registerAgent(path: path, capability: .noInputNoOutput), Self.other)
    manage(.requestDefaultAgent(path: path), Bench.system)
    manage(.unregisterAgent(path: path), Self.other)
    #expect(pairable(bench) == .bool(false) && bench.signals.isEmpty)
    manage(.registerAgent(path: path, capability: .noInputNoOutput), Self.other)
    bench.vanish(Bench.phone, Self.other)
    #expect(pairable(bench) == .bool(false) && bench.signals.isEmpty)
    manage(.registerAgent(path: path, capability: .noInputNoOutput), Self.other)
    manage(.requestDefaultAgent(path: path), Self.other)
    #expect(pairable(bench) == .bool(true), "another agent is the default")
  }
}
