// A simulated heart-rate strap for the collector's story. It measures once a minute, and keeps values that nobody
// has received.
import CoreBluetooth
import Foundation

/// A device of its own, which always runs.
final class Strap: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  // Everything here happens on the main queue.
  private var manager: CBPeripheralManager!
  private let measurement = CBMutableCharacteristic(
    type: CBUUID(string: "2A37"), properties: .notify, value: nil, permissions: .readable)
  private var waiting: [Data] = []
  private var count = 0
  private var isMeasuring = false

  override init() {
    super.init()
    manager = CBPeripheralManager(delegate: self, queue: .main)
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    // Bluetooth that was off has forgotten what the app published.
    guard peripheral.state == .poweredOn else { return }
    let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
    service.characteristics = [measurement]
    peripheral.add(service)
    peripheral.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Strap", CBAdvertisementDataServiceUUIDsKey: [service.uuid],
    ])
    guard !isMeasuring else { return }
    isMeasuring = true
    Task { @MainActor in
      while true {
        try await Task.sleep(for: .seconds(60))
        measure()
      }
    }
  }

  /// The energy counts the measurements, so that a missing one shows.
  private func measure() {
    // Without a subscriber there is nobody to lose a value.
    guard !(measurement.subscribedCentrals ?? []).isEmpty || count > 0 else { return }
    count += 1
    let rate = 60 + count % 40
    waiting.append(Data([0b1000, UInt8(rate), UInt8(count & 0xFF), UInt8(count >> 8 & 0xFF)]))
    print("latchkey: measured rate=\(rate) energy=\(count)")
    send()
  }

  private func send() {
    while !(measurement.subscribedCentrals ?? []).isEmpty, let next = waiting.first {
      guard manager.updateValue(next, for: measurement, onSubscribedCentrals: nil) else { return }
      waiting.removeFirst()
    }
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) { send() }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { send() }
}

let strap = Strap()
withExtendedLifetime(strap) { dispatchMain() }
