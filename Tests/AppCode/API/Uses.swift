// Written by scripts/generate-api-uses from symbols.txt. Not edited by hand.
// swift-format-ignore-file

import CoreBluetooth

private func useCBATTError(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBATTError.Type = CBATTError.self
  }
  uses.append("CBATTError : struct CBATTError")
  do {
    let _: CBATTError.Code.Type = CBATTError.Code.self
  }
  uses.append("CBATTError.Code : enum Code")
  do {
    let _: CBATTError.Code = CBATTError.Code.attributeNotFound
  }
  uses.append("CBATTError.Code.attributeNotFound : case attributeNotFound")
  do {
    let _: CBATTError.Code = CBATTError.Code.attributeNotLong
  }
  uses.append("CBATTError.Code.attributeNotLong : case attributeNotLong")
  do {
    let _: (Int) -> CBATTError.Code? = CBATTError.Code.init(rawValue:)
  }
  uses.append("CBATTError.Code.init(rawValue:) : init?(rawValue: Int)")
  do {
    let _: CBATTError.Code = CBATTError.Code.insufficientAuthentication
  }
  uses.append("CBATTError.Code.insufficientAuthentication : case insufficientAuthentication")
  do {
    let _: CBATTError.Code = CBATTError.Code.insufficientAuthorization
  }
  uses.append("CBATTError.Code.insufficientAuthorization : case insufficientAuthorization")
  do {
    let _: CBATTError.Code = CBATTError.Code.insufficientEncryption
  }
  uses.append("CBATTError.Code.insufficientEncryption : case insufficientEncryption")
  do {
    let _: CBATTError.Code = CBATTError.Code.insufficientEncryptionKeySize
  }
  uses.append("CBATTError.Code.insufficientEncryptionKeySize : case insufficientEncryptionKeySize")
  do {
    let _: CBATTError.Code = CBATTError.Code.insufficientResources
  }
  uses.append("CBATTError.Code.insufficientResources : case insufficientResources")
  do {
    let _: CBATTError.Code = CBATTError.Code.invalidAttributeValueLength
  }
  uses.append("CBATTError.Code.invalidAttributeValueLength : case invalidAttributeValueLength")
  do {
    let _: CBATTError.Code = CBATTError.Code.invalidHandle
  }
  uses.append("CBATTError.Code.invalidHandle : case invalidHandle")
  do {
    let _: CBATTError.Code = CBATTError.Code.invalidOffset
  }
  uses.append("CBATTError.Code.invalidOffset : case invalidOffset")
  do {
    let _: CBATTError.Code = CBATTError.Code.invalidPdu
  }
  uses.append("CBATTError.Code.invalidPdu : case invalidPdu")
  do {
    let _: CBATTError.Code = CBATTError.Code.prepareQueueFull
  }
  uses.append("CBATTError.Code.prepareQueueFull : case prepareQueueFull")
  do {
    let _: CBATTError.Code = CBATTError.Code.readNotPermitted
  }
  uses.append("CBATTError.Code.readNotPermitted : case readNotPermitted")
  do {
    let _: CBATTError.Code = CBATTError.Code.requestNotSupported
  }
  uses.append("CBATTError.Code.requestNotSupported : case requestNotSupported")
  do {
    let _: CBATTError.Code = CBATTError.Code.success
  }
  uses.append("CBATTError.Code.success : case success")
  do {
    let _: CBATTError.Code = CBATTError.Code.unlikelyError
  }
  uses.append("CBATTError.Code.unlikelyError : case unlikelyError")
  do {
    let _: CBATTError.Code = CBATTError.Code.unsupportedGroupType
  }
  uses.append("CBATTError.Code.unsupportedGroupType : case unsupportedGroupType")
  do {
    let _: CBATTError.Code = CBATTError.Code.writeNotPermitted
  }
  uses.append("CBATTError.Code.writeNotPermitted : case writeNotPermitted")
  do {
    let _: CBATTError.Code = CBATTError.attributeNotFound
  }
  uses.append("CBATTError.attributeNotFound : static var attributeNotFound: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.attributeNotLong
  }
  uses.append("CBATTError.attributeNotLong : static var attributeNotLong: CBATTError.Code { get }")
  do {
    let _: String = CBATTError.errorDomain
  }
  uses.append("CBATTError.errorDomain : static var errorDomain: String { get }")
  do {
    let _: CBATTError.Code = CBATTError.insufficientAuthentication
  }
  uses.append("CBATTError.insufficientAuthentication : static var insufficientAuthentication: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.insufficientAuthorization
  }
  uses.append("CBATTError.insufficientAuthorization : static var insufficientAuthorization: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.insufficientEncryption
  }
  uses.append("CBATTError.insufficientEncryption : static var insufficientEncryption: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.insufficientEncryptionKeySize
  }
  uses.append("CBATTError.insufficientEncryptionKeySize : static var insufficientEncryptionKeySize: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.insufficientResources
  }
  uses.append("CBATTError.insufficientResources : static var insufficientResources: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.invalidAttributeValueLength
  }
  uses.append("CBATTError.invalidAttributeValueLength : static var invalidAttributeValueLength: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.invalidHandle
  }
  uses.append("CBATTError.invalidHandle : static var invalidHandle: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.invalidOffset
  }
  uses.append("CBATTError.invalidOffset : static var invalidOffset: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.invalidPdu
  }
  uses.append("CBATTError.invalidPdu : static var invalidPdu: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.prepareQueueFull
  }
  uses.append("CBATTError.prepareQueueFull : static var prepareQueueFull: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.readNotPermitted
  }
  uses.append("CBATTError.readNotPermitted : static var readNotPermitted: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.requestNotSupported
  }
  uses.append("CBATTError.requestNotSupported : static var requestNotSupported: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.success
  }
  uses.append("CBATTError.success : static var success: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.unlikelyError
  }
  uses.append("CBATTError.unlikelyError : static var unlikelyError: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.unsupportedGroupType
  }
  uses.append("CBATTError.unsupportedGroupType : static var unsupportedGroupType: CBATTError.Code { get }")
  do {
    let _: CBATTError.Code = CBATTError.writeNotPermitted
  }
  uses.append("CBATTError.writeNotPermitted : static var writeNotPermitted: CBATTError.Code { get }")
  do {
    let _: (CBATTError.Code, [String : Any]) -> CBATTError = CBATTError.init(_:userInfo:)
    _ = { (p0: CBATTError.Code) in _ = CBATTError(p0) }
  }
  uses.append("CBATTError.init(_:userInfo:) : init(_ code: CBATTError.Code, userInfo: [String : Any] = [:])")
  do {
    let path: KeyPath<CBATTError, CBATTError.Code> = \.code
    writable.note(path, "CBATTError.code")
  }
  uses.append("CBATTError.code : var code: CBATTError.Code { get }")
  do {
    let path: KeyPath<CBATTError, [String : Any]> = \.userInfo
    writable.note(path, "CBATTError.userInfo")
  }
  uses.append("CBATTError.userInfo : var userInfo: [String : Any] { get }")
  do {
    let path: KeyPath<CBATTError, Int> = \.errorCode
    writable.note(path, "CBATTError.errorCode")
  }
  uses.append("CBATTError.errorCode : var errorCode: Int { get }")
  do {
    let path: KeyPath<CBATTError, [String : Any]> = \.errorUserInfo
    writable.note(path, "CBATTError.errorUserInfo")
  }
  uses.append("CBATTError.errorUserInfo : var errorUserInfo: [String : Any] { get }")
  do {
    let path: KeyPath<CBATTError, String> = \.localizedDescription
    writable.note(path, "CBATTError.localizedDescription")
  }
  uses.append("CBATTError.localizedDescription : var localizedDescription: String { get }")
  do {
    _ = { (left: CBATTError.Code, right: any Error) -> Bool in left ~= right }
  }
  uses.append("CBATTError.Code.~=(_:_:) : static func ~= (match: CBATTError.Code, error: any Error) -> Bool")
}

private func useCBATTErrorDomain(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBATTErrorDomain
  }
  uses.append("CBATTErrorDomain : let CBATTErrorDomain: String")
}

private func useCBATTRequest(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBATTRequest.self
  }
  uses.append("CBATTRequest : class CBATTRequest")
  do {
    let path: KeyPath<CBATTRequest, CBCentral> = \.central
    writable.note(path, "CBATTRequest.central")
  }
  uses.append("CBATTRequest.central : var central: CBCentral { get }")
  do {
    let path: KeyPath<CBATTRequest, CBCharacteristic> = \.characteristic
    writable.note(path, "CBATTRequest.characteristic")
  }
  uses.append("CBATTRequest.characteristic : var characteristic: CBCharacteristic { get }")
  do {
    let path: KeyPath<CBATTRequest, Int> = \.offset
    writable.note(path, "CBATTRequest.offset")
  }
  uses.append("CBATTRequest.offset : var offset: Int { get }")
  do {
    let _: ReferenceWritableKeyPath<CBATTRequest, Data?> = \.value
  }
  uses.append("CBATTRequest.value : var value: Data? { get set }")
}

private func useCBAdvertisementDataIsConnectable(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBAdvertisementDataIsConnectable
  }
  uses.append("CBAdvertisementDataIsConnectable : let CBAdvertisementDataIsConnectable: String")
}

private func useCBAdvertisementDataLocalNameKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBAdvertisementDataLocalNameKey
  }
  uses.append("CBAdvertisementDataLocalNameKey : let CBAdvertisementDataLocalNameKey: String")
}

private func useCBAdvertisementDataManufacturerDataKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBAdvertisementDataManufacturerDataKey
  }
  uses.append("CBAdvertisementDataManufacturerDataKey : let CBAdvertisementDataManufacturerDataKey: String")
}

private func useCBAdvertisementDataOverflowServiceUUIDsKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBAdvertisementDataOverflowServiceUUIDsKey
  }
  uses.append("CBAdvertisementDataOverflowServiceUUIDsKey : let CBAdvertisementDataOverflowServiceUUIDsKey: String")
}

private func useCBAdvertisementDataServiceDataKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBAdvertisementDataServiceDataKey
  }
  uses.append("CBAdvertisementDataServiceDataKey : let CBAdvertisementDataServiceDataKey: String")
}

private func useCBAdvertisementDataServiceUUIDsKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBAdvertisementDataServiceUUIDsKey
  }
  uses.append("CBAdvertisementDataServiceUUIDsKey : let CBAdvertisementDataServiceUUIDsKey: String")
}

private func useCBAdvertisementDataSolicitedServiceUUIDsKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBAdvertisementDataSolicitedServiceUUIDsKey
  }
  uses.append("CBAdvertisementDataSolicitedServiceUUIDsKey : let CBAdvertisementDataSolicitedServiceUUIDsKey: String")
}

private func useCBAdvertisementDataTxPowerLevelKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBAdvertisementDataTxPowerLevelKey
  }
  uses.append("CBAdvertisementDataTxPowerLevelKey : let CBAdvertisementDataTxPowerLevelKey: String")
}

private func useCBAttribute(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBAttribute.self
  }
  uses.append("CBAttribute : class CBAttribute")
  do {
    let path: KeyPath<CBAttribute, CBUUID> = \.uuid
    writable.note(path, "CBAttribute.uuid")
  }
  uses.append("CBAttribute.uuid : var uuid: CBUUID { get }")
}

private func useCBAttributePermissions(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBAttributePermissions.Type = CBAttributePermissions.self
  }
  uses.append("CBAttributePermissions : struct CBAttributePermissions")
  do {
    let _: (UInt) -> CBAttributePermissions = CBAttributePermissions.init(rawValue:)
  }
  uses.append("CBAttributePermissions.init(rawValue:) : init(rawValue: UInt)")
  do {
    let _: CBAttributePermissions = CBAttributePermissions.readEncryptionRequired
  }
  uses.append("CBAttributePermissions.readEncryptionRequired : static var readEncryptionRequired: CBAttributePermissions { get }")
  do {
    let _: CBAttributePermissions = CBAttributePermissions.readable
  }
  uses.append("CBAttributePermissions.readable : static var readable: CBAttributePermissions { get }")
  do {
    let _: CBAttributePermissions = CBAttributePermissions.writeEncryptionRequired
  }
  uses.append("CBAttributePermissions.writeEncryptionRequired : static var writeEncryptionRequired: CBAttributePermissions { get }")
  do {
    let _: CBAttributePermissions = CBAttributePermissions.writeable
  }
  uses.append("CBAttributePermissions.writeable : static var writeable: CBAttributePermissions { get }")
}

private func useCBCentral(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBCentral.self
  }
  uses.append("CBCentral : class CBCentral")
  do {
    let path: KeyPath<CBCentral, Int> = \.maximumUpdateValueLength
    writable.note(path, "CBCentral.maximumUpdateValueLength")
  }
  uses.append("CBCentral.maximumUpdateValueLength : var maximumUpdateValueLength: Int { get }")
}

private func useCBCentralManager(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBCentralManager.self
  }
  uses.append("CBCentralManager : class CBCentralManager")
  do {
    let _: CBCentralManager.Feature.Type = CBCentralManager.Feature.self
  }
  uses.append("CBCentralManager.Feature : struct Feature")
  do {
    let _: CBCentralManager.Feature = CBCentralManager.Feature.channelSounding
  }
  uses.append("CBCentralManager.Feature.channelSounding : static var channelSounding: CBCentralManager.Feature { get }")
  do {
    let _: CBCentralManager.Feature = CBCentralManager.Feature.extendedScanAndConnect
  }
  uses.append("CBCentralManager.Feature.extendedScanAndConnect : static var extendedScanAndConnect: CBCentralManager.Feature { get }")
  do {
    let _: (UInt) -> CBCentralManager.Feature = CBCentralManager.Feature.init(rawValue:)
  }
  uses.append("CBCentralManager.Feature.init(rawValue:) : init(rawValue: UInt)")
  do {
    let _: (CBCentralManager) -> (CBPeripheral) -> Void = CBCentralManager.cancelPeripheralConnection(_:)
  }
  uses.append("CBCentralManager.cancelPeripheralConnection(_:) : func cancelPeripheralConnection(_ peripheral: CBPeripheral)")
  do {
    let _: (CBCentralManager) -> (CBPeripheral, [String : Any]?) -> Void = CBCentralManager.connect(_:options:)
    _ = { (subject: CBCentralManager, p0: CBPeripheral) in subject.connect(p0) }
  }
  uses.append("CBCentralManager.connect(_:options:) : func connect(_ peripheral: CBPeripheral, options: [String : Any]? = nil)")
  do {
    let _: ReferenceWritableKeyPath<CBCentralManager, (any CBCentralManagerDelegate)?> = \.delegate
  }
  uses.append("CBCentralManager.delegate : weak var delegate: (any CBCentralManagerDelegate)? { get set }")
  do {
    let _: () -> CBCentralManager = CBCentralManager.init
  }
  uses.append("CBCentralManager.init() : convenience init()")
  do {
    let _: ((any CBCentralManagerDelegate)?, dispatch_queue_t?) -> CBCentralManager = CBCentralManager.init(delegate:queue:)
  }
  uses.append("CBCentralManager.init(delegate:queue:) : convenience init(delegate: (any CBCentralManagerDelegate)?, queue: dispatch_queue_t?)")
  do {
    let _: ((any CBCentralManagerDelegate)?, dispatch_queue_t?, [String : Any]?) -> CBCentralManager = CBCentralManager.init(delegate:queue:options:)
    _ = { (p0: (any CBCentralManagerDelegate)?, p1: dispatch_queue_t?) in _ = CBCentralManager(delegate: p0, queue: p1) }
  }
  uses.append("CBCentralManager.init(delegate:queue:options:) : init(delegate: (any CBCentralManagerDelegate)?, queue: dispatch_queue_t?, options: [String : Any]? = nil)")
  do {
    let path: KeyPath<CBCentralManager, Bool> = \.isScanning
    writable.note(path, "CBCentralManager.isScanning")
  }
  uses.append("CBCentralManager.isScanning : var isScanning: Bool { get }")
  do {
    let _: (CBCentralManager) -> ([CBConnectionEventMatchingOption : Any]?) -> Void = CBCentralManager.registerForConnectionEvents(options:)
    _ = { (subject: CBCentralManager) in subject.registerForConnectionEvents() }
  }
  uses.append("CBCentralManager.registerForConnectionEvents(options:) : func registerForConnectionEvents(options: [CBConnectionEventMatchingOption : Any]? = nil)")
  do {
    let _: (CBCentralManager) -> ([CBUUID]) -> [CBPeripheral] = CBCentralManager.retrieveConnectedPeripherals(withServices:)
  }
  uses.append("CBCentralManager.retrieveConnectedPeripherals(withServices:) : func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral]")
  do {
    let _: (CBCentralManager) -> ([UUID]) -> [CBPeripheral] = CBCentralManager.retrievePeripherals(withIdentifiers:)
  }
  uses.append("CBCentralManager.retrievePeripherals(withIdentifiers:) : func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral]")
  do {
    let _: (CBCentralManager) -> ([CBUUID]?, [String : Any]?) -> Void = CBCentralManager.scanForPeripherals(withServices:options:)
    _ = { (subject: CBCentralManager, p0: [CBUUID]?) in subject.scanForPeripherals(withServices: p0) }
  }
  uses.append("CBCentralManager.scanForPeripherals(withServices:options:) : func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String : Any]? = nil)")
  do {
    let _: (CBCentralManager) -> () -> Void = CBCentralManager.stopScan
  }
  uses.append("CBCentralManager.stopScan() : func stopScan()")
  do {
    let _: (CBCentralManager.Feature) -> Bool = CBCentralManager.supports(_:)
  }
  uses.append("CBCentralManager.supports(_:) : class func supports(_ features: CBCentralManager.Feature) -> Bool")
}

private func useCBCentralManagerDelegate(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: (any CBCentralManagerDelegate).Type = (any CBCentralManagerDelegate).self
    _ = { (subject: any CBCentralManagerDelegate) -> any NSObjectProtocol in subject }
  }
  uses.append("CBCentralManagerDelegate : protocol CBCentralManagerDelegate : NSObjectProtocol")
  do {
    _ = { (subject: any CBCentralManagerDelegate, p0: CBCentralManager, p1: CBConnectionEvent, p2: CBPeripheral) in subject.centralManager(p0, connectionEventDidOccur: p1, for: p2) }
  }
  uses.append("CBCentralManagerDelegate.centralManager(_:connectionEventDidOccur:for:) : optional func centralManager(_ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral)")
  do {
    _ = { (subject: any CBCentralManagerDelegate, p0: CBCentralManager, p1: CBPeripheral) in subject.centralManager(p0, didConnect: p1) }
  }
  uses.append("CBCentralManagerDelegate.centralManager(_:didConnect:) : optional func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral)")
  do {
    _ = { (subject: any CBCentralManagerDelegate, p0: CBCentralManager, p1: CBPeripheral, p2: (any Error)?) in subject.centralManager(p0, didDisconnectPeripheral: p1, error: p2) }
  }
  uses.append("CBCentralManagerDelegate.centralManager(_:didDisconnectPeripheral:error:) : optional func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?)")
  do {
    _ = { (subject: any CBCentralManagerDelegate, p0: CBCentralManager, p1: CBPeripheral, p2: CFAbsoluteTime, p3: Bool, p4: (any Error)?) in subject.centralManager(p0, didDisconnectPeripheral: p1, timestamp: p2, isReconnecting: p3, error: p4) }
  }
  uses.append("CBCentralManagerDelegate.centralManager(_:didDisconnectPeripheral:timestamp:isReconnecting:error:) : optional func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?)")
  do {
    _ = { (subject: any CBCentralManagerDelegate, p0: CBCentralManager, p1: CBPeripheral, p2: [String : Any], p3: NSNumber) in subject.centralManager(p0, didDiscover: p1, advertisementData: p2, rssi: p3) }
  }
  uses.append("CBCentralManagerDelegate.centralManager(_:didDiscover:advertisementData:rssi:) : optional func centralManager(_ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String : Any], rssi RSSI: NSNumber)")
  do {
    _ = { (subject: any CBCentralManagerDelegate, p0: CBCentralManager, p1: CBPeripheral, p2: (any Error)?) in subject.centralManager(p0, didFailToConnect: p1, error: p2) }
  }
  uses.append("CBCentralManagerDelegate.centralManager(_:didFailToConnect:error:) : optional func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?)")
  do {
    _ = { (subject: any CBCentralManagerDelegate, p0: CBCentralManager, p1: CBPeripheral) in subject.centralManager(p0, didUpdateANCSAuthorizationFor: p1) }
  }
  uses.append("CBCentralManagerDelegate.centralManager(_:didUpdateANCSAuthorizationFor:) : optional func centralManager(_ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral)")
  do {
    _ = { (subject: any CBCentralManagerDelegate, p0: CBCentralManager, p1: [String : Any]) in subject.centralManager(p0, willRestoreState: p1) }
  }
  uses.append("CBCentralManagerDelegate.centralManager(_:willRestoreState:) : optional func centralManager(_ central: CBCentralManager, willRestoreState dict: [String : Any])")
  do {
    _ = { (subject: any CBCentralManagerDelegate, p0: CBCentralManager) in subject.centralManagerDidUpdateState(p0) }
  }
  uses.append("CBCentralManagerDelegate.centralManagerDidUpdateState(_:) : func centralManagerDidUpdateState(_ central: CBCentralManager)")
}

private func useCBCentralManagerOptionDeviceAccessForMedia(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBCentralManagerOptionDeviceAccessForMedia
  }
  uses.append("CBCentralManagerOptionDeviceAccessForMedia : let CBCentralManagerOptionDeviceAccessForMedia: String")
}

private func useCBCentralManagerOptionRestoreIdentifierKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBCentralManagerOptionRestoreIdentifierKey
  }
  uses.append("CBCentralManagerOptionRestoreIdentifierKey : let CBCentralManagerOptionRestoreIdentifierKey: String")
}

private func useCBCentralManagerOptionShowPowerAlertKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBCentralManagerOptionShowPowerAlertKey
  }
  uses.append("CBCentralManagerOptionShowPowerAlertKey : let CBCentralManagerOptionShowPowerAlertKey: String")
}

private func useCBCentralManagerRestoredStatePeripheralsKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBCentralManagerRestoredStatePeripheralsKey
  }
  uses.append("CBCentralManagerRestoredStatePeripheralsKey : let CBCentralManagerRestoredStatePeripheralsKey: String")
}

private func useCBCentralManagerRestoredStateScanOptionsKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBCentralManagerRestoredStateScanOptionsKey
  }
  uses.append("CBCentralManagerRestoredStateScanOptionsKey : let CBCentralManagerRestoredStateScanOptionsKey: String")
}

private func useCBCentralManagerRestoredStateScanServicesKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBCentralManagerRestoredStateScanServicesKey
  }
  uses.append("CBCentralManagerRestoredStateScanServicesKey : let CBCentralManagerRestoredStateScanServicesKey: String")
}

private func useCBCentralManagerScanOptionAllowDuplicatesKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBCentralManagerScanOptionAllowDuplicatesKey
  }
  uses.append("CBCentralManagerScanOptionAllowDuplicatesKey : let CBCentralManagerScanOptionAllowDuplicatesKey: String")
}

private func useCBCentralManagerScanOptionSolicitedServiceUUIDsKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBCentralManagerScanOptionSolicitedServiceUUIDsKey
  }
  uses.append("CBCentralManagerScanOptionSolicitedServiceUUIDsKey : let CBCentralManagerScanOptionSolicitedServiceUUIDsKey: String")
}

private func useCBChannelSoundingProcedureResults(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBChannelSoundingProcedureResults.self
  }
  uses.append("CBChannelSoundingProcedureResults : class CBChannelSoundingProcedureResults : NSObject")
  do {
    let path: KeyPath<CBChannelSoundingProcedureResults, Double> = \.distance
    writable.note(path, "CBChannelSoundingProcedureResults.distance")
  }
  uses.append("CBChannelSoundingProcedureResults.distance : var distance: Double { get }")
}

private func useCBChannelSoundingSessionConfiguration(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBChannelSoundingSessionConfiguration.self
  }
  uses.append("CBChannelSoundingSessionConfiguration : class CBChannelSoundingSessionConfiguration : NSObject")
  do {
    let _: CBChannelSoundingSessionConfiguration.Role.Type = CBChannelSoundingSessionConfiguration.Role.self
  }
  uses.append("CBChannelSoundingSessionConfiguration.Role : enum Role : Int")
  do {
    let _: (Int) -> CBChannelSoundingSessionConfiguration.Role? = CBChannelSoundingSessionConfiguration.Role.init(rawValue:)
  }
  uses.append("CBChannelSoundingSessionConfiguration.Role.init(rawValue:) : init?(rawValue: Int)")
  do {
    let _: CBChannelSoundingSessionConfiguration.Role = CBChannelSoundingSessionConfiguration.Role.initiator
  }
  uses.append("CBChannelSoundingSessionConfiguration.Role.initiator : case initiator")
  do {
    let _: (CBChannelSoundingSessionConfiguration.Role) -> CBChannelSoundingSessionConfiguration = CBChannelSoundingSessionConfiguration.init(role:)
  }
  uses.append("CBChannelSoundingSessionConfiguration.init(role:) : init(role: CBChannelSoundingSessionConfiguration.Role)")
  do {
    let path: KeyPath<CBChannelSoundingSessionConfiguration, CBChannelSoundingSessionConfiguration.Role> = \.role
    writable.note(path, "CBChannelSoundingSessionConfiguration.role")
  }
  uses.append("CBChannelSoundingSessionConfiguration.role : var role: CBChannelSoundingSessionConfiguration.Role { get }")
}

private func useCBCharacteristic(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBCharacteristic.self
  }
  uses.append("CBCharacteristic : class CBCharacteristic")
  do {
    let path: KeyPath<CBCharacteristic, [CBDescriptor]?> = \.descriptors
    writable.note(path, "CBCharacteristic.descriptors")
  }
  uses.append("CBCharacteristic.descriptors : var descriptors: [CBDescriptor]? { get }")
  do {
    let path: KeyPath<CBCharacteristic, Bool> = \.isNotifying
    writable.note(path, "CBCharacteristic.isNotifying")
  }
  uses.append("CBCharacteristic.isNotifying : var isNotifying: Bool { get }")
  do {
    let path: KeyPath<CBCharacteristic, CBCharacteristicProperties> = \.properties
    writable.note(path, "CBCharacteristic.properties")
  }
  uses.append("CBCharacteristic.properties : var properties: CBCharacteristicProperties { get }")
  do {
    let path: KeyPath<CBCharacteristic, CBService?> = \.service
    writable.note(path, "CBCharacteristic.service")
  }
  uses.append("CBCharacteristic.service : weak var service: CBService? { get }")
  do {
    let path: KeyPath<CBCharacteristic, Data?> = \.value
    writable.note(path, "CBCharacteristic.value")
  }
  uses.append("CBCharacteristic.value : var value: Data? { get }")
}

private func useCBCharacteristicProperties(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBCharacteristicProperties.Type = CBCharacteristicProperties.self
  }
  uses.append("CBCharacteristicProperties : struct CBCharacteristicProperties")
  do {
    let _: CBCharacteristicProperties = CBCharacteristicProperties.authenticatedSignedWrites
  }
  uses.append("CBCharacteristicProperties.authenticatedSignedWrites : static var authenticatedSignedWrites: CBCharacteristicProperties { get }")
  do {
    let _: CBCharacteristicProperties = CBCharacteristicProperties.broadcast
  }
  uses.append("CBCharacteristicProperties.broadcast : static var broadcast: CBCharacteristicProperties { get }")
  do {
    let _: CBCharacteristicProperties = CBCharacteristicProperties.extendedProperties
  }
  uses.append("CBCharacteristicProperties.extendedProperties : static var extendedProperties: CBCharacteristicProperties { get }")
  do {
    let _: CBCharacteristicProperties = CBCharacteristicProperties.indicate
  }
  uses.append("CBCharacteristicProperties.indicate : static var indicate: CBCharacteristicProperties { get }")
  do {
    let _: CBCharacteristicProperties = CBCharacteristicProperties.indicateEncryptionRequired
  }
  uses.append("CBCharacteristicProperties.indicateEncryptionRequired : static var indicateEncryptionRequired: CBCharacteristicProperties { get }")
  do {
    let _: (UInt) -> CBCharacteristicProperties = CBCharacteristicProperties.init(rawValue:)
  }
  uses.append("CBCharacteristicProperties.init(rawValue:) : init(rawValue: UInt)")
  do {
    let _: CBCharacteristicProperties = CBCharacteristicProperties.notify
  }
  uses.append("CBCharacteristicProperties.notify : static var notify: CBCharacteristicProperties { get }")
  do {
    let _: CBCharacteristicProperties = CBCharacteristicProperties.notifyEncryptionRequired
  }
  uses.append("CBCharacteristicProperties.notifyEncryptionRequired : static var notifyEncryptionRequired: CBCharacteristicProperties { get }")
  do {
    let _: CBCharacteristicProperties = CBCharacteristicProperties.read
  }
  uses.append("CBCharacteristicProperties.read : static var read: CBCharacteristicProperties { get }")
  do {
    let _: CBCharacteristicProperties = CBCharacteristicProperties.write
  }
  uses.append("CBCharacteristicProperties.write : static var write: CBCharacteristicProperties { get }")
  do {
    let _: CBCharacteristicProperties = CBCharacteristicProperties.writeWithoutResponse
  }
  uses.append("CBCharacteristicProperties.writeWithoutResponse : static var writeWithoutResponse: CBCharacteristicProperties { get }")
}

private func useCBCharacteristicWriteType(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBCharacteristicWriteType.Type = CBCharacteristicWriteType.self
  }
  uses.append("CBCharacteristicWriteType : enum CBCharacteristicWriteType")
  do {
    let _: (Int) -> CBCharacteristicWriteType? = CBCharacteristicWriteType.init(rawValue:)
  }
  uses.append("CBCharacteristicWriteType.init(rawValue:) : init?(rawValue: Int)")
  do {
    let _: CBCharacteristicWriteType = CBCharacteristicWriteType.withResponse
  }
  uses.append("CBCharacteristicWriteType.withResponse : case withResponse")
  do {
    let _: CBCharacteristicWriteType = CBCharacteristicWriteType.withoutResponse
  }
  uses.append("CBCharacteristicWriteType.withoutResponse : case withoutResponse")
}

private func useCBConnectPeripheralOptionEnableAutoReconnect(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBConnectPeripheralOptionEnableAutoReconnect
  }
  uses.append("CBConnectPeripheralOptionEnableAutoReconnect : let CBConnectPeripheralOptionEnableAutoReconnect: String")
}

private func useCBConnectPeripheralOptionEnableTransportBridgingKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBConnectPeripheralOptionEnableTransportBridgingKey
  }
  uses.append("CBConnectPeripheralOptionEnableTransportBridgingKey : let CBConnectPeripheralOptionEnableTransportBridgingKey: String")
}

private func useCBConnectPeripheralOptionNotifyOnConnectionKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBConnectPeripheralOptionNotifyOnConnectionKey
  }
  uses.append("CBConnectPeripheralOptionNotifyOnConnectionKey : let CBConnectPeripheralOptionNotifyOnConnectionKey: String")
}

private func useCBConnectPeripheralOptionNotifyOnDisconnectionKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBConnectPeripheralOptionNotifyOnDisconnectionKey
  }
  uses.append("CBConnectPeripheralOptionNotifyOnDisconnectionKey : let CBConnectPeripheralOptionNotifyOnDisconnectionKey: String")
}

private func useCBConnectPeripheralOptionNotifyOnNotificationKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBConnectPeripheralOptionNotifyOnNotificationKey
  }
  uses.append("CBConnectPeripheralOptionNotifyOnNotificationKey : let CBConnectPeripheralOptionNotifyOnNotificationKey: String")
}

private func useCBConnectPeripheralOptionRequiresANCS(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBConnectPeripheralOptionRequiresANCS
  }
  uses.append("CBConnectPeripheralOptionRequiresANCS : let CBConnectPeripheralOptionRequiresANCS: String")
}

private func useCBConnectPeripheralOptionStartDelayKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBConnectPeripheralOptionStartDelayKey
  }
  uses.append("CBConnectPeripheralOptionStartDelayKey : let CBConnectPeripheralOptionStartDelayKey: String")
}

private func useCBConnectionEvent(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBConnectionEvent.Type = CBConnectionEvent.self
  }
  uses.append("CBConnectionEvent : enum CBConnectionEvent")
  do {
    let _: (Int) -> CBConnectionEvent? = CBConnectionEvent.init(rawValue:)
  }
  uses.append("CBConnectionEvent.init(rawValue:) : init?(rawValue: Int)")
  do {
    let _: CBConnectionEvent = CBConnectionEvent.peerConnected
  }
  uses.append("CBConnectionEvent.peerConnected : case peerConnected")
  do {
    let _: CBConnectionEvent = CBConnectionEvent.peerDisconnected
  }
  uses.append("CBConnectionEvent.peerDisconnected : case peerDisconnected")
}

private func useCBConnectionEventMatchingOption(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBConnectionEventMatchingOption.Type = CBConnectionEventMatchingOption.self
  }
  uses.append("CBConnectionEventMatchingOption : struct CBConnectionEventMatchingOption")
  do {
    let _: (String) -> CBConnectionEventMatchingOption = CBConnectionEventMatchingOption.init(rawValue:)
  }
  uses.append("CBConnectionEventMatchingOption.init(rawValue:) : init(rawValue: String)")
  do {
    let _: CBConnectionEventMatchingOption = CBConnectionEventMatchingOption.peripheralUUIDs
  }
  uses.append("CBConnectionEventMatchingOption.peripheralUUIDs : static let peripheralUUIDs: CBConnectionEventMatchingOption")
  do {
    let _: CBConnectionEventMatchingOption = CBConnectionEventMatchingOption.serviceUUIDs
  }
  uses.append("CBConnectionEventMatchingOption.serviceUUIDs : static let serviceUUIDs: CBConnectionEventMatchingOption")
}

private func useCBDescriptor(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBDescriptor.self
  }
  uses.append("CBDescriptor : class CBDescriptor")
  do {
    let path: KeyPath<CBDescriptor, CBCharacteristic?> = \.characteristic
    writable.note(path, "CBDescriptor.characteristic")
  }
  uses.append("CBDescriptor.characteristic : weak var characteristic: CBCharacteristic? { get }")
  do {
    let path: KeyPath<CBDescriptor, Any?> = \.value
    writable.note(path, "CBDescriptor.value")
  }
  uses.append("CBDescriptor.value : var value: Any? { get }")
}

private func useCBError(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBError.Type = CBError.self
  }
  uses.append("CBError : struct CBError")
  do {
    let _: CBError.Code.Type = CBError.Code.self
  }
  uses.append("CBError.Code : enum Code")
  do {
    let _: CBError.Code = CBError.Code.alreadyAdvertising
  }
  uses.append("CBError.Code.alreadyAdvertising : case alreadyAdvertising")
  do {
    let _: CBError.Code = CBError.Code.connectionFailed
  }
  uses.append("CBError.Code.connectionFailed : case connectionFailed")
  do {
    let _: CBError.Code = CBError.Code.connectionLimitReached
  }
  uses.append("CBError.Code.connectionLimitReached : case connectionLimitReached")
  do {
    let _: CBError.Code = CBError.Code.connectionTimeout
  }
  uses.append("CBError.Code.connectionTimeout : case connectionTimeout")
  do {
    let _: CBError.Code = CBError.Code.encryptionTimedOut
  }
  uses.append("CBError.Code.encryptionTimedOut : case encryptionTimedOut")
  do {
    let _: (Int) -> CBError.Code? = CBError.Code.init(rawValue:)
  }
  uses.append("CBError.Code.init(rawValue:) : init?(rawValue: Int)")
  do {
    let _: CBError.Code = CBError.Code.invalidHandle
  }
  uses.append("CBError.Code.invalidHandle : case invalidHandle")
  do {
    let _: CBError.Code = CBError.Code.invalidParameters
  }
  uses.append("CBError.Code.invalidParameters : case invalidParameters")
  do {
    let _: CBError.Code = CBError.Code.leGattExceededBackgroundNotificationLimit
  }
  uses.append("CBError.Code.leGattExceededBackgroundNotificationLimit : case leGattExceededBackgroundNotificationLimit")
  do {
    let _: CBError.Code = CBError.Code.leGattNearBackgroundNotificationLimit
  }
  uses.append("CBError.Code.leGattNearBackgroundNotificationLimit : case leGattNearBackgroundNotificationLimit")
  do {
    let _: CBError.Code = CBError.Code.notConnected
  }
  uses.append("CBError.Code.notConnected : case notConnected")
  do {
    let _: CBError.Code = CBError.Code.operationCancelled
  }
  uses.append("CBError.Code.operationCancelled : case operationCancelled")
  do {
    let _: CBError.Code = CBError.Code.operationNotSupported
  }
  uses.append("CBError.Code.operationNotSupported : case operationNotSupported")
  do {
    let _: CBError.Code = CBError.Code.outOfSpace
  }
  uses.append("CBError.Code.outOfSpace : case outOfSpace")
  do {
    let _: CBError.Code = CBError.Code.peerRemovedPairingInformation
  }
  uses.append("CBError.Code.peerRemovedPairingInformation : case peerRemovedPairingInformation")
  do {
    let _: CBError.Code = CBError.Code.peripheralDisconnected
  }
  uses.append("CBError.Code.peripheralDisconnected : case peripheralDisconnected")
  do {
    let _: CBError.Code = CBError.Code.tooManyLEPairedDevices
  }
  uses.append("CBError.Code.tooManyLEPairedDevices : case tooManyLEPairedDevices")
  do {
    let _: CBError.Code = CBError.Code.unknown
  }
  uses.append("CBError.Code.unknown : case unknown")
  do {
    let _: CBError.Code = CBError.Code.unknownDevice
  }
  uses.append("CBError.Code.unknownDevice : static var unknownDevice: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.Code.uuidNotAllowed
  }
  uses.append("CBError.Code.uuidNotAllowed : case uuidNotAllowed")
  do {
    let _: CBError.Code = CBError.alreadyAdvertising
  }
  uses.append("CBError.alreadyAdvertising : static var alreadyAdvertising: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.connectionFailed
  }
  uses.append("CBError.connectionFailed : static var connectionFailed: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.connectionLimitReached
  }
  uses.append("CBError.connectionLimitReached : static var connectionLimitReached: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.connectionTimeout
  }
  uses.append("CBError.connectionTimeout : static var connectionTimeout: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.encryptionTimedOut
  }
  uses.append("CBError.encryptionTimedOut : static var encryptionTimedOut: CBError.Code { get }")
  do {
    let _: String = CBError.errorDomain
  }
  uses.append("CBError.errorDomain : static var errorDomain: String { get }")
  do {
    let _: CBError.Code = CBError.invalidHandle
  }
  uses.append("CBError.invalidHandle : static var invalidHandle: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.invalidParameters
  }
  uses.append("CBError.invalidParameters : static var invalidParameters: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.leGattExceededBackgroundNotificationLimit
  }
  uses.append("CBError.leGattExceededBackgroundNotificationLimit : static var leGattExceededBackgroundNotificationLimit: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.leGattNearBackgroundNotificationLimit
  }
  uses.append("CBError.leGattNearBackgroundNotificationLimit : static var leGattNearBackgroundNotificationLimit: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.notConnected
  }
  uses.append("CBError.notConnected : static var notConnected: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.operationCancelled
  }
  uses.append("CBError.operationCancelled : static var operationCancelled: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.operationNotSupported
  }
  uses.append("CBError.operationNotSupported : static var operationNotSupported: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.outOfSpace
  }
  uses.append("CBError.outOfSpace : static var outOfSpace: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.peerRemovedPairingInformation
  }
  uses.append("CBError.peerRemovedPairingInformation : static var peerRemovedPairingInformation: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.peripheralDisconnected
  }
  uses.append("CBError.peripheralDisconnected : static var peripheralDisconnected: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.tooManyLEPairedDevices
  }
  uses.append("CBError.tooManyLEPairedDevices : static var tooManyLEPairedDevices: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.unknown
  }
  uses.append("CBError.unknown : static var unknown: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.unknownDevice
  }
  uses.append("CBError.unknownDevice : static var unknownDevice: CBError.Code { get }")
  do {
    let _: CBError.Code = CBError.uuidNotAllowed
  }
  uses.append("CBError.uuidNotAllowed : static var uuidNotAllowed: CBError.Code { get }")
  do {
    let _: (CBError.Code, [String : Any]) -> CBError = CBError.init(_:userInfo:)
    _ = { (p0: CBError.Code) in _ = CBError(p0) }
  }
  uses.append("CBError.init(_:userInfo:) : init(_ code: CBError.Code, userInfo: [String : Any] = [:])")
  do {
    let path: KeyPath<CBError, CBError.Code> = \.code
    writable.note(path, "CBError.code")
  }
  uses.append("CBError.code : var code: CBError.Code { get }")
  do {
    let path: KeyPath<CBError, [String : Any]> = \.userInfo
    writable.note(path, "CBError.userInfo")
  }
  uses.append("CBError.userInfo : var userInfo: [String : Any] { get }")
  do {
    let path: KeyPath<CBError, Int> = \.errorCode
    writable.note(path, "CBError.errorCode")
  }
  uses.append("CBError.errorCode : var errorCode: Int { get }")
  do {
    let path: KeyPath<CBError, [String : Any]> = \.errorUserInfo
    writable.note(path, "CBError.errorUserInfo")
  }
  uses.append("CBError.errorUserInfo : var errorUserInfo: [String : Any] { get }")
  do {
    let path: KeyPath<CBError, String> = \.localizedDescription
    writable.note(path, "CBError.localizedDescription")
  }
  uses.append("CBError.localizedDescription : var localizedDescription: String { get }")
  do {
    _ = { (left: CBError.Code, right: any Error) -> Bool in left ~= right }
  }
  uses.append("CBError.Code.~=(_:_:) : static func ~= (match: CBError.Code, error: any Error) -> Bool")
}

private func useCBErrorDomain(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBErrorDomain
  }
  uses.append("CBErrorDomain : let CBErrorDomain: String")
}

private func useCBL2CAPChannel(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBL2CAPChannel.self
  }
  uses.append("CBL2CAPChannel : class CBL2CAPChannel")
  do {
    let path: KeyPath<CBL2CAPChannel, InputStream?> = \.inputStream
    writable.note(path, "CBL2CAPChannel.inputStream")
  }
  uses.append("CBL2CAPChannel.inputStream : var inputStream: InputStream! { get }")
  do {
    let path: KeyPath<CBL2CAPChannel, OutputStream?> = \.outputStream
    writable.note(path, "CBL2CAPChannel.outputStream")
  }
  uses.append("CBL2CAPChannel.outputStream : var outputStream: OutputStream! { get }")
  do {
    let path: KeyPath<CBL2CAPChannel, CBPeer?> = \.peer
    writable.note(path, "CBL2CAPChannel.peer")
  }
  uses.append("CBL2CAPChannel.peer : var peer: CBPeer! { get }")
  do {
    let path: KeyPath<CBL2CAPChannel, CBL2CAPPSM> = \.psm
    writable.note(path, "CBL2CAPChannel.psm")
  }
  uses.append("CBL2CAPChannel.psm : var psm: CBL2CAPPSM { get }")
}

private func useCBL2CAPPSM(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: UInt16.Type = CBL2CAPPSM.self
  }
  uses.append("CBL2CAPPSM : typealias CBL2CAPPSM = UInt16")
}

private func useCBManager(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBManager.self
  }
  uses.append("CBManager : class CBManager")
  do {
    let _: CBManagerAuthorization = CBManager.authorization
  }
  uses.append("CBManager.authorization : class var authorization: CBManagerAuthorization { get }")
  do {
    let path: KeyPath<CBManager, CBManagerState> = \.state
    writable.note(path, "CBManager.state")
  }
  uses.append("CBManager.state : var state: CBManagerState { get }")
}

private func useCBManagerAuthorization(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBManagerAuthorization.Type = CBManagerAuthorization.self
  }
  uses.append("CBManagerAuthorization : enum CBManagerAuthorization")
  do {
    let _: CBManagerAuthorization = CBManagerAuthorization.allowedAlways
  }
  uses.append("CBManagerAuthorization.allowedAlways : case allowedAlways")
  do {
    let _: CBManagerAuthorization = CBManagerAuthorization.denied
  }
  uses.append("CBManagerAuthorization.denied : case denied")
  do {
    let _: (Int) -> CBManagerAuthorization? = CBManagerAuthorization.init(rawValue:)
  }
  uses.append("CBManagerAuthorization.init(rawValue:) : init?(rawValue: Int)")
  do {
    let _: CBManagerAuthorization = CBManagerAuthorization.notDetermined
  }
  uses.append("CBManagerAuthorization.notDetermined : case notDetermined")
  do {
    let _: CBManagerAuthorization = CBManagerAuthorization.restricted
  }
  uses.append("CBManagerAuthorization.restricted : case restricted")
}

private func useCBManagerState(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBManagerState.Type = CBManagerState.self
  }
  uses.append("CBManagerState : enum CBManagerState")
  do {
    let _: (Int) -> CBManagerState? = CBManagerState.init(rawValue:)
  }
  uses.append("CBManagerState.init(rawValue:) : init?(rawValue: Int)")
  do {
    let _: CBManagerState = CBManagerState.poweredOff
  }
  uses.append("CBManagerState.poweredOff : case poweredOff")
  do {
    let _: CBManagerState = CBManagerState.poweredOn
  }
  uses.append("CBManagerState.poweredOn : case poweredOn")
  do {
    let _: CBManagerState = CBManagerState.resetting
  }
  uses.append("CBManagerState.resetting : case resetting")
  do {
    let _: CBManagerState = CBManagerState.unauthorized
  }
  uses.append("CBManagerState.unauthorized : case unauthorized")
  do {
    let _: CBManagerState = CBManagerState.unknown
  }
  uses.append("CBManagerState.unknown : case unknown")
  do {
    let _: CBManagerState = CBManagerState.unsupported
  }
  uses.append("CBManagerState.unsupported : case unsupported")
}

private func useCBMutableCharacteristic(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBMutableCharacteristic.self
  }
  uses.append("CBMutableCharacteristic : class CBMutableCharacteristic")
  do {
    let _: ReferenceWritableKeyPath<CBMutableCharacteristic, [CBDescriptor]?> = \.descriptors
  }
  uses.append("CBMutableCharacteristic.descriptors : var descriptors: [CBDescriptor]? { get set }")
  do {
    let _: (CBUUID, CBCharacteristicProperties, Data?, CBAttributePermissions) -> CBMutableCharacteristic = CBMutableCharacteristic.init(type:properties:value:permissions:)
  }
  uses.append("CBMutableCharacteristic.init(type:properties:value:permissions:) : init(type UUID: CBUUID, properties: CBCharacteristicProperties, value: Data?, permissions: CBAttributePermissions)")
  do {
    let _: ReferenceWritableKeyPath<CBMutableCharacteristic, CBAttributePermissions> = \.permissions
  }
  uses.append("CBMutableCharacteristic.permissions : var permissions: CBAttributePermissions { get set }")
  do {
    let _: ReferenceWritableKeyPath<CBMutableCharacteristic, CBCharacteristicProperties> = \.properties
  }
  uses.append("CBMutableCharacteristic.properties : var properties: CBCharacteristicProperties { get set }")
  do {
    let path: KeyPath<CBMutableCharacteristic, [CBCentral]?> = \.subscribedCentrals
    writable.note(path, "CBMutableCharacteristic.subscribedCentrals")
  }
  uses.append("CBMutableCharacteristic.subscribedCentrals : var subscribedCentrals: [CBCentral]? { get }")
  do {
    let _: ReferenceWritableKeyPath<CBMutableCharacteristic, Data?> = \.value
  }
  uses.append("CBMutableCharacteristic.value : var value: Data? { get set }")
}

private func useCBMutableDescriptor(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBMutableDescriptor.self
  }
  uses.append("CBMutableDescriptor : class CBMutableDescriptor")
  do {
    let _: (CBUUID, Any?) -> CBMutableDescriptor = CBMutableDescriptor.init(type:value:)
  }
  uses.append("CBMutableDescriptor.init(type:value:) : init(type UUID: CBUUID, value: Any?)")
}

private func useCBMutableService(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBMutableService.self
  }
  uses.append("CBMutableService : class CBMutableService")
  do {
    let _: ReferenceWritableKeyPath<CBMutableService, [CBCharacteristic]?> = \.characteristics
  }
  uses.append("CBMutableService.characteristics : var characteristics: [CBCharacteristic]? { get set }")
  do {
    let _: ReferenceWritableKeyPath<CBMutableService, [CBService]?> = \.includedServices
  }
  uses.append("CBMutableService.includedServices : var includedServices: [CBService]? { get set }")
  do {
    let _: (CBUUID, Bool) -> CBMutableService = CBMutableService.init(type:primary:)
  }
  uses.append("CBMutableService.init(type:primary:) : init(type UUID: CBUUID, primary isPrimary: Bool)")
}

private func useCBPeer(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBPeer.self
  }
  uses.append("CBPeer : class CBPeer")
  do {
    let path: KeyPath<CBPeer, UUID> = \.identifier
    writable.note(path, "CBPeer.identifier")
  }
  uses.append("CBPeer.identifier : var identifier: UUID { get }")
}

private func useCBPeripheral(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBPeripheral.self
  }
  uses.append("CBPeripheral : class CBPeripheral")
  do {
    let path: KeyPath<CBPeripheral, Bool> = \.ancsAuthorized
    writable.note(path, "CBPeripheral.ancsAuthorized")
  }
  uses.append("CBPeripheral.ancsAuthorized : var ancsAuthorized: Bool { get }")
  do {
    let path: KeyPath<CBPeripheral, Bool> = \.canSendWriteWithoutResponse
    writable.note(path, "CBPeripheral.canSendWriteWithoutResponse")
  }
  uses.append("CBPeripheral.canSendWriteWithoutResponse : var canSendWriteWithoutResponse: Bool { get }")
  do {
    let _: (CBPeripheral) -> () -> Void = CBPeripheral.cancelChannelSoundingSession
  }
  uses.append("CBPeripheral.cancelChannelSoundingSession() : func cancelChannelSoundingSession()")
  do {
    let _: ReferenceWritableKeyPath<CBPeripheral, (any CBPeripheralDelegate)?> = \.delegate
  }
  uses.append("CBPeripheral.delegate : weak var delegate: (any CBPeripheralDelegate)? { get set }")
  do {
    let _: (CBPeripheral) -> ([CBUUID]?, CBService) -> Void = CBPeripheral.discoverCharacteristics(_:for:)
  }
  uses.append("CBPeripheral.discoverCharacteristics(_:for:) : func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService)")
  do {
    let _: (CBPeripheral) -> (CBCharacteristic) -> Void = CBPeripheral.discoverDescriptors(for:)
  }
  uses.append("CBPeripheral.discoverDescriptors(for:) : func discoverDescriptors(for characteristic: CBCharacteristic)")
  do {
    let _: (CBPeripheral) -> ([CBUUID]?, CBService) -> Void = CBPeripheral.discoverIncludedServices(_:for:)
  }
  uses.append("CBPeripheral.discoverIncludedServices(_:for:) : func discoverIncludedServices(_ includedServiceUUIDs: [CBUUID]?, for service: CBService)")
  do {
    let _: (CBPeripheral) -> ([CBUUID]?) -> Void = CBPeripheral.discoverServices(_:)
  }
  uses.append("CBPeripheral.discoverServices(_:) : func discoverServices(_ serviceUUIDs: [CBUUID]?)")
  do {
    let _: (CBPeripheral) -> (CBCharacteristicWriteType) -> Int = CBPeripheral.maximumWriteValueLength(for:)
  }
  uses.append("CBPeripheral.maximumWriteValueLength(for:) : func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int")
  do {
    let path: KeyPath<CBPeripheral, String?> = \.name
    writable.note(path, "CBPeripheral.name")
  }
  uses.append("CBPeripheral.name : var name: String? { get }")
  do {
    let _: (CBPeripheral) -> (CBL2CAPPSM) -> Void = CBPeripheral.openL2CAPChannel(_:)
  }
  uses.append("CBPeripheral.openL2CAPChannel(_:) : func openL2CAPChannel(_ PSM: CBL2CAPPSM)")
  do {
    let _: (CBPeripheral) -> () -> Void = CBPeripheral.readRSSI
  }
  uses.append("CBPeripheral.readRSSI() : func readRSSI()")
  do {
    let _: (CBPeripheral) -> (CBCharacteristic) -> Void = CBPeripheral.readValue(for:)
  }
  uses.append("CBPeripheral.readValue(for:) : func readValue(for characteristic: CBCharacteristic)")
  do {
    let _: (CBPeripheral) -> (CBDescriptor) -> Void = CBPeripheral.readValue(for:)
  }
  uses.append("CBPeripheral.readValue(for:) : func readValue(for descriptor: CBDescriptor)")
  do {
    let path: KeyPath<CBPeripheral, [CBService]?> = \.services
    writable.note(path, "CBPeripheral.services")
  }
  uses.append("CBPeripheral.services : var services: [CBService]? { get }")
  do {
    let _: (CBPeripheral) -> (Bool, CBCharacteristic) -> Void = CBPeripheral.setNotifyValue(_:for:)
  }
  uses.append("CBPeripheral.setNotifyValue(_:for:) : func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic)")
  do {
    let _: (CBPeripheral) -> (CBChannelSoundingSessionConfiguration) -> Void = CBPeripheral.startChannelSoundingSession(_:)
  }
  uses.append("CBPeripheral.startChannelSoundingSession(_:) : func startChannelSoundingSession(_ configuration: CBChannelSoundingSessionConfiguration)")
  do {
    let path: KeyPath<CBPeripheral, CBPeripheralState> = \.state
    writable.note(path, "CBPeripheral.state")
  }
  uses.append("CBPeripheral.state : var state: CBPeripheralState { get }")
  do {
    let _: (CBPeripheral) -> (Data, CBDescriptor) -> Void = CBPeripheral.writeValue(_:for:)
  }
  uses.append("CBPeripheral.writeValue(_:for:) : func writeValue(_ data: Data, for descriptor: CBDescriptor)")
  do {
    let _: (CBPeripheral) -> (Data, CBCharacteristic, CBCharacteristicWriteType) -> Void = CBPeripheral.writeValue(_:for:type:)
  }
  uses.append("CBPeripheral.writeValue(_:for:type:) : func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType)")
}

private func useCBPeripheralDelegate(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: (any CBPeripheralDelegate).Type = (any CBPeripheralDelegate).self
    _ = { (subject: any CBPeripheralDelegate) -> any NSObjectProtocol in subject }
  }
  uses.append("CBPeripheralDelegate : protocol CBPeripheralDelegate : NSObjectProtocol")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: (any Error)?) in subject.peripheral(p0, didCompleteChannelSoundingSession: p1) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didCompleteChannelSoundingSession:) : optional func peripheral(_ peripheral: CBPeripheral, didCompleteChannelSoundingSession error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: CBService, p2: (any Error)?) in subject.peripheral(p0, didDiscoverCharacteristicsFor: p1, error: p2) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didDiscoverCharacteristicsFor:error:) : optional func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: CBCharacteristic, p2: (any Error)?) in subject.peripheral(p0, didDiscoverDescriptorsFor: p1, error: p2) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didDiscoverDescriptorsFor:error:) : optional func peripheral(_ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: CBService, p2: (any Error)?) in subject.peripheral(p0, didDiscoverIncludedServicesFor: p1, error: p2) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didDiscoverIncludedServicesFor:error:) : optional func peripheral(_ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: (any Error)?) in subject.peripheral(p0, didDiscoverServices: p1) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didDiscoverServices:) : optional func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: [CBService]) in subject.peripheral(p0, didModifyServices: p1) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didModifyServices:) : optional func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService])")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: CBL2CAPChannel?, p2: (any Error)?) in subject.peripheral(p0, didOpen: p1, error: p2) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didOpen:error:) : optional func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: NSNumber, p2: (any Error)?) in subject.peripheral(p0, didReadRSSI: p1, error: p2) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didReadRSSI:error:) : optional func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: CBChannelSoundingProcedureResults?, p2: (any Error)?) in subject.peripheral(p0, didReceive: p1, error: p2) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didReceive:error:) : optional func peripheral(_ peripheral: CBPeripheral, didReceive results: CBChannelSoundingProcedureResults?, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: CBCharacteristic, p2: (any Error)?) in subject.peripheral(p0, didUpdateNotificationStateFor: p1, error: p2) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didUpdateNotificationStateFor:error:) : optional func peripheral(_ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: CBCharacteristic, p2: (any Error)?) in subject.peripheral(p0, didUpdateValueFor: p1, error: p2) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didUpdateValueFor:error:) : optional func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: CBDescriptor, p2: (any Error)?) in subject.peripheral(p0, didUpdateValueFor: p1, error: p2) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didUpdateValueFor:error:) : optional func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: CBCharacteristic, p2: (any Error)?) in subject.peripheral(p0, didWriteValueFor: p1, error: p2) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didWriteValueFor:error:) : optional func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: CBDescriptor, p2: (any Error)?) in subject.peripheral(p0, didWriteValueFor: p1, error: p2) }
  }
  uses.append("CBPeripheralDelegate.peripheral(_:didWriteValueFor:error:) : optional func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral) in subject.peripheralDidUpdateName(p0) }
  }
  uses.append("CBPeripheralDelegate.peripheralDidUpdateName(_:) : optional func peripheralDidUpdateName(_ peripheral: CBPeripheral)")
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral) in subject.peripheralIsReady(toSendWriteWithoutResponse: p0) }
  }
  uses.append("CBPeripheralDelegate.peripheralIsReady(toSendWriteWithoutResponse:) : optional func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral)")
}

private func useCBPeripheralManager(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBPeripheralManager.self
  }
  uses.append("CBPeripheralManager : class CBPeripheralManager")
  do {
    let _: (CBPeripheralManager) -> (CBMutableService) -> Void = CBPeripheralManager.add(_:)
  }
  uses.append("CBPeripheralManager.add(_:) : func add(_ service: CBMutableService)")
  do {
    let _: ReferenceWritableKeyPath<CBPeripheralManager, (any CBPeripheralManagerDelegate)?> = \.delegate
  }
  uses.append("CBPeripheralManager.delegate : weak var delegate: (any CBPeripheralManagerDelegate)? { get set }")
  do {
    let _: () -> CBPeripheralManager = CBPeripheralManager.init
  }
  uses.append("CBPeripheralManager.init() : convenience init()")
  do {
    let _: ((any CBPeripheralManagerDelegate)?, dispatch_queue_t?) -> CBPeripheralManager = CBPeripheralManager.init(delegate:queue:)
  }
  uses.append("CBPeripheralManager.init(delegate:queue:) : convenience init(delegate: (any CBPeripheralManagerDelegate)?, queue: dispatch_queue_t?)")
  do {
    let _: ((any CBPeripheralManagerDelegate)?, dispatch_queue_t?, [String : Any]?) -> CBPeripheralManager = CBPeripheralManager.init(delegate:queue:options:)
    _ = { (p0: (any CBPeripheralManagerDelegate)?, p1: dispatch_queue_t?) in _ = CBPeripheralManager(delegate: p0, queue: p1) }
  }
  uses.append("CBPeripheralManager.init(delegate:queue:options:) : init(delegate: (any CBPeripheralManagerDelegate)?, queue: dispatch_queue_t?, options: [String : Any]? = nil)")
  do {
    let path: KeyPath<CBPeripheralManager, Bool> = \.isAdvertising
    writable.note(path, "CBPeripheralManager.isAdvertising")
  }
  uses.append("CBPeripheralManager.isAdvertising : var isAdvertising: Bool { get }")
  do {
    let _: (CBPeripheralManager) -> (Bool) -> Void = CBPeripheralManager.publishL2CAPChannel(withEncryption:)
  }
  uses.append("CBPeripheralManager.publishL2CAPChannel(withEncryption:) : func publishL2CAPChannel(withEncryption encryptionRequired: Bool)")
  do {
    let _: (CBPeripheralManager) -> (CBMutableService) -> Void = CBPeripheralManager.remove(_:)
  }
  uses.append("CBPeripheralManager.remove(_:) : func remove(_ service: CBMutableService)")
  do {
    let _: (CBPeripheralManager) -> () -> Void = CBPeripheralManager.removeAllServices
  }
  uses.append("CBPeripheralManager.removeAllServices() : func removeAllServices()")
  do {
    let _: (CBPeripheralManager) -> (CBATTRequest, CBATTError.Code) -> Void = CBPeripheralManager.respond(to:withResult:)
  }
  uses.append("CBPeripheralManager.respond(to:withResult:) : func respond(to request: CBATTRequest, withResult result: CBATTError.Code)")
  do {
    let _: (CBPeripheralManager) -> (CBPeripheralManagerConnectionLatency, CBCentral) -> Void = CBPeripheralManager.setDesiredConnectionLatency(_:for:)
  }
  uses.append("CBPeripheralManager.setDesiredConnectionLatency(_:for:) : func setDesiredConnectionLatency(_ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral)")
  do {
    let _: (CBPeripheralManager) -> ([String : Any]?) -> Void = CBPeripheralManager.startAdvertising(_:)
  }
  uses.append("CBPeripheralManager.startAdvertising(_:) : func startAdvertising(_ advertisementData: [String : Any]?)")
  do {
    let _: (CBPeripheralManager) -> () -> Void = CBPeripheralManager.stopAdvertising
  }
  uses.append("CBPeripheralManager.stopAdvertising() : func stopAdvertising()")
  do {
    let _: (CBPeripheralManager) -> (CBL2CAPPSM) -> Void = CBPeripheralManager.unpublishL2CAPChannel(_:)
  }
  uses.append("CBPeripheralManager.unpublishL2CAPChannel(_:) : func unpublishL2CAPChannel(_ PSM: CBL2CAPPSM)")
  do {
    let _: (CBPeripheralManager) -> (Data, CBMutableCharacteristic, [CBCentral]?) -> Bool = CBPeripheralManager.updateValue(_:for:onSubscribedCentrals:)
  }
  uses.append("CBPeripheralManager.updateValue(_:for:onSubscribedCentrals:) : func updateValue(_ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?) -> Bool")
}

private func useCBPeripheralManagerConnectionLatency(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBPeripheralManagerConnectionLatency.Type = CBPeripheralManagerConnectionLatency.self
  }
  uses.append("CBPeripheralManagerConnectionLatency : enum CBPeripheralManagerConnectionLatency")
  do {
    let _: CBPeripheralManagerConnectionLatency = CBPeripheralManagerConnectionLatency.high
  }
  uses.append("CBPeripheralManagerConnectionLatency.high : case high")
  do {
    let _: (Int) -> CBPeripheralManagerConnectionLatency? = CBPeripheralManagerConnectionLatency.init(rawValue:)
  }
  uses.append("CBPeripheralManagerConnectionLatency.init(rawValue:) : init?(rawValue: Int)")
  do {
    let _: CBPeripheralManagerConnectionLatency = CBPeripheralManagerConnectionLatency.low
  }
  uses.append("CBPeripheralManagerConnectionLatency.low : case low")
  do {
    let _: CBPeripheralManagerConnectionLatency = CBPeripheralManagerConnectionLatency.medium
  }
  uses.append("CBPeripheralManagerConnectionLatency.medium : case medium")
}

private func useCBPeripheralManagerDelegate(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: (any CBPeripheralManagerDelegate).Type = (any CBPeripheralManagerDelegate).self
    _ = { (subject: any CBPeripheralManagerDelegate) -> any NSObjectProtocol in subject }
  }
  uses.append("CBPeripheralManagerDelegate : protocol CBPeripheralManagerDelegate : NSObjectProtocol")
  do {
    _ = { (subject: any CBPeripheralManagerDelegate, p0: CBPeripheralManager, p1: CBCentral, p2: CBCharacteristic) in subject.peripheralManager(p0, central: p1, didSubscribeTo: p2) }
  }
  uses.append("CBPeripheralManagerDelegate.peripheralManager(_:central:didSubscribeTo:) : optional func peripheralManager(_ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic)")
  do {
    _ = { (subject: any CBPeripheralManagerDelegate, p0: CBPeripheralManager, p1: CBCentral, p2: CBCharacteristic) in subject.peripheralManager(p0, central: p1, didUnsubscribeFrom: p2) }
  }
  uses.append("CBPeripheralManagerDelegate.peripheralManager(_:central:didUnsubscribeFrom:) : optional func peripheralManager(_ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic)")
  do {
    _ = { (subject: any CBPeripheralManagerDelegate, p0: CBPeripheralManager, p1: CBService, p2: (any Error)?) in subject.peripheralManager(p0, didAdd: p1, error: p2) }
  }
  uses.append("CBPeripheralManagerDelegate.peripheralManager(_:didAdd:error:) : optional func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralManagerDelegate, p0: CBPeripheralManager, p1: CBL2CAPChannel?, p2: (any Error)?) in subject.peripheralManager(p0, didOpen: p1, error: p2) }
  }
  uses.append("CBPeripheralManagerDelegate.peripheralManager(_:didOpen:error:) : optional func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralManagerDelegate, p0: CBPeripheralManager, p1: CBL2CAPPSM, p2: (any Error)?) in subject.peripheralManager(p0, didPublishL2CAPChannel: p1, error: p2) }
  }
  uses.append("CBPeripheralManagerDelegate.peripheralManager(_:didPublishL2CAPChannel:error:) : optional func peripheralManager(_ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralManagerDelegate, p0: CBPeripheralManager, p1: CBATTRequest) in subject.peripheralManager(p0, didReceiveRead: p1) }
  }
  uses.append("CBPeripheralManagerDelegate.peripheralManager(_:didReceiveRead:) : optional func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest)")
  do {
    _ = { (subject: any CBPeripheralManagerDelegate, p0: CBPeripheralManager, p1: [CBATTRequest]) in subject.peripheralManager(p0, didReceiveWrite: p1) }
  }
  uses.append("CBPeripheralManagerDelegate.peripheralManager(_:didReceiveWrite:) : optional func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest])")
  do {
    _ = { (subject: any CBPeripheralManagerDelegate, p0: CBPeripheralManager, p1: CBL2CAPPSM, p2: (any Error)?) in subject.peripheralManager(p0, didUnpublishL2CAPChannel: p1, error: p2) }
  }
  uses.append("CBPeripheralManagerDelegate.peripheralManager(_:didUnpublishL2CAPChannel:error:) : optional func peripheralManager(_ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralManagerDelegate, p0: CBPeripheralManager, p1: [String : Any]) in subject.peripheralManager(p0, willRestoreState: p1) }
  }
  uses.append("CBPeripheralManagerDelegate.peripheralManager(_:willRestoreState:) : optional func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String : Any])")
  do {
    _ = { (subject: any CBPeripheralManagerDelegate, p0: CBPeripheralManager, p1: (any Error)?) in subject.peripheralManagerDidStartAdvertising(p0, error: p1) }
  }
  uses.append("CBPeripheralManagerDelegate.peripheralManagerDidStartAdvertising(_:error:) : optional func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?)")
  do {
    _ = { (subject: any CBPeripheralManagerDelegate, p0: CBPeripheralManager) in subject.peripheralManagerDidUpdateState(p0) }
  }
  uses.append("CBPeripheralManagerDelegate.peripheralManagerDidUpdateState(_:) : func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager)")
  do {
    _ = { (subject: any CBPeripheralManagerDelegate, p0: CBPeripheralManager) in subject.peripheralManagerIsReady(toUpdateSubscribers: p0) }
  }
  uses.append("CBPeripheralManagerDelegate.peripheralManagerIsReady(toUpdateSubscribers:) : optional func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager)")
}

private func useCBPeripheralManagerOptionRestoreIdentifierKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBPeripheralManagerOptionRestoreIdentifierKey
  }
  uses.append("CBPeripheralManagerOptionRestoreIdentifierKey : let CBPeripheralManagerOptionRestoreIdentifierKey: String")
}

private func useCBPeripheralManagerOptionShowPowerAlertKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBPeripheralManagerOptionShowPowerAlertKey
  }
  uses.append("CBPeripheralManagerOptionShowPowerAlertKey : let CBPeripheralManagerOptionShowPowerAlertKey: String")
}

private func useCBPeripheralManagerRestoredStateAdvertisementDataKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBPeripheralManagerRestoredStateAdvertisementDataKey
  }
  uses.append("CBPeripheralManagerRestoredStateAdvertisementDataKey : let CBPeripheralManagerRestoredStateAdvertisementDataKey: String")
}

private func useCBPeripheralManagerRestoredStateServicesKey(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBPeripheralManagerRestoredStateServicesKey
  }
  uses.append("CBPeripheralManagerRestoredStateServicesKey : let CBPeripheralManagerRestoredStateServicesKey: String")
}

private func useCBPeripheralState(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBPeripheralState.Type = CBPeripheralState.self
  }
  uses.append("CBPeripheralState : enum CBPeripheralState")
  do {
    let _: CBPeripheralState = CBPeripheralState.connected
  }
  uses.append("CBPeripheralState.connected : case connected")
  do {
    let _: CBPeripheralState = CBPeripheralState.connecting
  }
  uses.append("CBPeripheralState.connecting : case connecting")
  do {
    let _: CBPeripheralState = CBPeripheralState.disconnected
  }
  uses.append("CBPeripheralState.disconnected : case disconnected")
  do {
    let _: CBPeripheralState = CBPeripheralState.disconnecting
  }
  uses.append("CBPeripheralState.disconnecting : case disconnecting")
  do {
    let _: (Int) -> CBPeripheralState? = CBPeripheralState.init(rawValue:)
  }
  uses.append("CBPeripheralState.init(rawValue:) : init?(rawValue: Int)")
}

private func useCBService(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBService.self
  }
  uses.append("CBService : class CBService")
  do {
    let path: KeyPath<CBService, [CBCharacteristic]?> = \.characteristics
    writable.note(path, "CBService.characteristics")
  }
  uses.append("CBService.characteristics : var characteristics: [CBCharacteristic]? { get }")
  do {
    let path: KeyPath<CBService, [CBService]?> = \.includedServices
    writable.note(path, "CBService.includedServices")
  }
  uses.append("CBService.includedServices : var includedServices: [CBService]? { get }")
  do {
    let path: KeyPath<CBService, Bool> = \.isPrimary
    writable.note(path, "CBService.isPrimary")
  }
  uses.append("CBService.isPrimary : var isPrimary: Bool { get }")
  do {
    let path: KeyPath<CBService, CBPeripheral?> = \.peripheral
    writable.note(path, "CBService.peripheral")
  }
  uses.append("CBService.peripheral : weak var peripheral: CBPeripheral? { get }")
}

private func useCBUUID(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: NSObject.Type = CBUUID.self
  }
  uses.append("CBUUID : class CBUUID")
  do {
    let path: KeyPath<CBUUID, Data> = \.data
    writable.note(path, "CBUUID.data")
  }
  uses.append("CBUUID.data : var data: Data { get }")
  do {
    let _: (Data) -> CBUUID = CBUUID.init(data:)
  }
  uses.append("CBUUID.init(data:) : init(data theData: Data)")
  do {
    let _: (UUID) -> CBUUID = CBUUID.init(nsuuid:)
  }
  uses.append("CBUUID.init(nsuuid:) : init(nsuuid theUUID: UUID)")
  do {
    let _: (String) -> CBUUID = CBUUID.init(string:)
  }
  uses.append("CBUUID.init(string:) : init(string theString: String)")
  do {
    let path: KeyPath<CBUUID, String> = \.uuidString
    writable.note(path, "CBUUID.uuidString")
  }
  uses.append("CBUUID.uuidString : var uuidString: String { get }")
}

private func useCBUUIDCharacteristicAggregateFormatString(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBUUIDCharacteristicAggregateFormatString
  }
  uses.append("CBUUIDCharacteristicAggregateFormatString : let CBUUIDCharacteristicAggregateFormatString: String")
}

private func useCBUUIDCharacteristicExtendedPropertiesString(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBUUIDCharacteristicExtendedPropertiesString
  }
  uses.append("CBUUIDCharacteristicExtendedPropertiesString : let CBUUIDCharacteristicExtendedPropertiesString: String")
}

private func useCBUUIDCharacteristicFormatString(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBUUIDCharacteristicFormatString
  }
  uses.append("CBUUIDCharacteristicFormatString : let CBUUIDCharacteristicFormatString: String")
}

private func useCBUUIDCharacteristicObservationScheduleString(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBUUIDCharacteristicObservationScheduleString
  }
  uses.append("CBUUIDCharacteristicObservationScheduleString : let CBUUIDCharacteristicObservationScheduleString: String")
}

private func useCBUUIDCharacteristicUserDescriptionString(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBUUIDCharacteristicUserDescriptionString
  }
  uses.append("CBUUIDCharacteristicUserDescriptionString : let CBUUIDCharacteristicUserDescriptionString: String")
}

private func useCBUUIDCharacteristicValidRangeString(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBUUIDCharacteristicValidRangeString
  }
  uses.append("CBUUIDCharacteristicValidRangeString : let CBUUIDCharacteristicValidRangeString: String")
}

private func useCBUUIDClientCharacteristicConfigurationString(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBUUIDClientCharacteristicConfigurationString
  }
  uses.append("CBUUIDClientCharacteristicConfigurationString : let CBUUIDClientCharacteristicConfigurationString: String")
}

private func useCBUUIDL2CAPPSMCharacteristicString(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBUUIDL2CAPPSMCharacteristicString
  }
  uses.append("CBUUIDL2CAPPSMCharacteristicString : let CBUUIDL2CAPPSMCharacteristicString: String")
}

private func useCBUUIDServerCharacteristicConfigurationString(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: String = CBUUIDServerCharacteristicConfigurationString
  }
  uses.append("CBUUIDServerCharacteristicConfigurationString : let CBUUIDServerCharacteristicConfigurationString: String")
}

@available(*, deprecated)
private func useDeprecatedCBCentralManagerState(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBCentralManagerState.Type = CBCentralManagerState.self
  }
  uses.append("CBCentralManagerState : enum CBCentralManagerState")
  do {
    let _: (Int) -> CBCentralManagerState? = CBCentralManagerState.init(rawValue:)
  }
  uses.append("CBCentralManagerState.init(rawValue:) : init?(rawValue: Int)")
  do {
    let _: CBCentralManagerState = CBCentralManagerState.poweredOff
  }
  uses.append("CBCentralManagerState.poweredOff : case poweredOff")
  do {
    let _: CBCentralManagerState = CBCentralManagerState.poweredOn
  }
  uses.append("CBCentralManagerState.poweredOn : case poweredOn")
  do {
    let _: CBCentralManagerState = CBCentralManagerState.resetting
  }
  uses.append("CBCentralManagerState.resetting : case resetting")
  do {
    let _: CBCentralManagerState = CBCentralManagerState.unauthorized
  }
  uses.append("CBCentralManagerState.unauthorized : case unauthorized")
  do {
    let _: CBCentralManagerState = CBCentralManagerState.unknown
  }
  uses.append("CBCentralManagerState.unknown : case unknown")
  do {
    let _: CBCentralManagerState = CBCentralManagerState.unsupported
  }
  uses.append("CBCentralManagerState.unsupported : case unsupported")
}

@available(*, deprecated)
private func useDeprecatedCBCharacteristic(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let path: KeyPath<CBCharacteristic, Bool> = \.isBroadcasted
    writable.note(path, "CBCharacteristic.isBroadcasted")
  }
  uses.append("CBCharacteristic.isBroadcasted : var isBroadcasted: Bool { get }")
}

@available(*, deprecated)
private func useDeprecatedCBError(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBError.Code = CBError.Code.unkownDevice
  }
  uses.append("CBError.Code.unkownDevice : case unkownDevice")
  do {
    let _: CBError.Code = CBError.unkownDevice
  }
  uses.append("CBError.unkownDevice : static var unkownDevice: CBError.Code { get }")
}

@available(*, deprecated)
private func useDeprecatedCBManager(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let path: KeyPath<CBManager, CBManagerAuthorization> = \.authorization
    writable.note(path, "CBManager.authorization")
  }
  uses.append("CBManager.authorization : var authorization: CBManagerAuthorization { get }")
}

@available(*, deprecated)
private func useDeprecatedCBPeripheral(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let path: KeyPath<CBPeripheral, NSNumber?> = \.rssi
    writable.note(path, "CBPeripheral.rssi")
  }
  uses.append("CBPeripheral.rssi : var rssi: NSNumber? { get }")
}

@available(*, deprecated)
private func useDeprecatedCBPeripheralDelegate(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    _ = { (subject: any CBPeripheralDelegate, p0: CBPeripheral, p1: (any Error)?) in subject.peripheralDidUpdateRSSI(p0, error: p1) }
  }
  uses.append("CBPeripheralDelegate.peripheralDidUpdateRSSI(_:error:) : optional func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: (any Error)?)")
}

@available(*, deprecated)
private func useDeprecatedCBPeripheralManager(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: () -> CBPeripheralManagerAuthorizationStatus = CBPeripheralManager.authorizationStatus
  }
  uses.append("CBPeripheralManager.authorizationStatus() : class func authorizationStatus() -> CBPeripheralManagerAuthorizationStatus")
}

@available(*, deprecated)
private func useDeprecatedCBPeripheralManagerAuthorizationStatus(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBPeripheralManagerAuthorizationStatus.Type = CBPeripheralManagerAuthorizationStatus.self
  }
  uses.append("CBPeripheralManagerAuthorizationStatus : enum CBPeripheralManagerAuthorizationStatus")
  do {
    let _: CBPeripheralManagerAuthorizationStatus = CBPeripheralManagerAuthorizationStatus.authorized
  }
  uses.append("CBPeripheralManagerAuthorizationStatus.authorized : case authorized")
  do {
    let _: CBPeripheralManagerAuthorizationStatus = CBPeripheralManagerAuthorizationStatus.denied
  }
  uses.append("CBPeripheralManagerAuthorizationStatus.denied : case denied")
  do {
    let _: (Int) -> CBPeripheralManagerAuthorizationStatus? = CBPeripheralManagerAuthorizationStatus.init(rawValue:)
  }
  uses.append("CBPeripheralManagerAuthorizationStatus.init(rawValue:) : init?(rawValue: Int)")
  do {
    let _: CBPeripheralManagerAuthorizationStatus = CBPeripheralManagerAuthorizationStatus.notDetermined
  }
  uses.append("CBPeripheralManagerAuthorizationStatus.notDetermined : case notDetermined")
  do {
    let _: CBPeripheralManagerAuthorizationStatus = CBPeripheralManagerAuthorizationStatus.restricted
  }
  uses.append("CBPeripheralManagerAuthorizationStatus.restricted : case restricted")
}

@available(*, deprecated)
private func useDeprecatedCBPeripheralManagerState(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: CBPeripheralManagerState.Type = CBPeripheralManagerState.self
  }
  uses.append("CBPeripheralManagerState : enum CBPeripheralManagerState")
  do {
    let _: (Int) -> CBPeripheralManagerState? = CBPeripheralManagerState.init(rawValue:)
  }
  uses.append("CBPeripheralManagerState.init(rawValue:) : init?(rawValue: Int)")
  do {
    let _: CBPeripheralManagerState = CBPeripheralManagerState.poweredOff
  }
  uses.append("CBPeripheralManagerState.poweredOff : case poweredOff")
  do {
    let _: CBPeripheralManagerState = CBPeripheralManagerState.poweredOn
  }
  uses.append("CBPeripheralManagerState.poweredOn : case poweredOn")
  do {
    let _: CBPeripheralManagerState = CBPeripheralManagerState.resetting
  }
  uses.append("CBPeripheralManagerState.resetting : case resetting")
  do {
    let _: CBPeripheralManagerState = CBPeripheralManagerState.unauthorized
  }
  uses.append("CBPeripheralManagerState.unauthorized : case unauthorized")
  do {
    let _: CBPeripheralManagerState = CBPeripheralManagerState.unknown
  }
  uses.append("CBPeripheralManagerState.unknown : case unknown")
  do {
    let _: CBPeripheralManagerState = CBPeripheralManagerState.unsupported
  }
  uses.append("CBPeripheralManagerState.unsupported : case unsupported")
}

@available(*, deprecated)
private func useDeprecatedCBUUID(_ uses: inout [String], _ writable: inout WritablePaths) {
  do {
    let _: (CFUUID) -> CBUUID = CBUUID.init(cfuuid:)
  }
  uses.append("CBUUID.init(cfuuid:) : init(cfuuid theUUID: CFUUID)")
}

extension APIUses: DeprecatedUses {
  mutating func makeUses() {
    useCBATTError(&uses, &writable)
    useCBATTErrorDomain(&uses, &writable)
    useCBATTRequest(&uses, &writable)
    useCBAdvertisementDataIsConnectable(&uses, &writable)
    useCBAdvertisementDataLocalNameKey(&uses, &writable)
    useCBAdvertisementDataManufacturerDataKey(&uses, &writable)
    useCBAdvertisementDataOverflowServiceUUIDsKey(&uses, &writable)
    useCBAdvertisementDataServiceDataKey(&uses, &writable)
    useCBAdvertisementDataServiceUUIDsKey(&uses, &writable)
    useCBAdvertisementDataSolicitedServiceUUIDsKey(&uses, &writable)
    useCBAdvertisementDataTxPowerLevelKey(&uses, &writable)
    useCBAttribute(&uses, &writable)
    useCBAttributePermissions(&uses, &writable)
    useCBCentral(&uses, &writable)
    useCBCentralManager(&uses, &writable)
    useCBCentralManagerDelegate(&uses, &writable)
    useCBCentralManagerOptionDeviceAccessForMedia(&uses, &writable)
    useCBCentralManagerOptionRestoreIdentifierKey(&uses, &writable)
    useCBCentralManagerOptionShowPowerAlertKey(&uses, &writable)
    useCBCentralManagerRestoredStatePeripheralsKey(&uses, &writable)
    useCBCentralManagerRestoredStateScanOptionsKey(&uses, &writable)
    useCBCentralManagerRestoredStateScanServicesKey(&uses, &writable)
    useCBCentralManagerScanOptionAllowDuplicatesKey(&uses, &writable)
    useCBCentralManagerScanOptionSolicitedServiceUUIDsKey(&uses, &writable)
    useCBChannelSoundingProcedureResults(&uses, &writable)
    useCBChannelSoundingSessionConfiguration(&uses, &writable)
    useCBCharacteristic(&uses, &writable)
    useCBCharacteristicProperties(&uses, &writable)
    useCBCharacteristicWriteType(&uses, &writable)
    useCBConnectPeripheralOptionEnableAutoReconnect(&uses, &writable)
    useCBConnectPeripheralOptionEnableTransportBridgingKey(&uses, &writable)
    useCBConnectPeripheralOptionNotifyOnConnectionKey(&uses, &writable)
    useCBConnectPeripheralOptionNotifyOnDisconnectionKey(&uses, &writable)
    useCBConnectPeripheralOptionNotifyOnNotificationKey(&uses, &writable)
    useCBConnectPeripheralOptionRequiresANCS(&uses, &writable)
    useCBConnectPeripheralOptionStartDelayKey(&uses, &writable)
    useCBConnectionEvent(&uses, &writable)
    useCBConnectionEventMatchingOption(&uses, &writable)
    useCBDescriptor(&uses, &writable)
    useCBError(&uses, &writable)
    useCBErrorDomain(&uses, &writable)
    useCBL2CAPChannel(&uses, &writable)
    useCBL2CAPPSM(&uses, &writable)
    useCBManager(&uses, &writable)
    useCBManagerAuthorization(&uses, &writable)
    useCBManagerState(&uses, &writable)
    useCBMutableCharacteristic(&uses, &writable)
    useCBMutableDescriptor(&uses, &writable)
    useCBMutableService(&uses, &writable)
    useCBPeer(&uses, &writable)
    useCBPeripheral(&uses, &writable)
    useCBPeripheralDelegate(&uses, &writable)
    useCBPeripheralManager(&uses, &writable)
    useCBPeripheralManagerConnectionLatency(&uses, &writable)
    useCBPeripheralManagerDelegate(&uses, &writable)
    useCBPeripheralManagerOptionRestoreIdentifierKey(&uses, &writable)
    useCBPeripheralManagerOptionShowPowerAlertKey(&uses, &writable)
    useCBPeripheralManagerRestoredStateAdvertisementDataKey(&uses, &writable)
    useCBPeripheralManagerRestoredStateServicesKey(&uses, &writable)
    useCBPeripheralState(&uses, &writable)
    useCBService(&uses, &writable)
    useCBUUID(&uses, &writable)
    useCBUUIDCharacteristicAggregateFormatString(&uses, &writable)
    useCBUUIDCharacteristicExtendedPropertiesString(&uses, &writable)
    useCBUUIDCharacteristicFormatString(&uses, &writable)
    useCBUUIDCharacteristicObservationScheduleString(&uses, &writable)
    useCBUUIDCharacteristicUserDescriptionString(&uses, &writable)
    useCBUUIDCharacteristicValidRangeString(&uses, &writable)
    useCBUUIDClientCharacteristicConfigurationString(&uses, &writable)
    useCBUUIDL2CAPPSMCharacteristicString(&uses, &writable)
    useCBUUIDServerCharacteristicConfigurationString(&uses, &writable)
  }

  @available(*, deprecated)
  mutating func makeDeprecatedUses() {
    useDeprecatedCBCentralManagerState(&uses, &writable)
    useDeprecatedCBCharacteristic(&uses, &writable)
    useDeprecatedCBError(&uses, &writable)
    useDeprecatedCBManager(&uses, &writable)
    useDeprecatedCBPeripheral(&uses, &writable)
    useDeprecatedCBPeripheralDelegate(&uses, &writable)
    useDeprecatedCBPeripheralManager(&uses, &writable)
    useDeprecatedCBPeripheralManagerAuthorizationStatus(&uses, &writable)
    useDeprecatedCBPeripheralManagerState(&uses, &writable)
    useDeprecatedCBUUID(&uses, &writable)
  }

  mutating func compareRawValues() {
    compare("CBManagerState.unknown", Int(CBManagerState.unknown.rawValue), 0)
    compare("CBManagerState.resetting", Int(CBManagerState.resetting.rawValue), 1)
    compare("CBManagerState.unsupported", Int(CBManagerState.unsupported.rawValue), 2)
    compare("CBManagerState.unauthorized", Int(CBManagerState.unauthorized.rawValue), 3)
    compare("CBManagerState.poweredOff", Int(CBManagerState.poweredOff.rawValue), 4)
    compare("CBManagerState.poweredOn", Int(CBManagerState.poweredOn.rawValue), 5)
    compare("CBManagerAuthorization.notDetermined", Int(CBManagerAuthorization.notDetermined.rawValue), 0)
    compare("CBManagerAuthorization.restricted", Int(CBManagerAuthorization.restricted.rawValue), 1)
    compare("CBManagerAuthorization.denied", Int(CBManagerAuthorization.denied.rawValue), 2)
    compare("CBManagerAuthorization.allowedAlways", Int(CBManagerAuthorization.allowedAlways.rawValue), 3)
    compare("CBPeripheralState.disconnected", Int(CBPeripheralState.disconnected.rawValue), 0)
    compare("CBPeripheralState.connecting", Int(CBPeripheralState.connecting.rawValue), 1)
    compare("CBPeripheralState.connected", Int(CBPeripheralState.connected.rawValue), 2)
    compare("CBPeripheralState.disconnecting", Int(CBPeripheralState.disconnecting.rawValue), 3)
    compare("CBConnectionEvent.peerDisconnected", Int(CBConnectionEvent.peerDisconnected.rawValue), 0)
    compare("CBConnectionEvent.peerConnected", Int(CBConnectionEvent.peerConnected.rawValue), 1)
    compare("CBCentralManager.Feature.extendedScanAndConnect", Int(CBCentralManager.Feature.extendedScanAndConnect.rawValue), 1)
    compare("CBCentralManager.Feature.channelSounding", Int(CBCentralManager.Feature.channelSounding.rawValue), 1024)
    compare("CBCharacteristicProperties.broadcast", Int(CBCharacteristicProperties.broadcast.rawValue), 1)
    compare("CBCharacteristicProperties.read", Int(CBCharacteristicProperties.read.rawValue), 2)
    compare("CBCharacteristicProperties.writeWithoutResponse", Int(CBCharacteristicProperties.writeWithoutResponse.rawValue), 4)
    compare("CBCharacteristicProperties.write", Int(CBCharacteristicProperties.write.rawValue), 8)
    compare("CBCharacteristicProperties.notify", Int(CBCharacteristicProperties.notify.rawValue), 16)
    compare("CBCharacteristicProperties.indicate", Int(CBCharacteristicProperties.indicate.rawValue), 32)
    compare("CBCharacteristicProperties.authenticatedSignedWrites", Int(CBCharacteristicProperties.authenticatedSignedWrites.rawValue), 64)
    compare("CBCharacteristicProperties.extendedProperties", Int(CBCharacteristicProperties.extendedProperties.rawValue), 128)
    compare("CBCharacteristicProperties.notifyEncryptionRequired", Int(CBCharacteristicProperties.notifyEncryptionRequired.rawValue), 256)
    compare("CBCharacteristicProperties.indicateEncryptionRequired", Int(CBCharacteristicProperties.indicateEncryptionRequired.rawValue), 512)
    compare("CBAttributePermissions.readable", Int(CBAttributePermissions.readable.rawValue), 1)
    compare("CBAttributePermissions.writeable", Int(CBAttributePermissions.writeable.rawValue), 2)
    compare("CBAttributePermissions.readEncryptionRequired", Int(CBAttributePermissions.readEncryptionRequired.rawValue), 4)
    compare("CBAttributePermissions.writeEncryptionRequired", Int(CBAttributePermissions.writeEncryptionRequired.rawValue), 8)
    compare("CBCharacteristicWriteType.withResponse", Int(CBCharacteristicWriteType.withResponse.rawValue), 0)
    compare("CBCharacteristicWriteType.withoutResponse", Int(CBCharacteristicWriteType.withoutResponse.rawValue), 1)
    compare("CBPeripheralManagerConnectionLatency.low", Int(CBPeripheralManagerConnectionLatency.low.rawValue), 0)
    compare("CBPeripheralManagerConnectionLatency.medium", Int(CBPeripheralManagerConnectionLatency.medium.rawValue), 1)
    compare("CBPeripheralManagerConnectionLatency.high", Int(CBPeripheralManagerConnectionLatency.high.rawValue), 2)
    compare("CBError.Code.unknown", Int(CBError.Code.unknown.rawValue), 0)
    compare("CBError.Code.invalidParameters", Int(CBError.Code.invalidParameters.rawValue), 1)
    compare("CBError.Code.invalidHandle", Int(CBError.Code.invalidHandle.rawValue), 2)
    compare("CBError.Code.notConnected", Int(CBError.Code.notConnected.rawValue), 3)
    compare("CBError.Code.outOfSpace", Int(CBError.Code.outOfSpace.rawValue), 4)
    compare("CBError.Code.operationCancelled", Int(CBError.Code.operationCancelled.rawValue), 5)
    compare("CBError.Code.connectionTimeout", Int(CBError.Code.connectionTimeout.rawValue), 6)
    compare("CBError.Code.peripheralDisconnected", Int(CBError.Code.peripheralDisconnected.rawValue), 7)
    compare("CBError.Code.uuidNotAllowed", Int(CBError.Code.uuidNotAllowed.rawValue), 8)
    compare("CBError.Code.alreadyAdvertising", Int(CBError.Code.alreadyAdvertising.rawValue), 9)
    compare("CBError.Code.connectionFailed", Int(CBError.Code.connectionFailed.rawValue), 10)
    compare("CBError.Code.connectionLimitReached", Int(CBError.Code.connectionLimitReached.rawValue), 11)
    compare("CBError.Code.unknownDevice", Int(CBError.Code.unknownDevice.rawValue), 12)
    compare("CBError.Code.operationNotSupported", Int(CBError.Code.operationNotSupported.rawValue), 13)
    compare("CBError.Code.peerRemovedPairingInformation", Int(CBError.Code.peerRemovedPairingInformation.rawValue), 14)
    compare("CBError.Code.encryptionTimedOut", Int(CBError.Code.encryptionTimedOut.rawValue), 15)
    compare("CBError.Code.tooManyLEPairedDevices", Int(CBError.Code.tooManyLEPairedDevices.rawValue), 16)
    compare("CBError.Code.leGattExceededBackgroundNotificationLimit", Int(CBError.Code.leGattExceededBackgroundNotificationLimit.rawValue), 17)
    compare("CBError.Code.leGattNearBackgroundNotificationLimit", Int(CBError.Code.leGattNearBackgroundNotificationLimit.rawValue), 18)
    compare("CBATTError.Code.success", Int(CBATTError.Code.success.rawValue), 0)
    compare("CBATTError.Code.invalidHandle", Int(CBATTError.Code.invalidHandle.rawValue), 1)
    compare("CBATTError.Code.readNotPermitted", Int(CBATTError.Code.readNotPermitted.rawValue), 2)
    compare("CBATTError.Code.writeNotPermitted", Int(CBATTError.Code.writeNotPermitted.rawValue), 3)
    compare("CBATTError.Code.invalidPdu", Int(CBATTError.Code.invalidPdu.rawValue), 4)
    compare("CBATTError.Code.insufficientAuthentication", Int(CBATTError.Code.insufficientAuthentication.rawValue), 5)
    compare("CBATTError.Code.requestNotSupported", Int(CBATTError.Code.requestNotSupported.rawValue), 6)
    compare("CBATTError.Code.invalidOffset", Int(CBATTError.Code.invalidOffset.rawValue), 7)
    compare("CBATTError.Code.insufficientAuthorization", Int(CBATTError.Code.insufficientAuthorization.rawValue), 8)
    compare("CBATTError.Code.prepareQueueFull", Int(CBATTError.Code.prepareQueueFull.rawValue), 9)
    compare("CBATTError.Code.attributeNotFound", Int(CBATTError.Code.attributeNotFound.rawValue), 10)
    compare("CBATTError.Code.attributeNotLong", Int(CBATTError.Code.attributeNotLong.rawValue), 11)
    compare("CBATTError.Code.insufficientEncryptionKeySize", Int(CBATTError.Code.insufficientEncryptionKeySize.rawValue), 12)
    compare("CBATTError.Code.invalidAttributeValueLength", Int(CBATTError.Code.invalidAttributeValueLength.rawValue), 13)
    compare("CBATTError.Code.unlikelyError", Int(CBATTError.Code.unlikelyError.rawValue), 14)
    compare("CBATTError.Code.insufficientEncryption", Int(CBATTError.Code.insufficientEncryption.rawValue), 15)
    compare("CBATTError.Code.unsupportedGroupType", Int(CBATTError.Code.unsupportedGroupType.rawValue), 16)
    compare("CBATTError.Code.insufficientResources", Int(CBATTError.Code.insufficientResources.rawValue), 17)
  }

  @available(*, deprecated)
  mutating func compareDeprecatedRawValues() {
    compare("CBError.Code.unkownDevice", Int(CBError.Code.unkownDevice.rawValue), 12)
    compare("CBCentralManagerState.unknown", Int(CBCentralManagerState.unknown.rawValue), 0)
    compare("CBCentralManagerState.resetting", Int(CBCentralManagerState.resetting.rawValue), 1)
    compare("CBCentralManagerState.unsupported", Int(CBCentralManagerState.unsupported.rawValue), 2)
    compare("CBCentralManagerState.unauthorized", Int(CBCentralManagerState.unauthorized.rawValue), 3)
    compare("CBCentralManagerState.poweredOff", Int(CBCentralManagerState.poweredOff.rawValue), 4)
    compare("CBCentralManagerState.poweredOn", Int(CBCentralManagerState.poweredOn.rawValue), 5)
    compare("CBPeripheralManagerState.unknown", Int(CBPeripheralManagerState.unknown.rawValue), 0)
    compare("CBPeripheralManagerState.resetting", Int(CBPeripheralManagerState.resetting.rawValue), 1)
    compare("CBPeripheralManagerState.unsupported", Int(CBPeripheralManagerState.unsupported.rawValue), 2)
    compare("CBPeripheralManagerState.unauthorized", Int(CBPeripheralManagerState.unauthorized.rawValue), 3)
    compare("CBPeripheralManagerState.poweredOff", Int(CBPeripheralManagerState.poweredOff.rawValue), 4)
    compare("CBPeripheralManagerState.poweredOn", Int(CBPeripheralManagerState.poweredOn.rawValue), 5)
    compare("CBPeripheralManagerAuthorizationStatus.notDetermined", Int(CBPeripheralManagerAuthorizationStatus.notDetermined.rawValue), 0)
    compare("CBPeripheralManagerAuthorizationStatus.restricted", Int(CBPeripheralManagerAuthorizationStatus.restricted.rawValue), 1)
    compare("CBPeripheralManagerAuthorizationStatus.denied", Int(CBPeripheralManagerAuthorizationStatus.denied.rawValue), 2)
    compare("CBPeripheralManagerAuthorizationStatus.authorized", Int(CBPeripheralManagerAuthorizationStatus.authorized.rawValue), 3)
  }
}
