// The parameter names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import AppLink
import BluetoothTypes
import CoreBluetoothTestKit
import Foundation
import Testing

/// What a delegate was told, as text: the method and its relevant arguments.
final class CentralRecorder: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  let calls = Inbox<String>()
  let restored = Inbox<[CBPeripheral]>()
  let found = Inbox<CBPeripheral>()
  let opened = Inbox<CBL2CAPChannel>()
  private let lock = NSLock()
  private var lastRestoration: [String: Any] = [:]
  private var lastError: (any Error)?
  private var lastAdvertisement: [String: Any] = [:]

  var restoration: [String: Any] { lock.withLock { lastRestoration } }
  var error: (any Error)? { lock.withLock { lastError } }
  var advertisement: [String: Any] { lock.withLock { lastAdvertisement } }

  private func note(_ call: String, _ error: (any Error)? = nil) {
    lock.withLock { lastError = error }
    calls.put(error == nil ? call : call + " failed")
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) { note("state \(central.state)") }
  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    lock.withLock { lastRestoration = dict }
    restored.put(dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? [])
    note("willRestoreState")
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi RSSI: NSNumber
  ) {
    lock.withLock { lastAdvertisement = advertisementData }
    found.put(peripheral)
    note("didDiscover \(RSSI)")
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { note("didConnect") }
  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
    note("didFailToConnect", error)
  }
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { note("didDisconnect", error) }

  func peripheralDidUpdateName(_ peripheral: CBPeripheral) { note("name \(peripheral.name ?? "nil")") }
  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    note("didModifyServices \(invalidatedServices.map(\.uuid.uuidString))")
  }
  func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
    note("rssi \(RSSI)", error)
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    note("didDiscoverServices", error)
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    note("didDiscoverCharacteristics \(service.uuid)", error)
  }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
  ) { note("didDiscoverDescriptors", error) }
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) { note("value \(Array(characteristic.value ?? Data()))", error) }
  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    note("didWrite", error)
  }
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) { note("notifying \(characteristic.isNotifying)", error) }
  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
    note("descriptor \(descriptor.value ?? "nil")", error)
  }
  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { note("isReady") }
  func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    if let channel { opened.put(channel) }
    note("didOpen", error)
  }
}

final class PeripheralRecorder: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  let calls = Inbox<String>()
  let reads = Inbox<CBATTRequest>()
  let writes = Inbox<[CBATTRequest]>()
  private let lock = NSLock()
  private var lastRestoration: [String: Any] = [:]
  private var lastError: (any Error)?

  var restoration: [String: Any] { lock.withLock { lastRestoration } }
  var error: (any Error)? { lock.withLock { lastError } }

  private func note(_ call: String, _ error: (any Error)? = nil) {
    lock.withLock { lastError = error }
    calls.put(error == nil ? call : call + " failed")
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) { note("state \(peripheral.state)") }
  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    lock.withLock { lastRestoration = dict }
    note("willRestoreState")
  }
  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
    note("didStartAdvertising", error)
  }
  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
    note("didAdd \(service.uuid)", error)
  }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) { note("didSubscribe \(characteristic.uuid)") }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) { note("didUnsubscribe \(characteristic.uuid)") }
  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    reads.put(request)
  }
  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    writes.put(requests)
  }
  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { note("isReady") }
}

/// The test app's knowledge of the world.
enum Example {
  static let lock = PeerIdentifier(UUID(uuidString: "10000000-0000-0000-0000-000000000001")!)
  static let other = PeerIdentifier(UUID(uuidString: "10000000-0000-0000-0000-000000000002")!)
  static let phone = PeerIdentifier(UUID(uuidString: "20000000-0000-0000-0000-000000000001")!)
  static let manager = ManagerIdentifier(1)
  static let service = BluetoothUUID("180F")!

  /// A peripheral with one service, one characteristic and a user description, all discovered.
  static func explored(_ state: AppLink.PeripheralState = .connected, isNotifying: Bool = false) -> PeripheralSnapshot {
    PeripheralSnapshot(
      identifier: lock, name: "Front door", state: state,
      services: [
        ServiceSnapshot(
          handle: 1, uuid: service,
          characteristics: [
            CharacteristicSnapshot(
              handle: 3, uuid: BluetoothUUID("2A19")!,
              properties: [.read, .write, .writeWithoutResponse, .notify], isNotifying: isNotifying,
              descriptors: [DescriptorSnapshot(handle: 5, uuid: BluetoothUUID("2901")!)]),
            CharacteristicSnapshot(handle: 7, uuid: BluetoothUUID("2A1A")!, properties: []),
          ])
      ], mtu: 185)
  }
}

/// A central manager in the state poweredOn, its delegate and its system.
struct CentralSetup {
  let system: ScriptedSystem
  let recorder: CentralRecorder
  let manager: CBCentralManager

  init(
    restoreIdentifier: String? = nil, restoring restoration: CentralRestoration? = nil,
    queue: DispatchQueue = DispatchQueue(label: "test.central"), system: ScriptedSystem = ScriptedSystem()
  ) async throws {
    let recorder = CentralRecorder()
    self.system = system
    self.recorder = recorder
    system.attach()
    manager = system.run {
      CBCentralManager(
        delegate: recorder, queue: queue,
        options: restoreIdentifier.map { [CBCentralManagerOptionRestoreIdentifierKey: $0] })
    }
    _ = try await system.requests.next()
    if let restoration {
      system.emit(.willRestoreCentral(restoration))
      _ = try await recorder.calls.next()
    }
    system.emit(.stateChanged(.poweredOn))
    _ = try await recorder.calls.next()
    _ = try await nextRequest()  // handled
  }

  /// The app's mistakes, but that its delegate has `willRestoreState` without any use.
  var misuses: [String] { system.log.misuses.filter { !$0.contains("restore identifier, but") } }

  /// The next request that does not acknowledge events.
  func nextRequest() async throws -> Request { try await system.requests.next() }

  /// The next request other than `handled`.
  func nextCommand() async throws -> Request {
    while true {
      let request = try await system.requests.next()
      if case .handled = request { continue }
      return request
    }
  }

  /// Connects to a peripheral that is already explored.
  func connectExplored(isNotifying: Bool = false) async throws -> CBPeripheral {
    try await connect(Example.explored(isNotifying: isNotifying))
  }

  /// Connects to a peripheral of which this is known.
  func connect(_ known: PeripheralSnapshot) async throws -> CBPeripheral {
    system.answerNextQuery { _ in .success([PeripheralSnapshot(identifier: Example.lock)]) }
    let peripheral = manager.retrievePeripherals(withIdentifiers: [Example.lock.rawValue])[0]
    peripheral.delegate = recorder
    manager.connect(peripheral)
    _ = try await nextCommand()
    system.emit(.connected(known))
    _ = try await recorder.calls.next()
    return peripheral
  }

  func nextOperation() async throws -> (OperationIdentifier, PeripheralOperation)? {
    guard case .central(_, .perform(_, let identifier, let operation)) = try await nextCommand() else { return nil }
    return (identifier, operation)
  }

  func complete(_ identifier: OperationIdentifier, _ result: OperationResult) {
    system.emit(.operationCompleted(Example.lock, identifier, result))
  }
}

/// What a process that has ended wrote to its standard error.
func errorText(_ result: ExitTest.Result?) -> String {
  String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
}
