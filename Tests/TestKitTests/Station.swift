import CoreBluetoothTestKit
import Foundation

/// A peripheral's app of which a test says what it does in each call, and which notes what it saw there.
final class Station: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []
  /// What it has noted.
  var notes: [String] { lock.withLock { lines } }
  func note(_ line: String) { lock.withLock { lines.append(line) } }

  private(set) var manager: CBPeripheralManager?
  var characteristics: [CBMutableCharacteristic] = []
  var whenOn: (Station, CBPeripheralManager) -> Void = { $0.publish($1) }
  var whenRestored: (Station, CBPeripheralManager, [String: Any]) -> Void = { _, _, _ in }
  var whenSubscribed: (Station, CBPeripheralManager, CBCentral) -> Void = { _, _, _ in }
  var whenReady: (Station, CBPeripheralManager) -> Void = { _, _ in }

  init(identifier: String? = nil, _ prepare: (Station) -> Void = { _ in }) {
    super.init()
    prepare(self)
    manager = CBPeripheralManager(
      delegate: self, queue: DispatchQueue(label: "station"),
      options: identifier.map { [CBPeripheralManagerOptionRestoreIdentifierKey: $0] })
  }

  /// One service with a characteristic that notifies.
  func publish(_ manager: CBPeripheralManager) {
    let characteristic = CBMutableCharacteristic(
      type: CBUUID(string: "FFE1"), properties: [.notify], value: nil, permissions: .readable)
    characteristics = [characteristic]
    let service = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
    service.characteristics = characteristics
    manager.add(service)
    manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
  }

  func peripheralManager(_ manager: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
    characteristics = services.flatMap { $0.characteristics ?? [] }.compactMap { $0 as? CBMutableCharacteristic }
    whenRestored(self, manager, dict)
  }

  func peripheralManagerDidUpdateState(_ manager: CBPeripheralManager) {
    if manager.state == .poweredOn, characteristics.isEmpty { whenOn(self, manager) }
    if manager.state != .poweredOn { characteristics = [] }
  }

  func peripheralManager(
    _ manager: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) { whenSubscribed(self, manager, central) }

  func peripheralManagerIsReady(toUpdateSubscribers manager: CBPeripheralManager) { whenReady(self, manager) }
}
