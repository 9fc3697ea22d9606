import CoreBluetooth
import Foundation

/// A lock bonds with a phone that has proven its key. The system finds a bonded lock without a search. Apps can't ask
/// for a bond, but the system makes one when a value needs an encrypted link, as the values of Device Information do.
/// So one of these is read after an answer (`BondRequest`).
extension AgentCentral {
  /// Asks for a bond after the lock has admitted this phone (`AgentApp.isAdmitted`). A lock refuses to bond with other
  /// phones, and a refusal may cost the link.
  func askForBond() {
    guard let peripheral, peripheral.identifier == app.knownLock, bond.take() else { return }
    guard !readsInformation(at: peripheral) else { return }
    // Device Information may be missing among the services found so far: an earlier link ended too soon, or the lock
    // had none at that time.
    isInformationWanted = true
    peripheral.discoverServices([LockCharacteristics.informationUUID])
  }

  /// The services were discovered again. A lock without Device Information is of an earlier version, and asks for the bond by itself.
  func informationFound(at peripheral: CBPeripheral) {
    isInformationWanted = false
    _ = readsInformation(at: peripheral)
  }

  /// A lock on bluetoothd has two such services: bluetoothd's own and the lock's.
  private func readsInformation(at peripheral: CBPeripheral) -> Bool {
    let services = (peripheral.services ?? []).filter { $0.uuid == LockCharacteristics.informationUUID }
    for service in services {
      peripheral.discoverCharacteristics([LockCharacteristics.firmwareRevisionUUID], for: service)
    }
    return !services.isEmpty
  }

  func readInformation(of service: CBService, at peripheral: CBPeripheral) {
    let revision = service.characteristics?.first { $0.uuid == LockCharacteristics.firmwareRevisionUUID }
    if let revision { peripheral.readValue(for: revision) }
  }
}
