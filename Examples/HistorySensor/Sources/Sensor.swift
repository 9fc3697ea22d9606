import CoreBluetooth
import Foundation

/// Serves its measurements to any reader at any time. A reader asks for the records after a number, and gets one
/// indication for each, and an empty one at the end.
///
/// While the app is suspended or dead, the system keeps its services and its advertisement, and wakes or relaunches it for
/// a request. The app needs the background mode `bluetooth-peripheral` and a restore identifier.
final class Sensor: NSObject, CBPeripheralManagerDelegate {
  static let environment = CBUUID(string: "181A")
  /// Written to: the number of the last record that the reader has, as text. Indicates: NUMBER,VALUE.
  static let records = CBUUID(string: "B7A1E2F0-5C0E-4C6F-9B2A-3D1F0A9C7E11")
  static let restoreIdentifier = "org.latchkey.examples.history-sensor"

  private let history: History
  private var manager: CBPeripheralManager!
  private var characteristic: CBMutableCharacteristic?
  private var isBluetoothOn = false
  /// What a reader has asked for and has not got yet.
  private var waiting: [Data] = []

  init(history: History) {
    self.history = history
    super.init()
    manager = CBPeripheralManager(
      delegate: self, queue: .main, options: [CBPeripheralManagerOptionRestoreIdentifierKey: Self.restoreIdentifier])
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
    characteristic = services.first?.characteristics?.first as? CBMutableCharacteristic
    print("latchkey: restored services=\(services.count) records=\(history.count)")
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else {
      // The service ends when Bluetooth is switched off. A service that is restored while Bluetooth is off stays.
      if isBluetoothOn { characteristic = nil }
      isBluetoothOn = false
      return
    }
    isBluetoothOn = true
    if characteristic == nil {
      let records = CBMutableCharacteristic(
        type: Self.records, properties: [.write, .indicate], value: nil, permissions: .writeable)
      let service = CBMutableService(type: Self.environment, primary: true)
      service.characteristics = [records]
      characteristic = records
      peripheral.add(service)
    }
    guard !peripheral.isAdvertising else { return }
    peripheral.startAdvertising([
      CBAdvertisementDataLocalNameKey: "History", CBAdvertisementDataServiceUUIDsKey: [Self.environment],
    ])
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    for request in requests {
      guard let value = request.value, let last = Int(String(decoding: value, as: UTF8.self)), last >= 0 else {
        return peripheral.respond(to: requests[0], withResult: .invalidPdu)
      }
      waiting = history.records(after: last).map { Data("\($0.number),\($0.value)".utf8) } + [Data()]
    }
    peripheral.respond(to: requests[0], withResult: .success)
    send()
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { send() }

  private func send() {
    guard let characteristic else { return }
    while let next = waiting.first {
      // The system has no more room; it says when it has.
      guard manager.updateValue(next, for: characteristic, onSubscribedCentrals: nil) else { return }
      waiting.removeFirst()
      if waiting.isEmpty { print("latchkey: served records=\(history.count)") }
    }
  }
}
