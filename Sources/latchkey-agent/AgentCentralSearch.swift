import CoreBluetooth
import Foundation
import HomePolicy
import JournalEvents
import Logging

/// A search for the lock among several devices, carried out.
extension AgentCentral {
  /// Looks for the lock among all devices that offer its service.
  func beginSearch() {
    var kept = candidates.values.map { ($0.identifier, $0.state == .connected) }
    if let peripheral, candidates[peripheral.identifier] == nil {
      candidates[peripheral.identifier] = peripheral
      kept.append((peripheral.identifier, peripheral.state == .connected))
    }
    peripheral = nil
    forgetCharacteristics()
    perform(search.begin(kept.sorted { $0.0 < $1.0 }, at: time.now))
  }

  /// What the searches of the phone's other doors have to know. A lock that turns this phone away may belong to one of
  /// them by now.
  var standing: LockSearch.Standing {
    LockSearch.Standing(
      lock: app.refusesPhone ? nil : app.knownLock, tested: search.tested, isSearching: search.isSearching)
  }

  func see(_ others: [LockSearch.Standing]) { perform(search.see(others, at: time.now)) }

  func perform(_ effects: [LockSearch.Effect]) {
    defer {
      setAlarm()
      searches.note(self)
    }
    guard let manager, manager.state == .poweredOn else { return }
    for effect in effects {
      switch effect {
      case .scan: manager.scanForPeripherals(withServices: [LockCharacteristics.serviceUUID], options: nil)
      case .stopScan: manager.stopScan()
      case .connect(let identifier): candidates[identifier].map { manager.connect($0, options: nil) }
      case .cancel(let identifier): candidates[identifier].map(release)
      case .test(let identifier):
        guard let candidate = candidates[identifier] else { continue }
        adopt(candidate)
        linkBegan(candidate)
      case .endTest(let identifier):
        guard peripheral?.identifier == identifier else { continue }
        logger.record(Recorded.Agent.otherLock, [.peripheral: identifier.uuidString], level: .warning)
        leave(.linkToOther)
      case .leaveTest(let identifier): if peripheral?.identifier == identifier { leave(.linkToUnknown) }
      }
    }
    // The search does not return to a device that it has forgotten.
    if candidates.count > 2 * LockSearch.maximumCandidates {
      candidates = candidates.filter { search.knows($0.key) }
    }
  }

  /// Ends the link to a device, or the request for one. Both may have ended with the radio already. Then there is
  /// nothing to end, and a cancellation would be a misuse of the API.
  func release(_ device: CBPeripheral) {
    guard device.state != .disconnected else { return }
    manager?.cancelPeripheralConnection(device)
  }

  private func leave(_ event: HomeEvent) {
    peripheral = nil
    forgetCharacteristics()
    app.linkDown(event)
  }

  func endSearch(with lock: CBPeripheral) {
    perform(search.end(with: lock.identifier))
    candidates = [:]
  }
}
