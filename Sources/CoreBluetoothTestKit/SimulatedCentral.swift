import CoreBluetooth
import Foundation

/// A central in a simulated home. It is a machine of its own, and opens L2CAP channels to peripherals or to apps when
/// the test says so. `SimulatedHome` moves it, switches it off and reboots it by its name.
public final class SimulatedCentral: @unchecked Sendable {
  /// A channel that is to be opened.
  fileprivate struct Wish {
    let service: CBUUID
    /// `nil` if the PSM is to be read from a characteristic of the service.
    let psm: CBL2CAPPSM?
    let channel: SimulatedChannel
  }

  public let name: String
  private let lock = NSLock()
  private var wishes: [Wish] = []
  /// `nil` while the central is off.
  private weak var run: CentralRun?

  init(name: String) { self.name = name }

  /// Looks for a peripheral that advertises this service, connects to it, and opens a channel. It waits for the peripheral as
  /// long as it takes, and opens channels one after the other.
  /// - Parameters:
  ///   - service: A UUID as `CBUUID(string:)` takes it.
  ///   - psm: Without one, it is read from the service's characteristic `CBUUIDL2CAPPSMCharacteristicString`.
  /// - Returns: the channel, which is not open yet. What is written to it leaves when it is.
  @discardableResult
  public func openChannel(to service: String, psm: CBL2CAPPSM? = nil) -> SimulatedChannel {
    let channel = SimulatedChannel(psm: psm ?? 0)
    let run = lock.withLock {
      wishes.append(Wish(service: CBUUID(string: service), psm: psm, channel: channel))
      return self.run
    }
    run?.goOn()
    return channel
  }

  /// Ends the links that it has, and with them the channels.
  public func disconnect() { lock.withLock { run }?.disconnect() }

  // MARK: One run

  func launch(_ launch: SimulatedLaunch) -> AnyObject { CentralRun(self, launch) }
  fileprivate func begin(_ run: CentralRun) { lock.withLock { self.run = run } }
  fileprivate var next: Wish? { lock.withLock { wishes.first } }

  /// The first wish is fulfilled, or never will be.
  fileprivate func finish() -> Wish? { lock.withLock { wishes.isEmpty ? nil : wishes.removeFirst() } }
}

/// The central's app: it runs while its machine is on. Everything but `goOn` and `disconnect` runs on its queue.
private final class CentralRun: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  private static let psmCharacteristic = CBUUID(string: CBUUIDL2CAPPSMCharacteristicString)
  private let central: SimulatedCentral
  private let launch: SimulatedLaunch
  private let queue: DispatchQueue
  // Set once, in `init`.
  private var manager: CBCentralManager?
  /// The peripherals that were found, by the service that was looked for.
  private var known: [CBUUID: CBPeripheral] = [:]
  /// The service for which a channel is being opened.
  private var current: CBUUID?

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
    if let psm = wish.psm { peripheral.openL2CAPChannel(psm) } else { peripheral.discoverServices([wish.service]) }
  }

  private func finish(_ peripheral: CBPeripheral, _ body: (SimulatedChannel) -> Void) {
    guard let current, known[current] == peripheral else { return }
    self.current = nil
    if let wish = central.finish() { body(wish.channel) }
    fulfilNext()
  }

  private func fail(_ peripheral: CBPeripheral, _ error: any Error) { finish(peripheral) { $0.end(error) } }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    // A request ends when the radio goes off, and is made again when it is on.
    current = nil
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

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) { fail(peripheral, error ?? CBError(.peripheralDisconnected)) }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    guard let current, let service = peripheral.services?.first(where: { $0.uuid == current }) else {
      return fail(peripheral, error ?? CBError(.uuidNotAllowed))
    }
    peripheral.discoverCharacteristics([Self.psmCharacteristic], for: service)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
  ) {
    guard let characteristic = service.characteristics?.first(where: { $0.uuid == Self.psmCharacteristic }) else {
      return fail(peripheral, error ?? CBATTError(.attributeNotFound))
    }
    peripheral.readValue(for: characteristic)
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    guard characteristic.uuid == Self.psmCharacteristic else { return }
    guard error == nil, let value = characteristic.value.map(Array.init), (1...2).contains(value.count) else {
      return fail(peripheral, error ?? CBATTError(.invalidAttributeValueLength))
    }
    peripheral.openL2CAPChannel(value.reversed().reduce(0) { $0 << 8 | UInt16($1) })
  }

  func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    guard let channel else { return fail(peripheral, error ?? CBError(.unknown)) }
    finish(peripheral) { $0.begin(channel, on: queue) }
  }

  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {}
}
