import BlueZ
import BlueZModel
import BluetoothTypes
import BusValue
import Radio
import Testing
import TimeTypes

/// Pairings of one machine with two others at the same time.
@Suite struct SeveralPairings {
  private static let gate = "gate"

  /// The door, the gate and the phone have agents that compare numbers, and leave every question open.
  private func bench(serving machines: [String]) -> Bench {
    var bench = Bench()
    bench.add(SimulatedMachine(name: Self.gate, position: Position(x: 1, y: 1)))
    for machine in [Bench.door, Self.gate, Bench.phone] { bench.registerAgent(machine, .displayYesNo) }
    for machine in machines {
      bench.call(
        machine, Bench.adapter,
        .registerAdvertisement(
          path: ObjectPath(unchecked: "/advertisement"),
          properties: [
            "Type": .string("peripheral"), "Discoverable": .bool(true), "MinInterval": .uint32(100),
            "MaxInterval": .uint32(100), "LocalName": .string(machine),
          ]))
    }
    bench.answers = { if case .requestConfirmation = $0 { nil } else { .success(.none) } }
    return bench
  }

  private func find(_ name: String, from machine: String, _ bench: inout Bench) throws -> ObjectPath {
    bench.call(machine, Bench.adapter, .startDiscovery)
    func path(_ bench: Bench) -> ObjectPath? {
      bench.world.managedObjects(of: machine).first {
        $0.value[InterfaceName.device]?["Name"] == .string(name)
      }?.key
    }
    bench.run(within: .seconds(20)) { path($0) != nil }
    bench.call(machine, Bench.adapter, .stopDiscovery)
    return try #require(path(bench))
  }

  /// Every open question is answered with yes.
  private func agree(_ bench: inout Bench) {
    for question in bench.unanswered {
      bench.send(question.machine, .answer(question.identifier, .success(.none)), from: question.client)
    }
    bench.unanswered = []
  }

  private func questions(to machine: String, _ bench: Bench) -> Int { bench.unanswered.count { $0.machine == machine } }

  @Test("H4: Pair() of another device waits until the first is answered")
  func oneAfterTheOther() throws {
    var bench = bench(serving: [Bench.door, Self.gate])
    let door = try find(Bench.door, from: Bench.phone, &bench)
    let gate = try find(Self.gate, from: Bench.phone, &bench)
    let first = bench.call(Bench.phone, door, .pair)
    let second = bench.call(Bench.phone, gate, .pair)
    bench.run(.seconds(10))
    #expect(questions(to: Bench.phone, bench) == 1 && bench.device(gate, "Connected") == .bool(false))
    #expect(bench.replies[second] == nil)
    #expect(bench.ask(Bench.phone, gate, .pair)?.error == .inProgress)
    agree(&bench)
    #expect(bench.answer(first)?.isSuccess == true)
    bench.run(within: .seconds(20)) { questions(to: Bench.phone, $0) == 1 }
    agree(&bench)
    #expect(bench.answer(second)?.isSuccess == true)
    #expect(bench.isBonded(door) && bench.isBonded(gate))
  }

  @Test(
    "H4: a Pair() that waits can be cancelled, and goes with its caller; the first one goes on",
    arguments: [true, false])
  func cancelled(byCall: Bool) throws {
    var bench = bench(serving: [Bench.door, Self.gate])
    let door = try find(Bench.door, from: Bench.phone, &bench)
    let gate = try find(Self.gate, from: Bench.phone, &bench)
    let other = ClientIdentifier(":1.77")
    let first = bench.call(Bench.phone, door, .pair)
    let second = bench.call(Bench.phone, gate, .pair, from: other)
    bench.run(.seconds(5))
    if byCall {
      #expect(bench.ask(Bench.phone, gate, .cancelPairing)?.isSuccess == true)
      #expect(bench.replies[second]?.error == .authenticationCanceled)
    } else {
      bench.vanish(Bench.phone, other)
    }
    agree(&bench)
    #expect(bench.answer(first)?.isSuccess == true)
    bench.run(.seconds(10))
    #expect(bench.isBonded(door) && bench.unanswered.isEmpty)
  }

  @Test("H4: an agent that has a question is not asked another one, and the second peer is refused")
  func busyAgent() throws {
    var bench = bench(serving: [Bench.phone])
    let calls = try [Bench.door, Self.gate].map { machine in
      let phone = try find(Bench.phone, from: machine, &bench)
      let call = bench.call(machine, phone, .pair)
      bench.run(within: .seconds(20)) { questions(to: machine, $0) == 1 || $0.replies[call] != nil }
      return call
    }
    bench.run(.seconds(2))
    #expect(questions(to: Bench.phone, bench) == 1)
    #expect(bench.replies[calls[1]]?.error?.name == "org.bluez.Error.AuthenticationFailed")
    agree(&bench)
    #expect(bench.answer(calls[0])?.isSuccess == true)
  }
}
