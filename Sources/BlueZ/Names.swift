import BusValue

/// The names that bluetoothd uses on the bus (BlueZ, doc/org.bluez.*.rst).
public enum InterfaceName {
  public static let objectManager = "org.freedesktop.DBus.ObjectManager"
  public static let properties = "org.freedesktop.DBus.Properties"
  public static let adapter = "org.bluez.Adapter1"
  public static let device = "org.bluez.Device1"
  public static let battery = "org.bluez.Battery1"
  public static let batteryProviderManager = "org.bluez.BatteryProviderManager1"
  public static let profileManager = "org.bluez.ProfileManager1"
  public static let healthManager = "org.bluez.HealthManager1"
  public static let media = "org.bluez.Media1"
  public static let networkServer = "org.bluez.NetworkServer1"
  public static let simAccess = "org.bluez.SimAccess1"
  public static let gattManager = "org.bluez.GattManager1"
  public static let gattService = "org.bluez.GattService1"
  public static let gattCharacteristic = "org.bluez.GattCharacteristic1"
  public static let gattDescriptor = "org.bluez.GattDescriptor1"
  public static let gattProfile = "org.bluez.GattProfile1"
  public static let advertisingManager = "org.bluez.LEAdvertisingManager1"
  public static let advertisement = "org.bluez.LEAdvertisement1"
  public static let advertisementMonitorManager = "org.bluez.AdvertisementMonitorManager1"
  public static let advertisementMonitor = "org.bluez.AdvertisementMonitor1"
  public static let agentManager = "org.bluez.AgentManager1"
  public static let agent = "org.bluez.Agent1"
}

public enum WellKnown {
  /// bluetoothd's name on the bus.
  public static let busName = "org.bluez"
  /// The path of AgentManager1.
  public static let managerPath = ObjectPath(unchecked: "/org/bluez")
  /// The first adapter's path.
  public static let firstAdapter = adapter(0)
  /// An adapter's path, by its number.
  public static func adapter(_ number: Int) -> ObjectPath { ObjectPath(unchecked: "/org/bluez/hci\(number)") }
}

/// Interfaces of one object, by name, with their properties.
public typealias Interfaces = [String: Properties]
/// All objects of a service, as GetManagedObjects returns them.
public typealias ManagedObjects = [ObjectPath: Interfaces]
