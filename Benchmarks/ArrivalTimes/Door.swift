import CoreBluetooth
import CoreBluetoothTestKit
import Foundation
import LockCryptography
import LockFirmware
import LockProtocol

/// The radio and the firmware of a lock, without a bolt or a log.
final class Door: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private let clock: SimulatedClock
  private var firmware: LockFirmware<SwiftCryptography>
  private var manager: CBPeripheralManager?
  private var centrals: [CBCentral] = []
  private var alarm: SimulatedAlarm?
  private var unsent: [(CBMutableCharacteristic, CBCentral, [UInt8])] = []
  private let offer = CBMutableCharacteristic(
    type: CBUUID(string: LockService.offerUUID), properties: [.read, .notifyEncryptionRequired], value: nil,
    permissions: [.readEncryptionRequired])
  private let command = CBMutableCharacteristic(
    type: CBUUID(string: LockService.quickCommandUUID), properties: [.writeWithoutResponse], value: nil,
    permissions: [.writeEncryptionRequired])
  private let answer = CBMutableCharacteristic(
    type: CBUUID(string: LockService.answerUUID), properties: [.notifyEncryptionRequired], value: nil,
    permissions: [.readEncryptionRequired])
  /// When commands were accepted.
  private(set) var accepted: [Duration] = []
  /// How often a phone read its offer.
  private(set) var readCount = 0

  init(_ keys: Keys, clock: SimulatedClock) {
    self.clock = clock
    firmware = LockFirmware(
      LockConfiguration(identity: keys.identity, enrolledPhones: [Array(keys.phone.publicKey.rawRepresentation)]),
      staticKey: keys.lock, using: SwiftCryptography(), records: [], position: .locked, door: .closed,
      at: LockTime(milliseconds: 0, unixSeconds: 0))
    super.init()
    manager = CBPeripheralManager(delegate: self, queue: nil)
  }

  private func happens(_ event: LockEvent) {
    let time = LockTime(milliseconds: clock.now.milliseconds, unixSeconds: 0)
    for effect in firmware.handle(event, at: time) {
      switch effect {
      case .sendOffer(let central, let values): for value in values { send(value, offer, central) }
      case .sendAnswer(let central, let value): send(value, answer, central)
      case .note(.commandAccepted): accepted.append(clock.now)
      default: break
      }
    }
    alarm?.cancel()
    alarm = firmware.nextDeadline.map { due in
      clock.after(.milliseconds(due.milliseconds - clock.now.milliseconds)) { [weak self] in
        self?.happens(.timePassed)
      }
    }
  }

  private func send(_ value: [UInt8], _ characteristic: CBMutableCharacteristic, _ central: CentralIdentifier) {
    guard let central = centrals.first(where: { CentralIdentifier($0) == central }) else { return }
    unsent.append((characteristic, central, value))
    sendUnsent()
  }

  private func sendUnsent() {
    while let next = unsent.first,
      manager?.updateValue(Data(next.2), for: next.0, onSubscribedCentrals: [next.1]) == true
    {
      unsent.removeFirst()
    }
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let service = CBMutableService(type: CBUUID(string: LockService.serviceUUID), primary: true)
    service.characteristics = [offer, command, answer]
    peripheral.add(service)
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    guard characteristic == offer else { return }
    centrals.append(central)
    happens(.linkUp(CentralIdentifier(central)))
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    guard characteristic == offer else { return }
    happens(.linkDown(CentralIdentifier(central)))
    centrals.removeAll { $0 == central }
    unsent = []
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { sendUnsent() }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    readCount += 1
    peripheral.respond(to: request, withResult: .readNotPermitted)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    for request in requests {
      happens(.commandWritten(CentralIdentifier(request.central), Array(request.value ?? Data())))
    }
  }
}

extension CentralIdentifier {
  init(_ central: CBCentral) {
    let bytes = withUnsafeBytes(of: central.identifier.uuid) { Array($0) }
    func number(_ part: ArraySlice<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: number(bytes[..<8]), low: number(bytes[8...]))
  }
}

extension Duration {
  var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
