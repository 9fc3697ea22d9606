import BlueZ
import BlueZModel
import BusValue
import Testing
import TimeTypes

/// RemoveDevice, Disconnect and vanishing clients in the middle of something (src/adapter.c and src/device.c of BlueZ 5.82).
@Suite struct RemovalTests {
  @Test("H4: a linked device is removed when its link has ended, after 2 s; each caller is answered")
  func linked() {
    var bench = Bench()
    let path = bench.settle()
    let began = bench.now
    let calls = [
      bench.call(Bench.phone, Bench.adapter, .removeDevice(path)), bench.call(Bench.phone, path, .disconnect),
      bench.call(Bench.phone, Bench.adapter, .removeDevice(path), from: ClientIdentifier(":1.77")),
    ]
    bench.run(.seconds(1))
    #expect(bench.isConnected && calls.allSatisfy { bench.replies[$0] == nil })
    for call in calls { #expect(bench.answer(call)?.isSuccess == true) }
    #expect(bench.now - began >= .seconds(2) && bench.now - began < .seconds(3))
    #expect(bench.phoneObjects[path] == nil)
  }

  @Test("H1: a user who removes all pairings where there are none is told so")
  func nothingToForget() {
    var bench = Bench()
    let path = bench.settle()
    func isTold() -> Bool {
      bench.events.contains {
        if case .diagnostic(Bench.phone, let text) = $0.event { text == "no pairings to remove" } else { false }
      }
    }
    bench.command(.forgetPairings(machine: Bench.phone))
    bench.run(.seconds(3))
    #expect(bench.phoneObjects[path] == nil && !isTold())
    bench.command(.forgetPairings(machine: Bench.phone))
    #expect(isTold())
  }

  @Test("H4: without power RemoveDevice is refused; for an unknown device it says so")
  func withoutPower() {
    var bench = Bench()
    let path = bench.settle()
    #expect(
      bench.ask(Bench.phone, Bench.adapter, .removeDevice(Bench.adapter.appending("dev_00_00_00_00_00_01")))?.error
        == .doesNotExist)
    _ = bench.ask(
      Bench.phone, Bench.adapter, .setProperty(interface: InterfaceName.adapter, name: "Powered", value: .bool(false)))
    #expect(bench.ask(Bench.phone, Bench.adapter, .removeDevice(path))?.error == .notReady)
    #expect(bench.phoneObjects[path] != nil)
  }

  /// A pairing whose questions nobody answers.
  private func pairing(_ client: ClientIdentifier = Bench.system) throws -> (Bench, ObjectPath, CallIdentifier) {
    var bench = Bench()
    bench.serveLock()
    bench.registerAgents(.displayYesNo)
    let found = bench.discover()
    let path = try #require(found)
    bench.answers = { _ in nil }
    let pair = bench.call(Bench.phone, path, .pair, from: client)
    bench.run(within: .seconds(20)) { bench in bench.unanswered.count == 2 }
    #expect(bench.unanswered.count == 2)
    return (bench, path, pair)
  }

  @Test("H4: Disconnect and RemoveDevice cancel a pairing at once", arguments: [true, false])
  func cancelled(removes: Bool) throws {
    var (bench, path, pair) = try pairing()
    let request: Request = removes ? .removeDevice(path) : .disconnect
    let call = bench.call(Bench.phone, removes ? Bench.adapter : path, request)
    #expect(bench.replies[pair]?.error == .authenticationCanceled)
    #expect(bench.answer(call)?.isSuccess == true)
    #expect(bench.callbacks.contains { $0.machine == Bench.phone && $0.callback == .cancel })
    #expect((bench.phoneObjects[path] == nil) == removes)
  }

  @Test("H4: a pairing ends when the client that asked for it leaves the bus")
  func callerGone() throws {
    let client = ClientIdentifier(":1.77")
    var (bench, path, _) = try pairing(client)
    bench.vanish(Bench.phone, client)
    bench.run(.seconds(3))
    #expect(!bench.isConnected && !bench.isBonded(path))
    #expect(bench.callbacks.contains { $0.machine == Bench.phone && $0.callback == .cancel })
    #expect(bench.callbacks.contains { $0.machine == Bench.door && $0.callback == .cancel })
  }

  @Test("H4: Pair without power fails; setting a property to its present value is no change")
  func device() throws {
    var bench = Bench()
    bench.serveLock()
    let path = bench.meet()
    for (name, value) in [("Trusted", Value.bool(true)), ("Alias", .string(String(repeating: "x", count: 300)))] {
      let request = Request.setProperty(interface: InterfaceName.device, name: name, value: value)
      #expect(bench.ask(Bench.phone, path, request)?.isSuccess == true)
      #expect(bench.device(path, name) == value)
      bench.signals = []
      #expect(bench.ask(Bench.phone, path, request)?.isSuccess == true)
      #expect(bench.signals.isEmpty)
    }
    _ = bench.ask(
      Bench.phone, Bench.adapter, .setProperty(interface: InterfaceName.adapter, name: "Powered", value: .bool(false)))
    #expect(bench.ask(Bench.phone, path, .pair)?.error == .authenticationFailed("Authentication Failed"))
  }
}
