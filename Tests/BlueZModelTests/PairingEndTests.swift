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

  /// The door's device for the phone.
  private func phone(_ name: String, _ bench: Bench) -> Value? {
    bench.world.managedObjects(of: Bench.door).values.compactMap { $0[InterfaceName.device]?[name] }.first
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
}
