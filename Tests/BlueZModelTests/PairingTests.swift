import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Testing
import TimeTypes

@Suite struct Pairing {
  @Test("H4: with agents on both sides reading an encrypted value pairs by itself, and the read succeeds")
  func pairsByItself() throws {
    var bench = Bench()
    bench.serveLock()
    bench.registerAgents()
    let path = bench.meet()
    let offer = try #require(bench.characteristic(Bench.offer))
    #expect(bench.ask(Bench.phone, offer, .readValue(offset: 0))?.bytes == [7, 7])
    bench.run(.seconds(1))
    #expect(bench.isBonded(path))
    #expect(bench.device(path, "Paired") == .bool(true))
    let doorBond = bench.world.storage(of: Bench.door)?.devices.first?.bond
    let phoneBond = bench.world.storage(of: Bench.phone)?.devices.first?.bond
    #expect(doorBond != nil && doorBond?.longTermKey == phoneBond?.longTermKey)
  }

  @Test(
    "H4: without an agent on one side a read that needs one is never answered, and the link drops",
    arguments: [Bench.door, Bench.phone])
  func withoutAgent(except machine: String) throws {
    var bench = Bench()
    bench.serveLock()
    bench.registerAgent(machine, .noInputNoOutput)
    bench.answers = { _ in nil }
    _ = bench.meet()
    let offer = try #require(bench.characteristic(Bench.offer))
    #expect(bench.ask(Bench.phone, offer, .readValue(offset: 0)) == nil)
    #expect(!bench.isConnected)
  }

  @Test("H4: where neither has an agent both say no at once: the read is never answered, and the link stays and works")
  func withoutAgents() throws {
    var bench = Bench()
    bench.serveLock()
    let path = bench.meet()
    let offer = try #require(bench.characteristic(Bench.offer))
    #expect(bench.ask(Bench.phone, offer, .readValue(offset: 0)) == nil)
    bench.run(.seconds(60))
    #expect(bench.isConnected)
    #expect(!bench.isBonded(path))
    #expect(bench.ask(Bench.phone, path, .connect)?.isSuccess == true)
  }

  @Test("H4: one side shows a passkey, the other types it; a wrong number fails", arguments: [true, false])
  func passkey(isRight: Bool) throws {
    var bench = Bench()
    bench.serveLock()
    bench.registerAgent(Bench.door, .displayOnly)
    bench.registerAgent(Bench.phone, .keyboardOnly)
    bench.answers = { if case .requestPasskey = $0 { nil } else { .success(.none) } }
    let found = bench.discover()
    let path = try #require(found)
    let call = bench.call(Bench.phone, path, .pair)
    bench.run(within: .seconds(20)) { !$0.unanswered.isEmpty }
    let question = try #require(bench.unanswered.first)
    let shown = bench.callbacks.compactMap { entry -> UInt32? in
      if case .displayPasskey(_, let passkey, _) = entry.callback { passkey } else { nil }
    }
    let number = try #require(shown.first)
    bench.send(
      question.machine,
      .answer(question.identifier, .success(.passkey(isRight ? number : (number + 1) % 1_000_000))),
      from: question.client)
    #expect(bench.answer(call)?.error == (isRight ? nil : .authenticationFailed("Authentication Failed")))
    #expect(bench.isBonded(path) == isRight)
  }

  @Test("H4: without an agent an adapter is not pairable, and with one it is")
  func pairable() {
    var bench = Bench()
    func isPairable(_ bench: Bench) -> Value? {
      bench.phoneObjects[Bench.adapter]?[InterfaceName.adapter]?["Pairable"]
    }
    #expect(isPairable(bench) == .bool(false))
    bench.registerAgent(Bench.phone, .noInputNoOutput)
    #expect(isPairable(bench) == .bool(true))
    bench.vanish(Bench.phone)
    #expect(isPairable(bench) == .bool(false))
  }

  @Test("H4: a side that is not pairable can't be paired with")
  func notPairable() throws {
    var bench = Bench()
    bench.serveLock()
    bench.registerAgents()
    bench.call(
      Bench.door, Bench.adapter,
      .setProperty(interface: InterfaceName.adapter, name: "Pairable", value: .bool(false)))
    let path = bench.meet()
    #expect(bench.ask(Bench.phone, path, .pair)?.error?.name == "org.bluez.Error.AuthenticationFailed")
    #expect(!bench.isBonded(path))
  }

  @Test("H4: two agents that can show and ask compare one number", arguments: [true, false])
  func comparison(agree: Bool) throws {
    var bench = Bench()
    bench.serveLock()
    bench.registerAgents(.displayYesNo)
    let path = bench.meet()
    bench.answers = { callback in
      if case .requestConfirmation = callback, !agree {
        return .failure(BlueZError(name: "org.bluez.Error.Rejected", message: ""))
      }
      return .success(.none)
    }
    let result = bench.ask(Bench.phone, path, .pair)
    bench.run(.seconds(1))
    #expect((result?.isSuccess == true) == agree)
    #expect(bench.isBonded(path) == agree)
    let numbers = bench.callbacks.compactMap { entry -> UInt32? in
      if case .requestConfirmation(_, let passkey) = entry.callback { passkey } else { nil }
    }
    #expect(numbers.count == 2 && numbers[0] == numbers[1])
  }

  @Test("H4: a peer's pairing asks the first agent that registered, unless a later one asked to be the default")
  func defaultAgents() throws {
    for asks in [false, true] {
      var bench = Bench()
      bench.serveLock()
      bench.registerAgent(Bench.phone, .displayYesNo)
      let agents = [(Bench.system, "/first"), (ClientIdentifier(":1.6"), "/second")].map { client, path in
        (client: client, path: ObjectPath(unchecked: path))
      }
      for agent in agents {
        bench.call(
          Bench.door, WellKnown.managerPath, .registerAgent(path: agent.path, capability: .displayYesNo),
          from: agent.client)
      }
      let chosen = agents[asks ? 1 : 0]
      if asks {
        bench.call(
          Bench.door, WellKnown.managerPath, .requestDefaultAgent(path: chosen.path), from: chosen.client)
      }
      let path = bench.meet()
      #expect(bench.ask(Bench.phone, path, .pair)?.isSuccess == true)
      let asked = bench.callbacks.filter { entry in
        if case .requestConfirmation = entry.callback { entry.machine == Bench.door } else { false }
      }
      #expect(asked.map(\.client) == [chosen.client])
      #expect(asked.map(\.path) == [chosen.path])
    }
  }

  @Test("H4: Pair connects first, bonds, and is refused where there is a bond")
  func pairs() throws {
    var bench = Bench()
    bench.serveLock()
    bench.registerAgents()
    let found = bench.discover()
    let path = try #require(found)
    #expect(bench.ask(Bench.phone, path, .pair)?.isSuccess == true)
    #expect(bench.isBonded(path))
    #expect(bench.ask(Bench.phone, path, .pair)?.error == .alreadyExists)
  }

  @Test("H4: a lock that has lost its key is not connected to")
  func keyMissing() throws {
    var bench = Bench()
    let path = bench.settle()
    bench.leave()
    let bonded = bench.world.managedObjects(of: Bench.door).keys.first { $0.parent == Bench.adapter }
    _ = bench.ask(Bench.door, Bench.adapter, .removeDevice(try #require(bonded)))
    bench.signals = []
    bench.comeHome()
    bench.run(.seconds(3))
    #expect(!bench.isResolved(path))
    #expect(bench.changes(InterfaceName.device, "ServicesResolved").isEmpty)
    let isLogged = bench.events.contains {
      if case .diagnostic(Bench.phone, let text) = $0.event { text.contains("encryption with") } else { false }
    }
    #expect(isLogged)
  }

  @Test("H4: with Privacy the address becomes the identity and the path keeps the random address it was found under")
  func privacy() throws {
    var bench = Bench(doorIsPrivate: true)
    let path = bench.settle(notifying: true)
    let identity = try #require(bench.world.address(of: Bench.door))
    #expect(bench.isBonded(path))
    #expect(bench.device(path, "Address") == .string(identity.description))
    #expect(!path.text.contains(identity.pathComponent))
    // Its address on the air changes while it is away.
    bench.leave()
    bench.run(.seconds(3600))
    #expect(bench.comeHomeAndConnect() == true)
    #expect(bench.device(path, "Connected") == .bool(true))
  }

  @Test("H4: a profile registered before pairing with a private lock never brings it back; one after does")
  func privacyNeedsRegistrationAfterPairing() throws {
    var bench = Bench(doorIsPrivate: true)
    bench.serveLock()
    bench.registerAgents()
    bench.registerProfile()
    let path = bench.meet()
    let offer = try #require(bench.characteristic(Bench.offer))
    _ = bench.ask(Bench.phone, offer, .readValue(offset: 0))
    bench.run(.seconds(1))
    #expect(bench.isBonded(path))
    bench.leave()
    bench.run(.seconds(3600))
    #expect(bench.comeHomeAndConnect(within: .seconds(600)) == false)
    bench.registerProfile(from: ClientIdentifier(":1.9"))
    #expect((bench.run(within: .seconds(5)) { $0.isConnected }) == true)
  }
}
