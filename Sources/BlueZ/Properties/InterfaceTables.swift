/// The properties of bluetoothd's objects, by interface.
package enum InterfaceTables {
  /// The properties that bluetoothd's own objects have, by interface, in the order of their tables.
  package static let all: [String: [any AnyProperty]] = Dictionary(
    uniqueKeysWithValues: tables.map { table in
      (table.interface, table.properties.filter { $0.use != .clients })
    })

  private static let tables: [any InterfaceTable.Type] = [
    Adapter1.self, Device1.self, Battery1.self, GattService1.self, GattCharacteristic1.self, GattDescriptor1.self,
    LEAdvertisingManager1.self, AdvertisementMonitorManager1.self, Media1.self, SimAccess1.self,
  ]
}
