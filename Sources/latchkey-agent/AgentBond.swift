import CoreBluetooth
import Foundation

/// A lock bonds with a phone that has proven its key, and a bonded lock is found by the system without a search. Apps can't ask for a
/// bond, but the system makes one when a value needs an encrypted link, such as those of Device Information. So one of them is
/// read after an answer (`BondRequest`).
extension AgentCentral {
  /// The lock has answered on this link, so it bonds with this phone (`AgentApp.isAdmitted`). It refuses others, and a refusal may
  /// cost the link.
  func askForBond() {
    guard let peripheral, peripheral.identifier == app.knownLock, bond.take() else { return }
    guard !readsInformation(at: peripheral) else { return }
    // What was found on an earlier link may lack it: the link ended too soon, or an earlier lock had none.
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
