import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// bluetoothd's objects, as its messages say.
struct BlueZMirror: Sendable {
  var isPresent = false
  var wasEverPresent = false
  var adapter: ObjectPath?
  var hadAdapter = false
  /// bluetoothd has appeared and its adapter is on the way: until it works, or this time has come, nothing has changed for
  /// apps.
  var adapterAwaitedUntil: Instant?
  /// What apps were told before bluetoothd appeared.
  var stateBefore = ManagerState.unknown
  var isPowered = false
  /// `nil` before BlueZ 5.67.
  var powerState: String?
  /// Somebody's discovery runs, this system's or another client's.
  var isDiscovering = false
  /// Devices that there was no room for.
  var refused = 0
  var devices: [ObjectPath: Device] = [:]
  var devicePaths: [PeerIdentifier: ObjectPath] = [:]
  /// Which device an attribute's object belongs to.
  var owners: [ObjectPath: (device: ObjectPath, handle: AttributeHandle)] = [:]

  var state: ManagerState {
    guard isPresent else { return wasEverPresent ? .resetting : .unknown }
    if isPowered { return .poweredOn }
    if adapterAwaitedUntil != nil { return stateBefore }
    return adapter == nil && !hadAdapter ? .unsupported : .poweredOff
  }

  /// The kernel finds a controller, loads its firmware and gives it power within that time of bluetoothd's start, or not.
  static let adapterPatience: Duration = .seconds(5)

  func device(_ peer: PeerIdentifier) -> Device? { devicePaths[peer].flatMap { devices[$0] } }

  mutating func forgetObjects() {
    adapter = nil
    adapterAwaitedUntil = nil
    isPowered = false
    powerState = nil
    isDiscovering = false
    devices = [:]
    devicePaths = [:]
    owners = [:]
  }
}

/// A Device1, with the attributes below it.
struct Device: Sendable {
  let path: ObjectPath
  var peer: PeerIdentifier
  private(set) var properties: Properties
  var attributes: [AttributeHandle: RemoteAttribute] = [:]
  /// bluetoothd has been asked to end the link.
  var isDisconnecting = false
  var isTrustRequested = false

  // Read out of the properties once, when they change: the reconciler asks for them on every event.
  private(set) var address: DeviceAddress?
  private(set) var isConnected = false
  private(set) var isBonded = false
  private(set) var isTrusted = false
  private(set) var isResolved = false
  private(set) var uuids: [BluetoothUUID] = []

  init(
    path: ObjectPath, peer: PeerIdentifier, properties: Properties, attributes: [AttributeHandle: RemoteAttribute] = [:]
  ) {
    self.path = path
    self.peer = peer
    self.properties = properties
    self.attributes = attributes
    readOut()
  }

  mutating func update(_ changed: Properties, invalidated: [String]) {
    properties.merge(changed) { _, new in new }
    for name in invalidated { properties[name] = nil }
    readOut()
  }

  private mutating func readOut() {
    address = Self.address(properties)
    isConnected = properties["Connected"]?.boolValue ?? false
    isBonded = (properties["Bonded"] ?? properties["Paired"])?.boolValue ?? false
    isTrusted = properties["Trusted"]?.boolValue ?? false
    isResolved = properties["ServicesResolved"]?.boolValue ?? false
    uuids = (properties["UUIDs"]?.stringsValue ?? []).compactMap { BluetoothUUID($0) }
  }

  var name: String? { properties["Name"]?.stringValue }
  var rssi: Int8? { properties["RSSI"]?.integerValue.map { Int8(clamping: $0) } }
  var isUsable: Bool { isConnected && !isDisconnecting }

  static func address(_ properties: Properties) -> DeviceAddress? {
    guard let text = properties["Address"]?.stringValue else { return nil }
    let kind = properties["AddressType"]?.stringValue.flatMap { DeviceAddress.Kind(rawValue: $0) } ?? .public
    return DeviceAddress(text, kind: kind)
  }

  /// Services that tell this device from others: a profile of these puts few devices on the accept list.
  var tellingServices: [BluetoothUUID] {
    let telling = uuids.filter(\.isTelling)
    return telling.isEmpty ? uuids : telling
  }

  /// The link's MTU, where bluetoothd says; what every link has, otherwise.
  var mtu: Int {
    attributes.values.lazy.compactMap { $0.properties["MTU"]?.integerValue }.first ?? ATTLimits.defaultMTU
  }

  var advertisementData: AdvertisementData {
    var data = AdvertisementData(localName: name, serviceUUIDs: uuids)
    data.appearance = properties["Appearance"]?.integerValue.flatMap { UInt16(exactly: $0) }
    data.transmitPowerLevel = properties["TxPower"]?.integerValue.flatMap { Int8(exactly: $0) }
    data.flags = properties["AdvertisingFlags"]?.bytesValue?.first
    if case .dictionary(_, _, let members)? = properties["ServiceData"] {
      for (key, value) in members {
        guard let uuid = key.stringValue.flatMap({ BluetoothUUID($0) }), let bytes = value.unwrapped.bytesValue else {
          continue
        }
        data.serviceData[uuid] = bytes
      }
    }
    if case .dictionary(_, _, let members)? = properties["ManufacturerData"] {
      for (key, value) in members {
        guard let company = key.integerValue.flatMap({ UInt16(exactly: $0) }), let bytes = value.unwrapped.bytesValue
        else { continue }
        data.manufacturerData[company] = bytes
      }
    }
    return data
  }
}

/// A remote service, characteristic or descriptor.
struct RemoteAttribute: Sendable {
  enum Kind: Sendable { case service, characteristic, descriptor }
  let kind: Kind
  let path: ObjectPath
  let handle: AttributeHandle
  /// The attribute it belongs to: a characteristic's service, a descriptor's characteristic.
  let parent: AttributeHandle?
  var properties: Properties

  var uuid: BluetoothUUID? { properties["UUID"]?.stringValue.flatMap { BluetoothUUID($0) } }
  var isPrimary: Bool { properties["Primary"]?.boolValue ?? true }

  var characteristicProperties: CharacteristicProperties {
    CharacteristicProperties(flags: properties["Flags"]?.stringsValue ?? [])
  }
}

extension BlueZMirror {
  static let attributeKinds: [(interface: String, kind: RemoteAttribute.Kind)] = [
    (InterfaceName.gattService, .service), (InterfaceName.gattCharacteristic, .characteristic),
    (InterfaceName.gattDescriptor, .descriptor),
  ]

  /// Takes a remote attribute's object in; objects that do not lie below a known device are not ours.
  /// - Parameter limit: how many attributes of all devices are taken in.
  mutating func addAttribute(
    _ path: ObjectPath, _ kind: RemoteAttribute.Kind, _ properties: Properties, limit: Int
  ) {
    guard let handle = path.remoteAttribute?.handle, handle != 0 else { return }
    var above = path.parent
    var parent: AttributeHandle?
    while let current = above, devices[current] == nil {
      if parent == nil { parent = current.remoteAttribute?.handle }
      above = current.parent
    }
    guard let owner = above, var device = devices[owner], device.attributes.count < 4096, owners.count < limit else {
      return
    }
    if let old = device.attributes[handle], old.path != path { owners[old.path] = nil }
    device.attributes[handle] = RemoteAttribute(
      kind: kind, path: path, handle: handle, parent: parent, properties: properties)
    devices[owner] = device
    owners[path] = (owner, handle)
  }

  mutating func removeAttribute(_ path: ObjectPath) -> (device: Device, attribute: RemoteAttribute)? {
    guard let owner = owners.removeValue(forKey: path), var device = devices[owner.device],
      let attribute = device.attributes.removeValue(forKey: owner.handle)
    else { return nil }
    devices[owner.device] = device
    return (device, attribute)
  }
}
