import BluetoothTypes
import BusValue

/// A service of a peer or of an application (BlueZ, doc/org.bluez.GattService.rst).
public struct GattService1: InterfaceTable {
  public static let interface = InterfaceName.gattService
  public static let table = GattService1()

  public let uuid = Property("UUID", .uuid)
  public let device = Property("Device", .path)
  public let primary = Property("Primary", .bool)
  public let includes = Property("Includes", .paths)
  public let handle = Property("Handle", .number)
}

/// A characteristic (doc/org.bluez.GattCharacteristic.rst).
public struct GattCharacteristic1: InterfaceTable {
  public static let interface = InterfaceName.gattCharacteristic
  public static let table = GattCharacteristic1()

  public let uuid = Property("UUID", .uuid)
  public let service = Property("Service", .path)
  public let value = Property("Value", .bytes, .sometimes)
  public let notifying = Property("Notifying", .bool, .sometimes)
  /// Words of `GATTFlag`, possibly with words of later versions.
  public let flags = Property("Flags", .texts)
  public let writeAcquired = Property("WriteAcquired", .bool)
  public let notifyAcquired = Property("NotifyAcquired", .bool)
  public let mtu = Property("MTU", .size)
  public let handle = Property("Handle", .number)
}

/// A descriptor (doc/org.bluez.GattDescriptor.rst).
public struct GattDescriptor1: InterfaceTable {
  public static let interface = InterfaceName.gattDescriptor
  public static let table = GattDescriptor1()

  public let uuid = Property("UUID", .uuid)
  public let characteristic = Property("Characteristic", .path)
  public let value = Property("Value", .bytes, .sometimes)
  public let handle = Property("Handle", .number)
  /// Words of `GATTFlag`.
  public let flags = Property("Flags", .texts, .clients)
}

/// A client's request for devices that have certain services (doc/org.bluez.GattProfile.rst).
public struct GattProfile1: InterfaceTable {
  public static let interface = InterfaceName.gattProfile
  public static let table = GattProfile1()

  /// bluetoothd accepts any text. Text that is not a UUID matches no device.
  public let uuids = Property("UUIDs", .texts, .clients)
}
