import BlueZ
import BluetoothTypes
import BusValue

/// What is known of a peer's GATT database.
package struct RemoteDatabase: Sendable, Hashable, Codable {
  package var services: [RemoteService] = []
  /// The peer's Database Hash when it was explored (Bluetooth Core, Vol 3, Part G, 7.3).
  package var hash: [UInt8]?
  package init() {}

  func characteristic(valueHandle: AttributeHandle) -> (RemoteService, RemoteCharacteristic)? {
    for service in services {
      for characteristic in service.characteristics where characteristic.valueHandle == valueHandle {
        return (service, characteristic)
      }
    }
    return nil
  }

  func characteristic(_ uuid: BluetoothUUID) -> RemoteCharacteristic? {
    for service in services {
      if let found = service.characteristics.first(where: { $0.uuid == uuid }) { return found }
    }
    return nil
  }
}

package struct RemoteService: Sendable, Hashable, Codable {
  package var handle: AttributeHandle
  package var endHandle: AttributeHandle
  package var uuid: BluetoothUUID
  package var isPrimary: Bool
  /// Handles of included services.
  package var includes: [AttributeHandle] = []
  package var characteristics: [RemoteCharacteristic] = []

  func path(under device: ObjectPath) -> ObjectPath { device.attribute(.service, handle) }

  func objectPaths(under device: ObjectPath) -> [ObjectPath] {
    let service = path(under: device)
    return [service]
      + characteristics.flatMap { characteristic in
        let path = characteristic.path(under: service)
        return [path] + characteristic.descriptors.map { $0.path(under: path) }
      }
  }
}

package struct RemoteCharacteristic: Sendable, Hashable, Codable {
  /// The handle of its declaration, which the object's path shows.
  package var handle: AttributeHandle
  package var valueHandle: AttributeHandle
  package var properties: CharacteristicProperties
  package var uuid: BluetoothUUID
  package var descriptors: [RemoteDescriptor] = []
  /// Its Characteristic Extended Properties: 1 for reliable writes, 2 for writable auxiliaries.
  package var extended: UInt8 = 0

  var isReliable: Bool { extended & 1 != 0 }
  var extendedHandle: AttributeHandle? { descriptors.first { $0.uuid == WellKnownUUID.extendedProperties }?.handle }

  /// As in the `Flags` property.
  var flagNames: [String] {
    let extensions: [GATTFlag] =
      (isReliable ? [.reliableWrite] : []) + (extended & 2 != 0 ? [.writableAuxiliaries] : [])
    return (properties.flags + extensions).map(\.rawValue)
  }

  func path(under service: ObjectPath) -> ObjectPath { service.attribute(.characteristic, handle) }

  /// The handle of the Client Characteristic Configuration.
  var configurationHandle: AttributeHandle? {
    descriptors.first { $0.uuid == WellKnownUUID.clientConfiguration }?.handle
  }
}

package struct RemoteDescriptor: Sendable, Hashable, Codable {
  package var handle: AttributeHandle
  package var uuid: BluetoothUUID

  func path(under characteristic: ObjectPath) -> ObjectPath { characteristic.attribute(.descriptor, handle) }
}

enum WellKnownUUID {
  static let primaryService = BluetoothUUID(UInt16(0x2800))
  static let secondaryService = BluetoothUUID(UInt16(0x2801))
  static let include = BluetoothUUID(UInt16(0x2802))
  static let characteristic = BluetoothUUID(UInt16(0x2803))
  static let battery = BluetoothUUID(UInt16(0x180F))
  static let batteryLevel = BluetoothUUID(UInt16(0x2A19))
  static let extendedProperties = BluetoothUUID(UInt16(0x2900))
  static let clientConfiguration = BluetoothUUID(UInt16(0x2902))
  static let genericAccess = BluetoothUUID(UInt16(0x1800))
  static let genericAttribute = BluetoothUUID(UInt16(0x1801))
  static let deviceName = BluetoothUUID(UInt16(0x2A00))
  static let appearance = BluetoothUUID(UInt16(0x2A01))
  static let serviceChanged = BluetoothUUID(UInt16(0x2A05))
  static let clientFeatures = BluetoothUUID(UInt16(0x2B29))
  static let databaseHash = BluetoothUUID(UInt16(0x2B2A))
  static let serverFeatures = BluetoothUUID(UInt16(0x2B3A))
  static let deviceInformation = BluetoothUUID(UInt16(0x180A))
  static let plugAndPlay = BluetoothUUID(UInt16(0x2A50))
  /// Classic Bluetooth services, which bluetoothd's profiles add to a dual-mode adapter.
  static let remoteControlTarget = BluetoothUUID(UInt16(0x110C))
  static let remoteControl = BluetoothUUID(UInt16(0x110E))
  static let accessToSIM = BluetoothUUID(UInt16(0x112D))
  static let plugAndPlayInformation = BluetoothUUID(UInt16(0x1200))
}

/// The content of the PnP ID characteristic (Device Information Service, 3.9), and of Modalias as text.
struct PlugAndPlay {
  /// 2: the vendor's number is assigned by the USB Implementers Forum.
  var source: UInt8
  var vendor: UInt16
  var product: UInt16
  var version: UInt16

  /// The Linux Foundation's number, and BlueZ 5.82.
  static let own = PlugAndPlay(source: 2, vendor: 0x1D6B, product: 0x0246, version: 0x0552)

  init(source: UInt8, vendor: UInt16, product: UInt16, version: UInt16) {
    self.source = source
    self.vendor = vendor
    self.product = product
    self.version = version
  }

  init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    guard bytes.count == 7, let source = reader.byte(), source == 1 || source == 2, let vendor = reader.word(),
      let product = reader.word(), let version = reader.word()
    else { return nil }
    self.init(source: source, vendor: vendor, product: product, version: version)
  }

  var bytes: [UInt8] {
    var writer = ByteWriter([source])
    for word in [vendor, product, version] { writer.write(word) }
    return writer.bytes
  }

  var modalias: String {
    func hexadecimal(_ word: UInt16) -> String {
      let text = String(word, radix: 16, uppercase: true)
      return String(repeating: "0", count: 4 - text.count) + text
    }
    return (source == 1 ? "bluetooth" : "usb") + ":v\(hexadecimal(vendor))p\(hexadecimal(product))"
      + "d\(hexadecimal(version))"
  }
}

extension AttributeHandle {
  /// As bluetoothd writes handles in paths: four hexadecimal digits in lower case.
  var fourDigits: String {
    let text = String(self, radix: 16)
    return String(repeating: "0", count: 4 - text.count) + text
  }
}
