import AppLink
import BluetoothTypes
import Foundation

extension AdvertisementData {
  /// The dictionary that `didDiscover` receives.
  var dictionary: [String: Any] {
    var dictionary: [String: Any] = [CBAdvertisementDataIsConnectable: NSNumber(value: isConnectable)]
    if let localName { dictionary[CBAdvertisementDataLocalNameKey] = localName }
    if let transmitPowerLevel { dictionary[CBAdvertisementDataTxPowerLevelKey] = NSNumber(value: transmitPowerLevel) }
    func put(_ uuids: [BluetoothUUID], _ key: String) {
      if !uuids.isEmpty { dictionary[key] = uuids.map { CBUUID($0) } }
    }
    put(serviceUUIDs, CBAdvertisementDataServiceUUIDsKey)
    put(solicitedServiceUUIDs, CBAdvertisementDataSolicitedServiceUUIDsKey)
    put(overflowServiceUUIDs, CBAdvertisementDataOverflowServiceUUIDsKey)
    if !serviceData.isEmpty {
      dictionary[CBAdvertisementDataServiceDataKey] = Dictionary(
        uniqueKeysWithValues: serviceData.map { (CBUUID($0), Data($1)) })
    }
    // Apple's key holds one company's data. If there are several, the one with the lowest identifier is used.
    if let (company, bytes) = manufacturerData.min(by: { $0.key < $1.key }) {
      dictionary[CBAdvertisementDataManufacturerDataKey] =
        Data([UInt8(truncatingIfNeeded: company), UInt8(company >> 8)]) + Data(bytes)
    }
    return dictionary
  }
}

extension AdvertisementRequest {
  /// Reads what an app passed to `startAdvertising(_:)`. `ignored` receives the keys that can't be advertised.
  init(_ dictionary: [String: Any]?, ignored: inout [String]) {
    self.init()
    for (key, value) in dictionary ?? [:] {
      switch key {
      case CBAdvertisementDataLocalNameKey:
        if let name = value as? String { localName = name } else { ignored.append(key) }
      case CBAdvertisementDataServiceUUIDsKey:
        if let uuids = value as? [CBUUID] {
          serviceUUIDs = uuids.map(\.bluetoothUUID)
        } else {
          ignored.append(key)
        }
      default: ignored.append(key)
      }
    }
    ignored.sort()
  }

  /// The dictionary as an app passed it.
  var dictionary: [String: Any] {
    var dictionary: [String: Any] = [:]
    if let localName { dictionary[CBAdvertisementDataLocalNameKey] = localName }
    if !serviceUUIDs.isEmpty { dictionary[CBAdvertisementDataServiceUUIDsKey] = serviceUUIDs.map { CBUUID($0) } }
    return dictionary
  }
}

extension CBPeripheralManager {
  /// Logs which services are left out of the advertisement, because it has no room for them.
  func noteLeftOut(of request: AdvertisementRequest) {
    let leftOut = Set(request.serviceUUIDs).subtracting(request.servicesWithRoom).sorted().map { "\(CBUUID($0))" }
    guard !leftOut.isEmpty else { return }
    session.logger.warning(
      "startAdvertising(_:): \(leftOut.joined(separator: ", ")) can't be advertised: other services fill the advertisement"
    )
  }
}
