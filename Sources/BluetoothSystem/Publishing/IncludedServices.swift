import AppLink
import BlueZ
import BluetoothTypes
import BusValue

/// Services that include each other. bluetoothd accepts them only from the same application, and each only after
/// those that it includes.
extension BluetoothSystem {
  /// A service with all services connected to it by inclusion, in either direction, in the order in which they were
  /// added. A service without inclusions is alone.
  func family(of record: ServiceRecord, _ key: ManagerKey) -> [ServiceRecord] {
    let all = managers[key]?.services ?? [:]
    var found: Set<LocalAttributeIdentifier> = [record.definition.identifier]
    var isGrowing = true
    while isGrowing {
      isGrowing = false
      for other in all.values {
        let bound = [other.definition.identifier] + other.definition.includedServices.filter { all[$0] != nil }
        guard !found.isDisjoint(with: bound), !found.isSuperset(of: bound) else { continue }
        found.formUnion(bound)
        isGrowing = true
      }
    }
    return found.compactMap { all[$0] }.sorted { $0.order < $1.order }
  }
}
