import BlueZ
import BlueZBus
import BlueZModel
import BlueZSimulator
import BluetoothTypes
import BusTesting
import BusValue
import Foundation
import Logging
import SystemBus
import Testing
import Timekeeping

@Suite struct OverTheBus {
  private static let service = BluetoothUUID("5f1a0001-3c0c-4d6a-9a42-1c6f3d8e7b10")!

  @Test(
    "H4: org.bluez is on every machine's bus, leaves it when bluetoothd ends, and comes back", .timeLimit(.minutes(20)))
  func restarts() async throws {
    let stage = try await Stage(["door", "phone"])
    let (client, messages) = try stage.client(on: "phone")
    defer { client.close() }
    guard case .appeared(let objects) = try await messages.next() else {
      Issue.record("bluetoothd was not there")
      return
    }
    #expect(objects[WellKnown.firstAdapter]?[InterfaceName.adapter]?["Alias"] == .string("phone"))
    /// The next message that is not a signal: bluetoothd appears and disappears object by object.
    func nextThatIsNoSignal() async throws -> DaemonMessage {
      while true {
        let message = try await messages.next()
        if case .signal = message { continue }
        return message
      }
    }
    for killed in [true, false] {
      #expect(try await stage.obey(.restartBluetoothd(machine: "phone", killed: killed)).error == nil)
      #expect(try await nextThatIsNoSignal() == .vanished)
      guard case .appeared = try await nextThatIsNoSignal() else {
        Issue.record("bluetoothd did not come back")
        return
      }
    }
  }

  @Test("A4: a client that calls as soon as a new bluetoothd has its name finds everything", .timeLimit(.minutes(20)))
  func isWholeFromTheFirst() async throws {
    let stage = try await Stage(["phone"])
    let (client, messages) = try stage.client(on: "phone")
    defer { client.close() }
    for round in 0...60 {
      if round > 0 { #expect(try await stage.obey(.restartBluetoothd(machine: "phone", killed: true)).error == nil) }
      while true {
        guard case .appeared(let objects) = try await messages.next() else { continue }
        #expect(objects[WellKnown.managerPath]?[InterfaceName.agentManager] != nil, "round \(round)")
        #expect(objects[WellKnown.firstAdapter]?[InterfaceName.gattManager] != nil, "round \(round)")
        break
      }
    }
  }

  @Test("H4: over two buses one machine finds, connects and reads another", .timeLimit(.minutes(20)))
  func reads() async throws {
    let stage = try await Stage(["door", "phone"])
    let (door, doorMessages) = try stage.client(on: "door")
    let (phone, phoneMessages) = try stage.client(on: "phone")
    defer {
      door.close()
      phone.close()
    }
    _ = try await doorMessages.next()
    _ = try await phoneMessages.next()
    let service = ObjectPath(unchecked: "/app/service")
    let value = service.appending("value")
    door.send(
      .call(
        CallIdentifier(1), path: WellKnown.firstAdapter,
        .registerApplication(
          root: ObjectPath(unchecked: "/app"),
          objects: [
            service: [
              InterfaceName.gattService: ["UUID": .string(Self.service.description), "Primary": .bool(true)]
            ],
            value: [
              InterfaceName.gattCharacteristic: [
                "UUID": .string(Self.service.description), "Service": .path(service), "Flags": .strings(["read"]),
              ]
            ],
          ])))
    door.send(
      .call(
        CallIdentifier(2), path: WellKnown.firstAdapter,
        .registerAdvertisement(
          path: ObjectPath(unchecked: "/advertisement"),
          properties: ["Type": .string("peripheral"), "ServiceUUIDs": .strings([Self.service.description])])))
    for call in [CallIdentifier(1), CallIdentifier(2)] {
      while true {
        guard case .reply(call, let result) = try await doorMessages.next() else { continue }
        #expect(result == .success(.none))
        break
      }
    }
    phone.send(.call(CallIdentifier(1), path: WellKnown.firstAdapter, .startDiscovery))
    var found: (device: ObjectPath, value: ObjectPath?)?
    var isResolved = false
    while !isResolved || found?.value == nil {
      switch try await phoneMessages.next() {
      case .signal(.interfacesAdded(let path, let interfaces)):
        if interfaces[InterfaceName.device] != nil, found == nil {
          found = (path, nil)
          phone.send(.call(CallIdentifier(2), path: path, .connect))
        }
        if interfaces[InterfaceName.gattCharacteristic]?["UUID"]?.stringValue == Self.service.description {
          found?.value = path
        }
      case .signal(.propertiesChanged(_, _, let changed, _)):
        if changed["ServicesResolved"] == .bool(true) { isResolved = true }
      case .reply(_, .failure(let error)):
        Issue.record("\(error)")
        return
      default: break
      }
    }
    let path = try #require(found?.value)
    phone.send(.call(CallIdentifier(3), path: path, .readValue(offset: 0)))
    while true {
      guard case .reply(CallIdentifier(3), let result) = try await phoneMessages.next() else { continue }
      #expect(result == .success(.bytes([42])))
      break
    }
  }

  @Test("H4: an invalid command gets an error with the reason", .timeLimit(.minutes(20)))
  func badCommands() async throws {
    let stage = try await Stage(["door"])
    #expect(try await stage.obey(.boot(machine: "attic")).error == "there is no machine attic")
    #expect(try await stage.obey(.move(machine: "door", x: .nan, y: 0)).error != nil)
    for (x, seconds) in [(.nan, 45), (1, 0), (1, -1), (1, .nan), (1, .infinity), (2e7, 45), (1, 4e9)] {
      #expect(try await stage.obey(.walk(machine: "door", x: x, y: 0, seconds: seconds)).error != nil)
    }
    #expect(try await stage.obey(.hear(machine: "door", input: .notificationForUnknownHandle)).error != nil)
    #expect(try await stage.obey(.hear(machine: "door", input: .malformedAdvertisement)).error == nil)
  }

  @Test("H4: a machine that ends leaves its bus, and boots on it again", .timeLimit(.minutes(20)))
  func reboots() async throws {
    let stage = try await Stage(["door"])
    let (client, messages) = try stage.client(on: "door")
    defer { client.close() }
    _ = try await messages.next()
    #expect(try await stage.obey(.shutDown(machine: "door")).error == nil)
    #expect(try await messages.next() == .vanished)
    #expect(try await stage.obey(.boot(machine: "door")).error == nil)
    guard case .appeared = try await messages.next() else {
      Issue.record("it did not boot")
      return
    }
  }

  @Test("H4: a thousand devices met earlier are there when bluetoothd starts", .timeLimit(.minutes(20)))
  func remembers() async throws {
    let stage = try await Stage(["phone"])
    let devices = (0..<1000).map {
      RememberedDevice(address: DeviceAddress(bits: 0x001B_DC00_0000 + $0, kind: .public), service: Self.service)
    }
    let remember = SimulatorCommand.remember(machine: "phone", devices: devices)
    #expect(try await stage.obey(remember).error?.contains("bluetoothd runs") == true)
    #expect(try await stage.obey(.stopBluetoothd(machine: "phone", killed: false)).error == nil)
    #expect(try await stage.obey(remember).error == nil)
    #expect(try await stage.obey(remember).error?.contains("address of its own") == true)
    #expect(try await stage.obey(.startBluetoothd(machine: "phone")).error == nil)
    let (client, messages) = try stage.client(on: "phone")
    defer { client.close() }
    guard case .appeared(let objects) = try await messages.next() else {
      Issue.record("bluetoothd was not there")
      return
    }
    let found = objects.values.compactMap { $0[InterfaceName.device] }
    #expect(found.count == 1000)
    #expect(Set(found.compactMap { $0["Address"]?.stringValue }) == Set(devices.map { "\($0.address)" }))
    #expect(
      found.allSatisfy {
        $0["Bonded"] == .bool(true) && $0["Connected"] == .bool(false)
          && $0["UUIDs"] == .strings([Self.service.description])
      })
  }

  @Test("H4: a machine without a bus is named")
  func noBus() async throws {
    let simulator = BlueZSimulator(
      machines: [SimulatorMachine(name: "door", busAddress: "unix:path=/nowhere/bus")], seed: 1,
      time: ManualClock(), logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }), onLine: { _ in })
    do {
      try await simulator.run()
      Issue.record("it ran")
    } catch {
      #expect("\(error)".hasPrefix("door: no bus at unix:path=/nowhere/bus"))
    }
  }
}

@Suite struct Lines {
  @Test(
    "H1: commands and lines are JSON that survives",
    arguments: [
      SimulatorCommand.move(machine: "phone", x: 1.5, y: -2),
      .walk(machine: "phone", x: 1.5, y: -2, seconds: 45), .shield(machine: "phone", isOn: true),
      .plug(machine: "phone", isOn: false), .power(machine: "phone", isOn: false), .block(machine: "phone", isOn: true),
      .restartBluetoothd(machine: "phone", killed: true), .shutDown(machine: "phone"), .cutPower(machine: "phone"),
      .boot(machine: "phone"), .forgetPairings(machine: "phone"),
      .hear(machine: "phone", input: .malformedAdvertisement),
      .remember(
        machine: "phone",
        devices: [
          RememberedDevice(address: DeviceAddress(bits: 7, kind: .public), service: BluetoothUUID(UInt16(0x180F)))
        ]),
    ])
  func commands(command: SimulatorCommand) throws {
    let request = SimulatorRequest(id: 7, command: command)
    let text = try JSONEncoder().encode(request)
    #expect(try JSONDecoder().decode(SimulatorRequest.self, from: text) == request)
    for line in [
      SimulatorLine.ready, .reply(SimulatorReply(id: 7, error: nil)), .reply(SimulatorReply(id: 7, error: "no")),
      .event(.linkUp(central: "a", peripheral: "b", link: 3)),
    ] {
      #expect(try JSONDecoder().decode(SimulatorLine.self, from: JSONEncoder().encode(line)) == line)
    }
  }
}
