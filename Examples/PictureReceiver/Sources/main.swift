import CoreBluetooth
import Foundation

/// Takes pictures over an L2CAP channel. A characteristic tells its PSM to senders.
/// Everything runs on the main queue.
final class Receiver: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private static let service = CBUUID(string: "6B2D0001-0C1E-4D7A-8F0B-9A5C1E7D3F20")

  private var manager: CBPeripheralManager!
  private var transfers: [Transfer] = []

  override init() {
    super.init()
    manager = CBPeripheralManager(delegate: self, queue: .main)
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    peripheral.publishL2CAPChannel(withEncryption: false)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didPublishL2CAPChannel psm: CBL2CAPPSM, error: (any Error)?
  ) {
    if let error { return print("latchkey: unpublished reason=\"\(error.localizedDescription)\"") }
    let number = CBMutableCharacteristic(
      type: CBUUID(string: CBUUIDL2CAPPSMCharacteristicString), properties: .read,
      value: Data([UInt8(psm & 0xFF), UInt8(psm >> 8)]), permissions: .readable)
    let service = CBMutableService(type: Self.service, primary: true)
    service.characteristics = [number]
    peripheral.add(service)
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [Self.service]])
    print("latchkey: published psm=\(psm)")
    tellDescriptorsSoon()
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    guard let channel else { return }
    transfers.append(
      Transfer(channel) { [weak self] transfer in
        self?.transfers.removeAll { $0 === transfer }
        self?.tellDescriptorsSoon()
      })
  }

  /// Prints the number a second later, when nothing refers to the channel any more.
  private func tellDescriptorsSoon() {
    Task {
      try await Task.sleep(for: .seconds(1))
      DispatchQueue.main.async { self.tellDescriptors() }
    }
  }

  /// Prints how many files and sockets this process has open. None of them may belong to a channel that has ended.
  private func tellDescriptors() {
    let count = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    print("latchkey: idle descriptors=\(count) transfers=\(transfers.count)")
  }
}

let receiver = Receiver()
withExtendedLifetime(receiver) { dispatchMain() }
