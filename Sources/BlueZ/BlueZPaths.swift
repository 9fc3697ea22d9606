import BluetoothTypes
import BusValue

/// How bluetoothd composes the paths of its objects: `/org/bluez/hci0/dev_C0_FF_EE_00_00_01/service000a/char000b/desc000d`
/// (src/adapter.c, src/device.c, src/gatt-client.c).
extension ObjectPath {
  /// The kind of a remote attribute's object.
  package enum Attribute: String, Sendable, Hashable, CaseIterable {
    case service = "service"
    case characteristic = "char"
    case descriptor = "desc"
  }

  private static let devicePrefix = "dev_"
  private static let adapterPrefix = "hci"

  /// The path of a device of this adapter.
  package func device(_ address: DeviceAddress) -> ObjectPath { appending(Self.devicePrefix + address.pathComponent) }

  /// The path of a remote attribute below its device, service or characteristic. Handles are four hexadecimal digits
  /// in lower case.
  package func attribute(_ kind: Attribute, _ handle: AttributeHandle) -> ObjectPath {
    let digits = String(unsafeUninitializedCapacity: 4) { buffer in
      for position in 0..<4 { buffer[position] = HexText.lowerCase(UInt64(handle) >> UInt64(12 - 4 * position)) }
      return 4
    }
    return appending(kind.rawValue + digits)
  }

  /// The kind and handle in the last component, or `nil` if it is not a remote attribute's.
  package var remoteAttribute: (kind: Attribute, handle: AttributeHandle)? {
    let component = lastComponent
    for kind in Attribute.allCases where component.hasPrefix(kind.rawValue) {
      let digits = component.dropFirst(kind.rawValue.count)
      guard digits.count == 4, let handle = AttributeHandle(digits, radix: 16) else { return nil }
      return (kind, handle)
    }
    return nil
  }

  /// The address in a device's path. The path does not contain the address's kind.
  package func deviceAddress(kind: DeviceAddress.Kind) -> DeviceAddress? {
    let component = lastComponent
    guard component.hasPrefix(Self.devicePrefix) else { return nil }
    return DeviceAddress(pathComponent: component.dropFirst(Self.devicePrefix.count), kind: kind)
  }

  /// The number in an adapter's path: `/org/bluez/hci0` is 0.
  package var adapterNumber: Int32? {
    guard lastComponent.hasPrefix(Self.adapterPrefix) else { return nil }
    return Int32(lastComponent.dropFirst(Self.adapterPrefix.count))
  }
}
