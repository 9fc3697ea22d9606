import AppLink
import BlueZ
import BluetoothTypes
import BusValue

/// Services that include each other. bluetoothd takes them from one application alone, and each only after those that it
/// includes.
extension BluetoothSystem {
  /// A service and those that it is bound to by including or being included, in the order in which they were added; alone
  /// where it is bound to none.
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
