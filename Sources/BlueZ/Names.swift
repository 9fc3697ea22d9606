import BusValue

/// The names that bluetoothd uses on the bus (BlueZ, doc/org.bluez.*.rst).
package enum InterfaceName {
  package static let objectManager = "org.freedesktop.DBus.ObjectManager"
  package static let properties = "org.freedesktop.DBus.Properties"
  package static let adapter = "org.bluez.Adapter1"
  package static let device = "org.bluez.Device1"
  package static let battery = "org.bluez.Battery1"
  package static let batteryProviderManager = "org.bluez.BatteryProviderManager1"
  package static let batteryProvider = "org.bluez.BatteryProvider1"
  package static let profileManager = "org.bluez.ProfileManager1"
  package static let profile = "org.bluez.Profile1"
  package static let healthManager = "org.bluez.HealthManager1"
  package static let media = "org.bluez.Media1"
  package static let networkServer = "org.bluez.NetworkServer1"
  package static let simAccess = "org.bluez.SimAccess1"
  package static let gattManager = "org.bluez.GattManager1"
  package static let gattService = "org.bluez.GattService1"
  package static let gattCharacteristic = "org.bluez.GattCharacteristic1"
  package static let gattDescriptor = "org.bluez.GattDescriptor1"
  package static let gattProfile = "org.bluez.GattProfile1"
  package static let advertisingManager = "org.bluez.LEAdvertisingManager1"
  package static let advertisement = "org.bluez.LEAdvertisement1"
  package static let advertisementMonitorManager = "org.bluez.AdvertisementMonitorManager1"
  package static let advertisementMonitor = "org.bluez.AdvertisementMonitor1"
  package static let agentManager = "org.bluez.AgentManager1"
  package static let agent = "org.bluez.Agent1"
}

/// Names and paths that are the same on every machine.
package enum WellKnown {
  /// bluetoothd's name on the bus.
  package static let busName = "org.bluez"
  /// The path of AgentManager1.
  package static let managerPath = ObjectPath(unchecked: "/org/bluez")
  /// The first adapter's path.
  package static let firstAdapter = adapter(0)
  /// An adapter's path, by its number.
  package static func adapter(_ number: Int) -> ObjectPath { ObjectPath(unchecked: "/org/bluez/hci\(number)") }
}

/// Interfaces of one object, by name, with their properties.
package typealias Interfaces = [String: Properties]
/// All objects of a service, as GetManagedObjects returns them.
package typealias ManagedObjects = [ObjectPath: Interfaces]
