import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import Testing
import TimeTypes

@testable import BluetoothSystem

/// What an app, or any device on the air, may cost the others.
@Suite("Limits")
struct LimitTests {
  private static let offer = LocalAttributeIdentifier(
    UUID(uuid: (1, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1)))
  private static let command = LocalAttributeIdentifier(
    UUID(uuid: (1, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 2)))

  private static func definition(_ properties: CharacteristicProperties = [.write, .writeWithoutResponse])
    -> ServiceDefinition
  {
    ServiceDefinition(
      identifier: LocalAttributeIdentifier(UUID()), uuid: Desk.service,
      characteristics: [
        CharacteristicDefinition(
          identifier: offer, uuid: Desk.characteristic, properties: [.read, .notify], permissions: [.readable]),
        CharacteristicDefinition(
          identifier: command, uuid: Desk.characteristic, properties: properties, permissions: [.writeable]),
      ])
  }

  /// Publishes one service, with a linked central.
  private func serving(_ properties: CharacteristicProperties = [.write, .writeWithoutResponse]) throws -> (
    desk: Desk, offer: ObjectPath, command: ObjectPath
  ) {
    var desk = Desk()
    desk.appear(bonded: false, connected: true)
    desk.open()
    desk.say(.createManager(Desk.central, ManagerCreation(role: .peripheral, restoreIdentifier: "door")))
    desk.say(.peripheral(Desk.central, .addService(Self.definition(properties))))
    desk.settle()
    let service = try #require(desk.system.publishing.services.values.first)
    return (desk, try #require(service.paths[Self.offer]), try #require(service.paths[Self.command]))
  }

  private func write(_ desk: inout Desk, _ path: ObjectPath, _ number: Int, _ kind: WriteOptions.Kind?) {
    let request = RemoteRequest(device: Desk.devicePath, mtu: 517, kind: kind)
    desk.handle(
      .daemon(
        .callback(
          CallbackIdentifier(UInt64(number)), path: path, .writeValue([UInt8](repeating: 7, count: 512), request))))
  }

  private func queued(_ desk: Desk) -> Int { desk.system.apps[Desk.bundle]?.queue.count ?? 0 }

  // MARK: Apps

  @Test("H2: an attachment that claims to have heard events beyond counting is refused, and nothing overflows")
  func lastEventAtTheEdge() {
    for claimed: UInt64 in [.max, .max - 1, .max - 1000, 1 << 63, (1 << 62) + 1] {
      var desk = Desk()
      desk.appear()
      desk.handle(.control(.openApp(bundleIdentifier: Desk.bundle), AnswerToken(0)))
      desk.launchAndAttach(lastEvent: EventSequence(claimed))
      desk.createCentral()
      desk.createCentral()
      #expect(desk.events.isEmpty)
      let refusals = desk.effects.count {
        if case .attachReply(_, .failure(let error)) = $0 { error.code == .invalidArguments } else { false }
      }
      #expect(refusals == 1)
      desk.forget()
      desk.attach()
      desk.createCentral()
      #expect(desk.bodies == ["stateChanged"])
    }
  }

  @Test("L3: the record of a request that its app makes for later says from when on it counts")
  func delayIsRecorded() {
    for (delay, recorded) in [(0, nil), (90, "90000"), (0.0004, nil), (1e300, "86400000")] as [(Double, String?)] {
      var desk = Desk()
      desk.appear()
      desk.open()
      desk.createCentral()
      desk.say(.central(Desk.central, .connect(desk.peer, ConnectOptions(startDelaySeconds: delay))))
      let fields = desk.effects.compactMap { if case .record(.requestHeld, let fields) = $0 { fields } else { nil } }
      #expect(fields.map { $0[.milliseconds] } == [recorded])
    }
  }

  @Test("H2: a delay that is not a number counts as none, and is stored as none")
  func delaysAtTheEdge() {
    for delay in [Double.nan, .infinity, -.infinity, -1, 1e300] {
      var desk = Desk()
      desk.appear()
      desk.open()
      desk.createCentral()
      desk.say(.central(Desk.central, .connect(desk.peer, ConnectOptions(startDelaySeconds: delay))))
      let stored = desk.stored.records.values.compactMap { record -> Double? in
        if case .peripheral(let peripheral) = record { peripheral.options.startDelaySeconds } else { nil }
      }
      #expect(stored == [delay == 1e300 ? 86400 : 0])
      desk.forget()
      desk.pass(.seconds(86401))
      desk.linkUp()
      #expect(desk.bodies.contains("connected"))
    }
  }

  @Test("M7: as many reads of the signal strength as an app likes are a few questions, and each is answered")
  func signalStrengthFlood() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.answersCalls = false
    desk.forget()
    for number in 0..<20_000 {
      desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(UInt64(1000 + number)), .readRSSI)))
      if number.isMultiple(of: 500) { desk.settle() }
    }
    #expect(desk.asked { $0 == .readConnectionRSSI } == 1)
    var answered = 0
    desk.settle()
    while let call = desk.lastCall(.readConnectionRSSI) {
      answered += desk.bodies.count { $0 == "operationCompleted" }
      desk.forget()
      desk.handle(.daemon(.reply(call, .success(.rssi(-40)))))
    }
    answered += desk.bodies.count { $0 == "operationCompleted" }
    #expect(answered == 20_000)
  }

  @Test("M7: an unanswered reading of the signal strength is given up")
  func signalStrengthUnanswered() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.answersCalls = false
    desk.forget()
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(9), .readRSSI)))
    desk.pass(.seconds(60))
    #expect(desk.bodies.contains("operationCompleted"))
  }

  @Test("L12: values that are pushed without credit go nowhere")
  func valuesWithoutCredit() throws {
    var (desk, _, _) = try serving()
    desk.forget()
    for _ in 0..<10_000 {
      desk.say(.peripheral(Desk.central, .updateValue(Self.offer, value: [1], centrals: nil)))
    }
    let sent = desk.effects.count { if case .bluez(.valueChanged) = $0 { true } else { false } }
    #expect(sent <= 64)
    // An app that waits for its credit makes progress, at a thousand values a second at most.
    desk.forget()
    desk.pass(.seconds(1))
    #expect(desk.bodies.contains("updateCredit"))
  }

  @Test("S14: two services of one app, or of two, can't share an attribute's identifier")
  func sharedIdentifiers() throws {
    var (desk, _, _) = try serving()
    desk.forget()
    desk.say(.peripheral(Desk.central, .addService(Self.definition())))
    let errors = desk.events.compactMap { event -> PeerError? in
      if case .serviceAdded(_, let error) = event.body { error } else { nil }
    }
    #expect(errors.count == 1)
  }

  // MARK: The air

  @Test("M6: write commands for an app that can't be started take bounded room")
  func commandsForTheDead() throws {
    var (desk, _, path) = try serving()
    desk.die()
    desk.handle(.appLaunchFailed(Desk.bundle, "no such program"))
    for number in 0..<20_000 {
      write(&desk, path, number, .command)
      if number.isMultiple(of: 100) { desk.handle(.appLaunchFailed(Desk.bundle, "no such program")) }
      desk.forget()
    }
    #expect(queued(desk) <= 256)
  }

  @Test(
    "C6: writes where commands are allowed are open for nobody: bluetoothd waits for no answer, and does not say which")
  func withoutAnswer() throws {
    var (desk, _, path) = try serving()
    desk.forget()
    for number in 0..<100 { write(&desk, path, number, nil) }
    #expect(desk.bodies.count { $0 == "writeRequested" } == 100)
    #expect(desk.system.remoteRequests.count == 0)
    desk.pass(.seconds(60))
    #expect(!desk.bodies.contains("requestExpired"))
  }

  @Test("M6: a command to what takes no commands is refused")
  func commandNotTaken() throws {
    var (desk, _, path) = try serving([.write])
    desk.forget()
    write(&desk, path, 1, .command)
    #expect(!desk.bodies.contains("writeRequested"))
  }

  @Test("M6: a peripheral that flaps for days tells a suspended app how it stands now, in bounded room")
  func flapping() {
    var desk = Desk(modes: [])
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.say(.central(Desk.central, .connect(desk.peer, ConnectOptions(enableAutoReconnect: true))))
    desk.linkUp()
    desk.leave()
    desk.settle()
    desk.pass(.seconds(10))
    #expect(desk.state == .suspended)
    desk.forget()
    for _ in 0..<5000 {
      desk.linkDown()
      desk.pass(.seconds(10))
      desk.linkUp()
      desk.pass(.seconds(10))
      desk.forget()
    }
    #expect(queued(desk) <= 1000)
    desk.linkDown()
    desk.handle(.control(.openApp(bundleIdentifier: Desk.bundle), AnswerToken(0)))
    // Each event contradicts the one before it, and the last gives the present state.
    let states = desk.bodies.filter { $0 == "connected" || $0 == "disconnected" }
    #expect(zip(states, states.dropFirst()).allSatisfy { $0 != $1 })
    #expect(states.first == "disconnected")
    #expect(states.last == "disconnected")
  }

  @Test(
    "M8: tens of thousands of addresses in passing leave nothing behind, and those that matter keep their identifiers")
  func manyAddresses() {
    var desk = Desk()
    desk.appear()
    desk.open()
    desk.createCentral()
    let peer = desk.peer
    desk.say(.central(Desk.central, .connect(peer, ConnectOptions())))
    for number in 0..<40_000 {
      let address = DeviceAddress(bits: UInt64(number), kind: .random)
      let path = WellKnown.firstAdapter.appending("dev_\(number)")
      desk.handle(
        .daemon(
          .signal(
            .interfacesAdded(
              path: path,
              [
                InterfaceName.device: [
                  "Address": .string(address.description), "AddressType": .string("random"), "RSSI": .int16(-60),
                ]
              ]))))
      desk.handle(.daemon(.signal(.interfacesRemoved(path: path, [InterfaceName.device]))))
      if number.isMultiple(of: 1000) { desk.forget() }
    }
    #expect(desk.system.identifiers.count <= 20_000)
    #expect(desk.peer == peer)
    #expect(desk.system.bluez.devices.count == 1)
  }

  @Test("L13: values that arrive while a read is under way take bounded room")
  func valuesDuringARead() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.settle()
    desk.answersCalls = false
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(9), .readCharacteristic(0x0b))))
    desk.forget()
    for number in 0..<10_000 {
      desk.value([UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)])
    }
    #expect(desk.system.operations.values.allSatisfy { $0.heldCount <= 64 })
  }

  // MARK: Time

  @Test("A2: an operation that is tried again and fails at once leaves no alarm in the past")
  func retryThatFailsAtOnce() throws {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.answersCalls = false
    desk.forget()
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(9), .readCharacteristic(0x0b))))
    let call = try #require(desk.lastCall(.readValue(offset: 0)))
    // Two operations wait. The attribute is gone when the first is tried again.
    desk.say(.central(Desk.central, .perform(desk.peer, OperationIdentifier(10), .readCharacteristic(0x0b))))
    desk.handle(.daemon(.reply(call, .failure(.inProgress))))
    desk.handle(
      .daemon(.signal(.interfacesRemoved(path: Desk.characteristicPath, [InterfaceName.gattCharacteristic]))))
    desk.now += .milliseconds(200)
    desk.change(["ServicesResolved": .bool(false)])
    desk.handle(.timePassed)
    #expect(desk.system.nextDeadline.map { $0 > desk.now } ?? true)
  }

  @Test("A2: a peripheral that lacks services and goes away for good leaves no alarm in the past")
  func missingServicesOfTheGone() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.handle(.daemon(.signal(.interfacesRemoved(path: Desk.servicePath, [InterfaceName.gattService]))))
    desk.handle(.daemon(.signal(.interfacesRemoved(path: Desk.devicePath, [InterfaceName.device]))))
    desk.now += .seconds(10)
    desk.handle(.timePassed)
    #expect(desk.system.nextDeadline.map { $0 > desk.now } ?? true)
  }

  @Test("M9: an app in the foreground that a restarted system never hears of is ended, and started again")
  func foregroundWithoutALink() {
    var desk = Desk(keepAlive: true)
    desk.appear()
    desk.launchAndAttach()
    desk.createCentral()
    #expect(desk.state == .foreground)
    desk.restartSystem()
    desk.appear()
    desk.forget()
    desk.pass(.seconds(29))
    #expect(!desk.effects.contains { if case .kill = $0 { true } else { false } })
    desk.pass(.seconds(2))
    #expect(desk.effects.contains { if case .kill = $0 { true } else { false } })
    desk.handle(.appEnded(Desk.bundle, desk.process, how: "signal 9"))
    #expect(desk.launches.count == 1)
  }

  @Test("F1: an app without a background mode is suspended even if it continues to send requests")
  func chattyWithoutAMode() {
    var desk = Desk(modes: [])
    desk.appear()
    desk.open()
    desk.createCentral()
    desk.leave()
    for _ in 0..<20 {
      desk.pass(.seconds(1))
      desk.say(.central(Desk.central, .stopScan))
    }
    #expect(desk.state == .suspended)
  }

  @Test("M9: an app that takes no events is sent no more than so many")
  func eventsNobodyTakes() {
    var desk = Desk()
    desk.connectAndSubscribe()
    desk.settle()
    desk.forget()
    for number in 0..<20_000 { desk.value([UInt8(truncatingIfNeeded: number)]) }
    #expect(desk.events.count <= 1024)
    #expect(queued(desk) <= 1000)
    desk.settle()
    desk.forget()
    desk.settle()
    #expect(desk.lastSequence > 1024)
  }
}

@Suite("Peers' identifiers")
struct PeerDirectoryTests {
  @Test("L9: SipHash gives what its authors' test vectors give")
  func testVectors() {
    let key: (UInt64, UInt64) = (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)
    func hex(_ hash: (UInt64, UInt64)) -> String {
      var text = ""
      for word in [hash.0, hash.1] {
        for index in 0..<8 {
          let byte = UInt8(truncatingIfNeeded: word >> UInt64(8 * index))
          text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
      }
      return text
    }
    #expect(hex(SipHash.hash([], key: key)) == "a3817f04ba25a8e66df67214c7550293")
    #expect(hex(SipHash.hash([0], key: key)) == "da87c1d86b99af44347659119b22fc45")
  }

  @Test("L9: one address and its identifier do not tell those of others")
  func notInvertible() {
    var desk = Desk()
    desk.appear()
    let peer = desk.peer
    let bytes = withUnsafeBytes(of: peer.rawValue.uuid) { Array($0) }
    // The identifier in an earlier version: apart from the fixed bits, its second half was a mix of the salt and the
    // address, which anyone can reverse.
    let low = bytes[8...].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let salt = desk.system.settings.salt
    let mixed = SplitMix64.mix(salt ^ Desk.address.bits ^ 1 << 60)
    #expect(low & ~0xFF != mixed & ~0xFF)
  }
}
