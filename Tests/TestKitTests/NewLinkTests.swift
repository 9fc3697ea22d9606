import CoreBluetoothTestKit
import Foundation
import Testing

@Suite("A new link", .timeLimit(.minutes(20)))
struct NewLinkTests {
  private static let app = "org.example.watcher"

  /// A home in which the app is subscribed.
  private func subscribed(
    isBonded: Bool = false, identifier: String? = nil, _ prepare: @escaping @Sendable (Probe) -> Void = { _ in }
  ) async -> (SimulatedHome, SimulatedPeripheral) {
    let home = SimulatedHome(seed: 7)
    let sensor = home.addPeripheral(
      "sensor",
      services: [
        SimulatedService(
          "FFE0",
          [
            SimulatedCharacteristic("FFE1", [.notify], requiresEncryption: isBonded),
            SimulatedCharacteristic("FFE2", [.read], value: Data([1]), descriptors: [.init(userDescription: "two")]),
          ])
      ])
    home.addMachine("phone", x: 2)
    home.install(Self.app, on: "phone", backgroundModes: ["bluetooth-central"]) { _ in
      Probe("FFE0", identifier: identifier, prepare)
    }
    home.open(Self.app)
    await home.nextCall("didUpdateNotificationStateFor", to: Self.app, within: .seconds(60))
    return (home, sensor)
  }

  private func probe(_ home: SimulatedHome) throws -> Probe { try #require(home.app(Self.app) as? Probe) }

  private func loseLink(_ home: SimulatedHome) async {
    home.move("sensor", x: 1000)
    await home.nextCall("didDisconnectPeripheral", to: Self.app, within: .seconds(60))
    home.move("sensor", x: 0)
  }

  @Test("C4: after a lost link an app finds no services until it discovers them, and is told values again")
  func loss() async throws {
    let (home, sensor) = await subscribed { probe in
      probe.whenDisconnected = { probe, peripheral in
        probe.note("\(peripheral.services?.count ?? -1)")
        probe.central?.connect(peripheral)
      }
    }
    for round in UInt8(1)...2 {
      await loseLink(home)
      await home.nextCall("didUpdateNotificationStateFor", to: Self.app, within: .seconds(60))
      sensor.setValue(Data([round]), of: "FFE1")
      let value = await home.nextCall("didUpdateValueFor", to: Self.app, within: .seconds(10))
      #expect(value?.value == Data([round]), "\(home.transcript(of: Self.app))")
    }
    #expect(try probe(home).notes == ["-1", "-1"])
  }

  @Test("C3: a peripheral without a bond is back after a day, beside others, and is connected within a second")
  func backAmongOthers() async {
    let (home, _) = await subscribed { probe in
      probe.whenDisconnected = { probe, peripheral in probe.central?.connect(peripheral) }
    }
    home.move("sensor", x: 1000)
    await home.nextCall("didDisconnectPeripheral", to: Self.app, within: .seconds(60))
    for name in ["lamp", "scales"] {
      let services = [SimulatedService("FFF0", [SimulatedCharacteristic("FFF1", [.read])])]
      _ = home.addPeripheral(name, x: 3, services: services)
    }
    await home.advance(by: .seconds(86_400))
    home.move("sensor", x: 0)
    let call = await home.nextCall("didConnect", to: Self.app, within: .seconds(1))
    #expect(call != nil, "\(home.transcript(of: Self.app))")
  }

  @Test("C4: after a cancelled connection an app finds no services until it discovers them")
  func cancellation() async throws {
    let (home, sensor) = await subscribed()
    let probe = try probe(home)
    home.run { probe.peripheral.map { probe.central?.cancelPeripheralConnection($0) } }
    await home.nextCall("didUpdateNotificationStateFor", to: Self.app, within: .seconds(60))
    sensor.setValue(Data([8]), of: "FFE1")
    let value = await home.nextCall("didUpdateValueFor", to: Self.app, within: .seconds(10))
    #expect(value?.value == Data([8]), "\(home.transcript(of: Self.app))")
  }

  @Test("C5: a characteristic that an app has kept notifies no more when the link is lost")
  func notNotifying() async throws {
    let (home, _) = await subscribed { probe in
      probe.whenDisconnected = { probe, _ in probe.note("\(probe.kept.values.contains(where: \.isNotifying))") }
    }
    #expect(try probe(home).kept.values.contains(where: \.isNotifying))
    await loseLink(home)
    #expect(try probe(home).notes == ["false"])
  }

  @Test("S4: with a bond the subscription goes on, with the characteristic that the app had")
  func bonded() async throws {
    let (home, sensor) = await subscribed(isBonded: true) { probe in
      probe.whenConnected = { probe, peripheral in
        guard let services = peripheral.services else { return peripheral.discoverServices(nil) }
        let found = services.flatMap { $0.characteristics ?? [] }.first { $0.uuid == CBUUID(string: "FFE1") }
        probe.note("\(found === probe.kept[CBUUID(string: "FFE1")]) \(found?.isNotifying ?? false)")
      }
    }
    await loseLink(home)
    await home.nextCall("didConnect", to: Self.app, within: .seconds(60))
    await home.advance(by: .seconds(10))
    sensor.setValue(Data([8]), of: "FFE1")
    let value = await home.nextCall("didUpdateValueFor", to: Self.app, within: .seconds(10))
    #expect(value?.value == Data([8]), "\(home.transcript(of: Self.app))")
    #expect(try probe(home).notes == ["true true"])
  }

  @Test("S12: a process to which the services were restored has them on the link that comes next")
  func restored() async throws {
    let (home, _) = await subscribed(identifier: "watcher") { probe in
      let count: @Sendable (CBPeripheral?) -> Int = { peripheral in
        peripheral?.services?.first { $0.uuid == CBUUID(string: "FFE0") }?.characteristics?.count ?? -1
      }
      probe.whenRestored = { probe, _, _ in probe.note("restored \(count(probe.peripheral))") }
      probe.whenConnected = { probe, peripheral in
        probe.note("connected \(count(peripheral))")
        if peripheral.services == nil { peripheral.discoverServices(nil) }
      }
    }
    home.move("sensor", x: 1000)
    await home.nextCall("didDisconnectPeripheral", to: Self.app, within: .seconds(60))
    home.kill(Self.app)
    home.move("sensor", x: 0)
    await home.nextCall("didConnect", to: Self.app, within: .seconds(120))
    #expect(try probe(home).notes == ["restored 2", "connected 2"], "\(home.transcript(of: Self.app))")
  }

  @Test("S4: values come after a loss in which the system was away, bonded or not", arguments: [false, true])
  func systemAway(isBonded: Bool) async throws {
    let (home, sensor) = await subscribed(isBonded: isBonded)
    home.move("sensor", x: 1000)
    await home.nextCall("didDisconnectPeripheral", to: Self.app, within: .seconds(60))
    home.restartSystem("phone")
    await home.advance(by: .seconds(5))
    home.move("sensor", x: 0)
    await home.nextCall("didConnect", to: Self.app, within: .seconds(60))
    await home.advance(by: .seconds(10))
    // And once more while it is connected.
    home.restartSystem("phone")
    await home.advance(by: .seconds(5))
    sensor.setValue(Data([8]), of: "FFE1")
    let value = await home.nextCall("didUpdateValueFor", to: Self.app, within: .seconds(10))
    #expect(value?.value == Data([8]), "\(home.transcript(of: Self.app))")
  }

  @Test("C4: what an ended connection had is not there for an app's next process, to which it was not restored")
  func notRestored() async throws {
    let (home, _) = await subscribed(identifier: "watcher") { probe in
      probe.whenDisconnected = { _, _ in }
      probe.whenConnected = { probe, peripheral in
        probe.note("\(peripheral.services?.count ?? -1)")
        if peripheral.services == nil { peripheral.discoverServices(nil) }
      }
    }
    let probe = try probe(home)
    home.run { probe.peripheral.map { probe.central?.cancelPeripheralConnection($0) } }
    await home.nextCall("didDisconnectPeripheral", to: Self.app, within: .seconds(60))
    await home.advance(by: .seconds(5))
    home.kill(Self.app)
    home.open(Self.app)
    await home.nextCall("didUpdateNotificationStateFor", to: Self.app, within: .seconds(60))
    #expect(try self.probe(home).notes == ["-1"], "\(home.transcript(of: Self.app))")
  }

  @Test("C5: a characteristic kept from an earlier link is answered, also when its service is gone")
  func keptCharacteristic() async throws {
    let (home, sensor) = await subscribed { probe in probe.whenConnected = { $1.discoverServices(nil) } }
    await loseLink(home)
    await home.nextCall("didUpdateNotificationStateFor", to: Self.app, within: .seconds(60))
    let probe = try probe(home)
    let kept = try #require(probe.kept[CBUUID(string: "FFE2")])
    func answer(_ ask: (CBPeripheral) -> Void) async throws -> SimulatedDelegateCall {
      let count = home.calls(to: Self.app).count
      let peripheral = try #require(probe.peripheral)
      home.run { ask(peripheral) }
      #expect(await home.advance(by: .seconds(60)) { home.calls(to: Self.app).count > count })
      return try #require(home.calls(to: Self.app).dropFirst(count).first)
    }
    let read = try await answer { $0.readValue(for: kept) }
    #expect(read.method == "didUpdateValueFor" && read.value == Data([1]), "\(home.transcript(of: Self.app))")
    let discovered = try await answer { $0.discoverDescriptors(for: kept) }
    #expect(discovered.method == "didDiscoverDescriptorsFor" && discovered.error == nil)

    sensor.setServices([SimulatedService("FFD0", [SimulatedCharacteristic("FFD1", [.read])])])
    await home.nextCall("didModifyServices", to: Self.app, within: .seconds(60))
    await home.advance(by: .seconds(5))
    let late = try await answer { $0.readValue(for: kept) }
    #expect(late.method == "didUpdateValueFor" && (late.error as? CBATTError)?.code == .invalidHandle)
  }
}
