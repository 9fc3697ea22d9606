import CoreBluetooth
import Foundation

/// The central's app: it runs while its machine is on. Everything but `goOn` and `disconnect` runs on its queue.
final class CentralRun: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private let central: SimulatedCentral
  private let launch: SimulatedLaunch
  private let queue: DispatchQueue
  // Set once, in `init`.
  private var manager: CBCentralManager?
  /// The peripherals that were found, by the service that was looked for.
  private var known: [CBUUID: CBPeripheral] = [:]
  /// The service with which something is being done.
  private var current: CBUUID?
  /// The characteristic whose value is awaited.
  private var read: CBCharacteristic?
  /// Whether a write without response is not sent yet. `peripheralIsReady` follows.
  private var waitsForRoom = false

  init(_ central: SimulatedCentral, _ launch: SimulatedLaunch) {
    (self.central, self.launch) = (central, launch)
    queue = DispatchQueue(label: central.name)
    super.init()
    manager = CBCentralManager(delegate: self, queue: queue)
    central.begin(self)
  }

  func goOn() { perform { [self] in fulfilNext() } }

  /// Does what the test asks for on the queue, before time passes.
  private func perform(_ work: @escaping @Sendable () -> Void) {
    let hold = launch.hold()
    queue.async {
      work()
      hold.release()
    }
  }

  func disconnect() {
    perform { [self] in
      for peripheral in Set(known.values) { manager?.cancelPeripheralConnection(peripheral) }
    }
  }

  private func fulfilNext() {
    guard let manager, manager.state == .poweredOn, current == nil, let wish = central.next else { return }
    current = wish.service
    guard let peripheral = known[wish.service] else { return manager.scanForPeripherals(withServices: [wish.service]) }
    if peripheral.state == .connected { use(peripheral) } else { manager.connect(peripheral) }
  }

  private func use(_ peripheral: CBPeripheral) {
    guard let wish = central.next else { return }
    if case .open(let psm?, _) = wish.act { return peripheral.openL2CAPChannel(psm) }
    let service = peripheral.services?.first { $0.uuid == wish.service }
    if let found = service?.characteristics?.first(where: { $0.uuid == wish.characteristic }) {
      use(found, peripheral)
    } else {
      peripheral.discoverServices([wish.service])
    }
  }

  private func use(_ characteristic: CBCharacteristic, _ peripheral: CBPeripheral) {
    switch central.next?.act {
    case .open, .read:
      read = characteristic
      peripheral.readValue(for: characteristic)
    case .write(let value, .withoutResponse, _):
      waitsForRoom = !peripheral.canSendWriteWithoutResponse
      guard !waitsForRoom else { return }
      peripheral.writeValue(value, for: characteristic, type: .withoutResponse)
      finish(peripheral, .success(nil))
    case .write(let value, let type, _): peripheral.writeValue(value, for: characteristic, type: type)
    case .notify(let isOn, _): peripheral.setNotifyValue(isOn, for: characteristic)
    case nil: break
    }
  }

  private func finish(_ peripheral: CBPeripheral, _ result: Result<Data?, any Error>) {
    finish(peripheral) { act in
      switch act {
      case .open(_, let channel): if case .failure(let error) = result { channel.end(error) }
      case .read(let access), .write(_, _, let access), .notify(_, let access): access.end(result)
      }
    }
  }

  private func finish(_ peripheral: CBPeripheral, _ body: (SimulatedCentral.Wish.Act) -> Void) {
    guard let current, known[current] == peripheral else { return }
    self.current = nil
    (read, waitsForRoom) = (nil, false)
    if let wish = central.finish() { body(wish.act) }
    goOn()
  }

  private func finish(_ peripheral: CBPeripheral, _ error: (any Error)?) {
    finish(peripheral, error.map { .failure($0) } ?? .success(nil))
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    // A request ends when the radio goes off, and is made again when it is on.
    current = nil
    (read, waitsForRoom) = (nil, false)
    fulfilNext()
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    guard let current, known[current] == nil else { return }
    central.stopScan()
    known[current] = peripheral
    peripheral.delegate = self
    if peripheral.state == .connected { use(peripheral) } else { central.connect(peripheral) }
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    if let current, known[current] == peripheral { use(peripheral) }
  }

  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
    finish(peripheral, error ?? CBError(.connectionFailed))
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { finish(peripheral, error ?? CBError(.peripheralDisconnected)) }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    guard let wish = central.next, let service = peripheral.services?.first(where: { $0.uuid == current }) else {
      return finish(peripheral, error ?? CBError(.uuidNotAllowed))
    }
    peripheral.discoverCharacteristics([wish.characteristic], for: service)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
  ) {
    guard let uuid = central.next?.characteristic,
      let characteristic = service.characteristics?.first(where: { $0.uuid == uuid })
    else { return finish(peripheral, error ?? CBATTError(.attributeNotFound)) }
    use(characteristic, peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    guard characteristic === read, CBPeripheral.isTellingValueRead else {
      if let value = characteristic.value { central.receive(value, characteristic.uuid) }
      return
    }
    read = nil
    guard case .open? = central.next?.act else {
      return finish(peripheral, error.map { .failure($0) } ?? .success(characteristic.value))
    }
    guard error == nil, let value = characteristic.value.map(Array.init), (1...2).contains(value.count) else {
      return finish(peripheral, error ?? CBATTError(.invalidAttributeValueLength))
    }
    peripheral.openL2CAPChannel(value.reversed().reduce(0) { $0 << 8 | UInt16($1) })
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    finish(peripheral, error)
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
    guard waitsForRoom, let current, known[current] == peripheral else { return }
    use(peripheral)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) { finish(peripheral, error) }

  func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    guard let channel else { return finish(peripheral, error ?? CBError(.unknown)) }
    finish(peripheral) { act in
      if case .open(_, let wanted) = act { wanted.begin(channel, on: queue) }
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {}
}
