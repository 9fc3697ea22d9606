import AppLink
import BluetoothTypes
import CoreBluetoothTestKit
import Foundation
import Testing

@Suite("Operations on a peripheral", .timeLimit(.minutes(20)))
struct PeripheralOperationTests {
  @Test("C4: services, characteristics and descriptors appear as they are discovered, and keep their objects")
  func discovery() async throws {
    let setup = try await CentralSetup()
    setup.system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    let peripheral = setup.manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
    peripheral.delegate = setup.recorder
    setup.manager.connect(peripheral)
    _ = try await setup.nextCommand()
    setup.system.emit(.connected(PeripheralSnapshot(identifier: Example.lock, state: .connected)))
    #expect(try await setup.recorder.calls.next() == "didConnect")
    #expect(peripheral.services == nil)

    peripheral.discoverServices([CBUUID(string: "180F")])
    let (first, operation) = try #require(try await setup.nextOperation())
    #expect(operation == .discoverServices([Example.service]))
    setup.complete(first, .services([ServiceSnapshot(handle: 1, uuid: Example.service)]))
    #expect(try await setup.recorder.calls.next() == "didDiscoverServices")
    let service = try #require(peripheral.services?.first)
    #expect(service.peripheral === peripheral)
    #expect(service.characteristics == nil)

    peripheral.discoverCharacteristics(nil, for: service)
    let (second, _) = try #require(try await setup.nextOperation())
    let characteristics = try #require(Example.explored().services?[0].characteristics)
    var bare = characteristics
    bare[0].descriptors = nil
    setup.complete(second, .characteristics(of: 1, bare))
    #expect(try await setup.recorder.calls.next() == "didDiscoverCharacteristics 180F")
    let characteristic = try #require(service.characteristics?.first)
    #expect(characteristic.properties == [.read, .write, .writeWithoutResponse, .notify])
    #expect(characteristic.descriptors == nil)

    peripheral.discoverDescriptors(for: characteristic)
    let (third, _) = try #require(try await setup.nextOperation())
    setup.complete(third, .descriptors(of: 3, [DescriptorSnapshot(handle: 5, uuid: BluetoothUUID(0x2901 as UInt16))]))
    #expect(try await setup.recorder.calls.next() == "didDiscoverDescriptors")
    let descriptor = try #require(characteristic.descriptors?.first)
    peripheral.readValue(for: descriptor)
    let (fourth, _) = try #require(try await setup.nextOperation())
    setup.complete(fourth, .value(Array("Bolt".utf8)))
    #expect(try await setup.recorder.calls.next() == "descriptor Bolt")
    #expect(descriptor.value as? String == "Bolt")

    setup.system.emit(.disconnected(Example.lock, error: nil, unixSeconds: 0, isReconnecting: true))
    #expect(try await setup.recorder.calls.next() == "didDisconnect")
    #expect(peripheral.services == nil)
    // What a new link goes on with, because the app is subscribed.
    setup.system.emit(.connected(Example.explored(isNotifying: true)))
    #expect(try await setup.recorder.calls.next() == "didConnect")
    #expect(peripheral.services?.first === service)
    #expect(service.characteristics?.first === characteristic)
  }

  @Test("C4: a secondary service is found through the service that includes it, also after the next connection")
  func secondaryService() async throws {
    let inner = ServiceSnapshot(
      handle: 20, uuid: BluetoothUUID(0x1234 as UInt16), isPrimary: false,
      characteristics: [
        CharacteristicSnapshot(
          handle: 22, uuid: BluetoothUUID(0x2A01 as UInt16), properties: .notify, isNotifying: true)
      ])
    var explored = Example.explored()
    explored.services?[0].includedServices = [20]
    explored.services?.append(inner)
    let setup = try await CentralSetup()
    let peripheral = try await setup.connect(explored)
    let service = try #require(peripheral.services?.first)
    #expect(peripheral.services?.map(\.uuid.uuidString) == ["180F"])
    #expect(service.includedServices?.map(\.uuid.uuidString) == ["1234"])
    let included = try #require(service.includedServices?.first)
    setup.system.emit(.valueUpdated(Example.lock, characteristic: 22, value: [9]))
    #expect(try await setup.recorder.calls.next() == "value [9]")

    // The system comes back and is told everything.
    setup.system.detach()
    setup.system.attach()
    guard case .resumeManager(_, _, let view) = try await setup.nextCommand() else {
      Issue.record("the manager was not resumed")
      return
    }
    #expect(view.peripherals.first?.services == explored.services)

    setup.system.emit(.disconnected(Example.lock, error: nil, unixSeconds: 0, isReconnecting: true))
    #expect(try await setup.recorder.calls.next() == "didDisconnect")
    setup.system.emit(.connected(explored))
    #expect(try await setup.recorder.calls.next() == "didConnect")
    #expect(peripheral.services?.count == 1)
    #expect(service.includedServices?.first === included)
    setup.system.emit(.servicesModified(Example.lock, invalidated: [20]))
    #expect(try await setup.recorder.calls.next() == "didModifyServices [\"1234\"]")
    #expect(service.includedServices?.isEmpty == true)
  }

  @Test("C5: a characteristic that an app has kept notifies no more when its service is gone")
  func goneService() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    peripheral.setNotifyValue(true, for: characteristic)
    let operation = try #require(try await setup.nextOperation()?.0)
    setup.system.emit(.operationCompleted(Example.lock, operation, .notifying(true)))
    _ = try await setup.recorder.calls.next()
    #expect(characteristic.isNotifying)
    setup.system.emit(.servicesModified(Example.lock, invalidated: [1]))
    _ = try await setup.recorder.calls.next()
    #expect(!characteristic.isNotifying)
  }

  @Test("C4: a discovery of an empty list looks for everything, as many apps write it")
  func emptyLists() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let service = try #require(peripheral.services?.first)
    peripheral.discoverServices([])
    #expect(try await setup.nextOperation()?.1 == .discoverServices(nil))
    peripheral.discoverCharacteristics([], for: service)
    #expect(try await setup.nextOperation()?.1 == .discoverCharacteristics(nil, service: 1))
    peripheral.discoverIncludedServices([], for: service)
    #expect(try await setup.nextOperation()?.1 == .discoverIncludedServices(nil, service: 1))
  }

  @Test("C5: read, write with response, subscribe, and values that are notified")
  func values() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    peripheral.readValue(for: characteristic)
    let (read, _) = try #require(try await setup.nextOperation())
    setup.complete(read, .value([42]))
    #expect(try await setup.recorder.calls.next() == "value [42]")

    peripheral.writeValue(Data([1, 2]), for: characteristic, type: .withResponse)
    let (write, operation) = try #require(try await setup.nextOperation())
    #expect(operation == .writeCharacteristic(3, value: [1, 2], withResponse: true))
    setup.complete(write, .failed(.att(.insufficientAuthentication)))
    #expect(try await setup.recorder.calls.next() == "didWrite failed")
    #expect((setup.recorder.error as? CBATTError)?.code == .insufficientAuthentication)

    peripheral.setNotifyValue(true, for: characteristic)
    let (subscribe, _) = try #require(try await setup.nextOperation())
    setup.complete(subscribe, .notifying(true))
    #expect(try await setup.recorder.calls.next() == "notifying true")
    setup.system.emit(.valueUpdated(Example.lock, characteristic: 3, value: [9]))
    #expect(try await setup.recorder.calls.next() == "value [9]")
    #expect(characteristic.value == Data([9]))

    peripheral.readRSSI()
    let (rssi, _) = try #require(try await setup.nextOperation())
    setup.complete(rssi, .rssi(-71))
    #expect(try await setup.recorder.calls.next() == "rssi -71")
  }

  @Test("C5: what the properties don't allow answers with an ATT error, and nothing is sent")
  func missingProperties() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let mute = try #require(peripheral.services?.first?.characteristics?.last)
    peripheral.readValue(for: mute)
    #expect(try await setup.recorder.calls.next() == "value [] failed")
    #expect((setup.recorder.error as? CBATTError)?.code == .readNotPermitted)
    peripheral.writeValue(Data([1]), for: mute, type: .withResponse)
    #expect(try await setup.recorder.calls.next() == "didWrite failed")
    #expect((setup.recorder.error as? CBATTError)?.code == .writeNotPermitted)
    peripheral.setNotifyValue(true, for: mute)
    #expect(try await setup.recorder.calls.next() == "notifying false failed")
    #expect((setup.recorder.error as? CBATTError)?.code == .requestNotSupported)
    let open = try #require(peripheral.services?.first?.characteristics?.first)
    peripheral.writeValue(Data(count: 513), for: open, type: .withResponse)
    #expect(try await setup.recorder.calls.next() == "didWrite failed")
    #expect((setup.recorder.error as? CBATTError)?.code == .invalidAttributeValueLength)
    #expect(!setup.system.requests.pending.contains { if case .central(_, .perform) = $0 { true } else { false } })
  }

  @Test("C5: what can't succeed is told after the answers to what the app asked of the characteristic before")
  func refusalsKeepTheirOrder() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let service = try #require(peripheral.services?.first)
    let open = try #require(service.characteristics?.first)
    let mute = try #require(service.characteristics?.last)
    peripheral.writeValue(Data([1]), for: open, type: .withResponse)
    peripheral.writeValue(Data(count: 513), for: open, type: .withResponse)
    peripheral.writeValue(Data([2]), for: open, type: .withResponse)
    peripheral.writeValue(Data(count: 514), for: open, type: .withResponse)
    // Another characteristic does not wait for this one.
    peripheral.readValue(for: mute)
    #expect(try await setup.recorder.calls.next() == "value [] failed")
    let (first, _) = try #require(try await setup.nextOperation())
    let (second, _) = try #require(try await setup.nextOperation())
    setup.complete(first, .done)
    setup.complete(second, .done)
    for expected in ["didWrite", "didWrite failed", "didWrite", "didWrite failed"] {
      #expect(try await setup.recorder.calls.next() == expected)
    }
    #expect((setup.recorder.error as? CBATTError)?.code == .invalidAttributeValueLength)
    // An answer of another kind may come before that of an earlier write.
    peripheral.writeValue(Data([4]), for: open, type: .withResponse)
    peripheral.discoverDescriptors(for: open)
    peripheral.writeValue(Data(count: 513), for: open, type: .withResponse)
    let (write, _) = try #require(try await setup.nextOperation())
    let (search, _) = try #require(try await setup.nextOperation())
    setup.complete(search, .descriptors(of: 3, []))
    setup.complete(write, .done)
    for expected in ["didDiscoverDescriptors", "didWrite", "didWrite failed"] {
      #expect(try await setup.recorder.calls.next() == expected)
    }
    // A write without response has no answer that could be waited for.
    peripheral.writeValue(Data([3]), for: open, type: .withoutResponse)
    peripheral.writeValue(Data(count: 513), for: open, type: .withResponse)
    #expect(try await setup.recorder.calls.next() == "didWrite failed")
  }

  @Test(
    "C5: writes without response are held back when too many are on their way, and the app learns when it may go on")
  func backPressure() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    var written = 0
    while peripheral.canSendWriteWithoutResponse {
      peripheral.writeValue(Data([UInt8(written)]), for: characteristic, type: .withoutResponse)
      written += 1
    }
    #expect(written == 32)
    let (first, _) = try #require(try await setup.nextOperation())
    setup.complete(first, .done)
    #expect(try await setup.recorder.calls.next() == "isReady")
    #expect(peripheral.canSendWriteWithoutResponse)
    for expected in 1..<32 {
      let (_, operation) = try #require(try await setup.nextOperation())
      #expect(operation == .writeCharacteristic(3, value: [UInt8(expected)], withResponse: false))
    }
  }

  @Test(
    "C5: an app that writes without response in one go, and never asks, loses nothing of 128 writes, and is told when it may go on"
  )
  func burst() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    for number in 0..<130 { peripheral.writeValue(Data([UInt8(number)]), for: characteristic, type: .withoutResponse) }
    #expect(setup.system.log.lines.filter { $0.message.contains("dropped") }.count == 2)
    #expect(!peripheral.canSendWriteWithoutResponse)
    for expected in 0..<128 {
      let (identifier, operation) = try #require(try await setup.nextOperation())
      #expect(operation == .writeCharacteristic(3, value: [UInt8(expected)], withResponse: false))
      setup.complete(identifier, .done)
    }
    #expect(try await setup.recorder.calls.next() == "isReady")
    #expect(peripheral.canSendWriteWithoutResponse)
  }

  @Test("C5: an app is told that it may write again when its writes without response have gone out, also after one")
  func readyAfterEachFlush() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    /// What the app is told when these writes have left, and what it reads then.
    func told(ofWriting values: Range<UInt8>) async throws -> [String] {
      for value in values { peripheral.writeValue(Data([value]), for: characteristic, type: .withoutResponse) }
      peripheral.readValue(for: characteristic)
      for _ in values { setup.complete(try #require(try await setup.nextOperation()).0, .done) }
      setup.complete(try #require(try await setup.nextOperation()).0, .value([9]))
      var calls: [String] = []
      while calls.last != "value [9]" { calls.append(try await setup.recorder.calls.next()) }
      return calls
    }
    // An app that sends its packets one by one: each further one when it is told.
    for number: UInt8 in 0..<3 {
      #expect(try await told(ofWriting: number..<(number + 1)) == ["isReady", "value [9]"])
    }
    // Of several that are on their way, the last one to leave is told of.
    #expect(try await told(ofWriting: 3..<6) == ["isReady", "value [9]"])
  }

  @Test(
    "C5: writes without response make room for further ones while the app's loop keeps its manager's queue from running"
  )
  func loopOnTheQueue() async throws {
    let queue = DispatchQueue(label: "app")
    let setup = try await CentralSetup(queue: queue)
    let peripheral = try await setup.connectExplored()
    let characteristic = try #require(peripheral.services?.first?.characteristics?.first)
    let (isHeld, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    queue.async {
      isHeld.signal()
      mayGoOn.wait()
    }
    defer { mayGoOn.signal() }
    await withCheckedContinuation { done in
      DispatchQueue.global().async {
        isHeld.wait()
        done.resume()
      }
    }
    // What it is told has come after all answers from before.
    let witness = CentralRecorder()
    let other = setup.system.run { CBCentralManager(delegate: witness, queue: DispatchQueue(label: "witness")) }
    _ = try await setup.nextCommand()
    for state in [ManagerState.poweredOn, .poweredOff, .poweredOn] {
      for number in 0..<100 {
        peripheral.writeValue(Data([UInt8(number)]), for: characteristic, type: .withoutResponse)
        let (identifier, _) = try #require(try await setup.nextOperation())
        setup.complete(identifier, .done)
      }
      setup.system.emit(.stateChanged(state), to: ManagerIdentifier(2))
      _ = try await witness.calls.next()
    }
    #expect(other.state == .poweredOn)
    #expect(peripheral.canSendWriteWithoutResponse)
    #expect(!setup.system.log.lines.contains { $0.message.contains("dropped") })
  }

  @Test("C7: names and services change, and an L2CAP channel that the peripheral does not have is refused")
  func changes() async throws {
    let setup = try await CentralSetup()
    let peripheral = try await setup.connectExplored()
    setup.system.emit(.nameChanged(Example.lock, "Back door"))
    #expect(try await setup.recorder.calls.next() == "name Back door")
    setup.system.emit(.servicesModified(Example.lock, invalidated: [1]))
    #expect(try await setup.recorder.calls.next() == "didModifyServices [\"180F\"]")
    #expect(peripheral.services?.isEmpty == true)
    peripheral.openL2CAPChannel(0x80)
    let (identifier, operation) = try #require(try await setup.nextOperation())
    #expect(operation == .openChannel(psm: 0x80))
    setup.complete(identifier, .failed(.coreBluetooth(.connectionFailed, message: "There is none.")))
    #expect(try await setup.recorder.calls.next() == "didOpen failed")
    #expect((setup.recorder.error as? CBError)?.code == .connectionFailed)
  }

  @Test("C5: a value for a handle that was not discovered changes nothing and is logged")
  func unknownHandle() async throws {
    let setup = try await CentralSetup()
    _ = try await setup.connectExplored()
    setup.system.emit(.valueUpdated(Example.lock, characteristic: 999, value: [9]))
    setup.system.emit(.nameChanged(Example.lock, "after"))
    #expect(try await setup.recorder.calls.next() == "name after")
    #expect(setup.system.log.lines.contains { $0.message.contains("999") })
  }
}
