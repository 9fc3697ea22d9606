import ArgumentParser
import CoreBluetooth
import Foundation
import LockProtocol

/// The phone of a stranger, for stories: an app that tries to get in at any lock that it finds. It has no keys, and
/// uses only what everybody can know.
struct BurglarCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "burglar", abstract: "The app of a burglar in a story, who tries to open a lock.", shouldDisplay: false
  )

  @Option(help: "Write so many wrong commands, as fast as the lock answers.") var tries = 200
  @Flag(help: "Only hold the link.") var hold = false

  func validate() throws {
    guard (1...100_000).contains(tries) else { throw ValidationError("--tries is from 1 to 100000, not \(tries).") }
  }

  func run() throws {
    let burglar = Burglar(tries: hold ? 0 : tries)
    burglar.begin()
    // Keeps the burglar alive: an optimised build may release an object that is not named any more, even with
    // withExtendedLifetime, if no code follows.
    _ = Unmanaged.passRetained(burglar)
    dispatchMain()
  }
}

/// Connects to a lock again and again, and writes commands of every wrong kind.
private final class Burglar: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  // Everything here happens on the main queue.
  private var manager: CBCentralManager?
  private var lock: CBPeripheral?
  private var remaining: Int
  private var tried = 0
  private var refused = 0
  private var offer: [UInt8] = []
  private var previous: [UInt8] = []
  private var random = SystemRandomNumberGenerator()

  init(tries: Int) { remaining = tries }

  func begin() { manager = CBCentralManager(delegate: self, queue: .main) }

  /// Prints a line of this form, which becomes an event of the story.
  private func record(_ line: String) { FileHandle.standardOutput.write(Data("latchkey: \(line)\n".utf8)) }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    if let lock { return central.connect(lock, options: nil) }
    central.scanForPeripherals(withServices: [CBUUID(string: LockService.serviceUUID)], options: nil)
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    guard lock == nil else { return }
    central.stopScan()
    lock = peripheral
    peripheral.delegate = self
    central.connect(peripheral, options: nil)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    record("connected")
    peripheral.discoverServices([CBUUID(string: LockService.serviceUUID)])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    record("disconnected")
    central.connect(peripheral, options: nil)
  }

  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) {
    central.connect(peripheral, options: nil)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    guard remaining > 0 else { return record("holding") }
    if let characteristic = characteristic(LockService.offerUUID) { peripheral.readValue(for: characteristic) }
  }

  private func characteristic(_ uuid: String) -> CBCharacteristic? {
    lock?.services?.flatMap { $0.characteristics ?? [] }.first { $0.uuid == CBUUID(string: uuid) }
  }

  /// Takes the lock's offer, which anyone may read.
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    if let value = characteristic.value, !value.isEmpty { offer = Array(value) }
    attempt(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    if error != nil { refused += 1 }
    attempt(peripheral)
  }

  private func attempt(_ peripheral: CBPeripheral) {
    guard remaining > 0, let command = characteristic(LockService.commandUUID) else { return }
    remaining -= 1
    let message = message(number: tried)
    tried += 1
    previous = message
    peripheral.writeValue(Data(message), for: command, type: .withResponse)
    if remaining == 0 { record("tried times=\(tried) refused=\(refused)") }
  }

  /// One kind after the other: noise of the right length, nothing, too much, the lock's own words, the last one again.
  private func message(number: Int) -> [UInt8] {
    func noise(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: .min ... .max, using: &random) } }
    switch number % 5 {
    case 0: return noise(LockService.commandByteCount)
    case 1: return []
    case 2: return noise(LockService.commandByteCount + 1)
    case 3: return Array((offer + noise(LockService.commandByteCount)).prefix(LockService.commandByteCount))
    default: return previous
    }
  }
}
