import BluetoothTypes
import BusValue

/// A service of a peer or of an application (BlueZ, doc/org.bluez.GattService.rst).
package final class GattService1: InterfaceTable {
  package static let interface = InterfaceName.gattService
  package static let table = GattService1()

  package let uuid = Property("UUID", .uuid)
  package let device = Property("Device", .path)
  package let primary = Property("Primary", .bool)
  package let includes = Property("Includes", .paths)
  package let handle = Property("Handle", .number)
}

/// A characteristic (doc/org.bluez.GattCharacteristic.rst).
package final class GattCharacteristic1: InterfaceTable {
  package static let interface = InterfaceName.gattCharacteristic
  package static let table = GattCharacteristic1()

  package let uuid = Property("UUID", .uuid)
  package let service = Property("Service", .path)
  package let value = Property("Value", .bytes, .sometimes)
  package let notifying = Property("Notifying", .bool, .sometimes)
  /// Words of `GATTFlag`, possibly with words of later versions.
  package let flags = Property("Flags", .texts)
  package let writeAcquired = Property("WriteAcquired", .bool)
  package let notifyAcquired = Property("NotifyAcquired", .bool)
  package let mtu = Property("MTU", .size)
  package let handle = Property("Handle", .number)
}

/// A descriptor (doc/org.bluez.GattDescriptor.rst).
package final class GattDescriptor1: InterfaceTable {
  package static let interface = InterfaceName.gattDescriptor
  package static let table = GattDescriptor1()

  package let uuid = Property("UUID", .uuid)
  package let characteristic = Property("Characteristic", .path)
  package let value = Property("Value", .bytes, .sometimes)
  package let handle = Property("Handle", .number)
  /// Words of `GATTFlag`.
  package let flags = Property("Flags", .texts, .clients)
}

/// A client's request for devices that have certain services (doc/org.bluez.GattProfile.rst).
package final class GattProfile1: InterfaceTable {
  package static let interface = InterfaceName.gattProfile
  package static let table = GattProfile1()

  /// bluetoothd accepts any text. Text that is not a UUID matches no device.
  package let uuids = Property("UUIDs", .texts, .clients)
}
