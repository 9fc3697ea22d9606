/// The decoded content of an advertisement (Core Specification Supplement, Part A).
public struct AdvertisementData: Sendable, Hashable, Codable {
  public var flags: UInt8?
  public var localName: String?
  public var serviceUUIDs: [BluetoothUUID]
  public var solicitedServiceUUIDs: [BluetoothUUID]
  /// Service UUIDs that only a scanner looking for them finds (iOS's overflow area).
  public var overflowServiceUUIDs: [BluetoothUUID]
  public var serviceData: [BluetoothUUID: [UInt8]]
  /// By company identifier.
  public var manufacturerData: [UInt16: [UInt8]]
  /// In dBm.
  public var transmitPowerLevel: Int8?
  public var appearance: UInt16?
  public var isConnectable: Bool

  public init(
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
