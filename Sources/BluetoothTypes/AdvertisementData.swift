/// The decoded content of an advertisement (Core Specification Supplement, Part A).
package struct AdvertisementData: Sendable, Hashable, Codable {
  package var flags: UInt8?
  package var localName: String?
  package var serviceUUIDs: [BluetoothUUID]
  package var solicitedServiceUUIDs: [BluetoothUUID]
  /// Service UUIDs that only a scanner looking for them finds (iOS's overflow area).
  package var overflowServiceUUIDs: [BluetoothUUID]
  package var serviceData: [BluetoothUUID: [UInt8]]
  /// By company identifier.
  package var manufacturerData: [UInt16: [UInt8]]
  /// In dBm.
  package var transmitPowerLevel: Int8?
  package var appearance: UInt16?
  package var isConnectable: Bool

  package init(
    flags: UInt8? = nil, localName: String? = nil, serviceUUIDs: [BluetoothUUID] = [],
    solicitedServiceUUIDs: [BluetoothUUID] = [], overflowServiceUUIDs: [BluetoothUUID] = [],
    serviceData: [BluetoothUUID: [UInt8]] = [:], manufacturerData: [UInt16: [UInt8]] = [:],
    transmitPowerLevel: Int8? = nil, appearance: UInt16? = nil, isConnectable: Bool = true
  ) {
    self.flags = flags
    self.localName = localName
    self.serviceUUIDs = serviceUUIDs
    self.solicitedServiceUUIDs = solicitedServiceUUIDs
    self.overflowServiceUUIDs = overflowServiceUUIDs
    self.serviceData = serviceData
    self.manufacturerData = manufacturerData
    self.transmitPowerLevel = transmitPowerLevel
    self.appearance = appearance
    self.isConnectable = isConnectable
  }
}
