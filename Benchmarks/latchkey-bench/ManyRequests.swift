import AppLink
import BlueZModel
import BluetoothSystem
import BluetoothTypes
import Foundation
import LatchkeyDaemon
import Stories
import Worlds

/// The agent's connection requests for many bonded devices, none of which is near.
enum ManyRequests {
  static func make(_ count: Int) -> Benchmark.HeldRequests {
    let service = BluetoothUUID(high: 0x5B1C_0002_0000_4C61, low: 0x7463_686B_6579_0000)
    let addresses = (0..<count).map { DeviceAddress(bits: 0x001B_DC00_0000 + UInt64($0), kind: .public) }
    return Benchmark.HeldRequests(
      devices: addresses.map { RememberedDevice(address: $0, service: service) },
      fillStore: { folder, machine in try fill(folder, machine, addresses) })
  }

  private static func fill(_ path: String, _ machine: String, _ addresses: [DeviceAddress]) throws {
    let folder = try StateFolder(path: path, machine: machine)
    let store = try Store(folder)
    let manager = ManagerKey(app: "org.latchkey.agent", role: .central, restoreIdentifier: "many")
    var changes: [StoreChange] = [.put(.manager(ManagerRecord(key: manager)))]
    for address in addresses {
      let peer = PeerIdentifier(UUID())
      changes.append(.put(.peer(PeerRecord(identifier: peer, address: address, wasRequested: true))))
      changes.append(
        .put(.peripheral(PeripheralRecord(manager: manager, peer: peer, isWanted: true, told: .connecting))))
    }
    try store.write(changes)
    store.close()
    // The folder must be unlocked before latchkeyd starts.
    withExtendedLifetime(folder) {}
  }
}
