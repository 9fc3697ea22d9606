import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import HashTreeCollections
import TimeTypes

/// A copy of bluetoothd's objects, built from its messages.
struct BlueZMirror: Sendable {
  var isPresent = false
  var wasEverPresent = false
  var adapter: ObjectPath?
  var hadAdapter = false
  /// Set while bluetoothd has appeared and its adapter is still coming up. Apps see no change until the adapter works
  /// or this time has passed.
  var adapterAwaitedUntil: Instant?
  /// The state that apps were told before bluetoothd appeared.
  var stateBefore = ManagerState.unknown
  var isPowered = false
  /// `nil` before BlueZ 5.65.
  var powerState: PowerState?
  /// A discovery is running, either this system's or another client's.
  var isDiscovering = false
  /// How many devices were left out because the mirror was full.
  var refused = 0
  var devices = DeviceTable()
  var devicePaths: TreeDictionary<PeerIdentifier, ObjectPath> = [:]
  /// The device and handle that each attribute object belongs to.
  var owners: TreeDictionary<ObjectPath, (device: ObjectPath, handle: AttributeHandle)> = [:]

  var state: ManagerState {
    guard isPresent else { return wasEverPresent ? .resetting : .unknown }
    if isPowered { return .poweredOn }
    if adapterAwaitedUntil != nil { return stateBefore }
    return adapter == nil && !hadAdapter ? .unsupported : .poweredOff
  }

  /// How long after bluetoothd's start the kernel may need to find a controller, load its firmware and power it.
  static let adapterPatience: Duration = .seconds(5)

  func device(_ peer: PeerIdentifier) -> Device? { devicePaths[peer].flatMap { devices[$0] } }

  mutating func forgetObjects() {
    adapter = nil
    adapterAwaitedUntil = nil
    isPowered = false
    powerState = nil
    isDiscovering = false
    devices = DeviceTable()
    devicePaths = [:]
    owners = [:]
  }
}

/// A Device1 with the attributes below it. Its properties are parsed once, when they change.
struct Device: Sendable {
  let path: ObjectPath
  var peer: PeerIdentifier
  var attributes: [AttributeHandle: RemoteAttribute] = [:]
  /// bluetoothd has been asked to end the link.
  var isDisconnecting = false
  var isTrustRequested = false

  private(set) var isConnected = false
  private(set) var isTrusted = false
  private(set) var isResolved = false
  private(set) var rssi: Int8?
  /// When the link came up, in seconds since 1970. `nil` without a link, or if it was there before it could be seen.
  private(set) var connectedUnixSeconds: Double?
  /// The link's signal in dBm as an app last read it. `nil` without a link, or if no app has read it.
  private(set) var linkSignal: Int8?
  /// The MTU of this link as bluetoothd last showed it: with an attribute of the peer, or with a request of the peer.
  /// `nil` without a link, before the attribute protocol works on it, or if it was not shown. 23 may become more.
  private(set) var linkMTU: Int?
  /// An advertisement was seen while the device had no link. Without one, it is unknown which of its services it
  /// advertises.
  private var isAdvertisementKnown = false

  /// The first properties have been read, so what bluetoothd says from now on is a change.
  private var isShown = false
  private var addressKind: DeviceAddress.Kind?
  private(set) var address: DeviceAddress?
  /// `nil` before BlueZ 5.66, where only `Paired` exists.
  private var isMarkedBonded: Bool?
  private var isPaired: Bool?
  private var said = Boxed(Said())

  /// What bluetoothd says about the device itself, not about its link. This is large and changes seldom, and a `Device`
  /// is copied whenever something asks about its link.
  private struct Said: Sendable {
    var endReason: String?
    var advertisement = AdvertisementData()
    var uuids: [BluetoothUUID] = []
    var found: Set<BluetoothUUID> = []
    var gapName: String?
    var announced: [BluetoothUUID] = []
  }

  /// Why the last link ended, `org.bluez.Reason.*`. `nil` if bluetoothd does not say (up to 5.82).
  var endReason: String? { said.value.endReason }
  /// What the device has said about itself in advertisements.
  var advertisement: AdvertisementData { said.value.advertisement }
  /// All services by which bluetoothd knows it: advertised, or found over a link.
  var uuids: [BluetoothUUID] { said.value.uuids }
  /// Those of `uuids` that were found over a link, and that the device had not advertised before.
  var found: Set<BluetoothUUID> { said.value.found }
  /// Its name in the Generic Access Profile, which bluetoothd has read over a link. `nil` if that is not known, or
  /// equals the name that the device advertises.
  var gapName: String? { said.value.gapName }
  /// Every service UUID that bluetoothd has shown for the device, advertised or found, even if it does not show it any
  /// more.
  var announced: [BluetoothUUID] { said.value.announced }
  private static let announcedLimit = 32

  var isBonded: Bool { isMarkedBonded ?? isPaired ?? false }

  init(
    path: ObjectPath, peer: PeerIdentifier, properties: Properties,
    attributes: [AttributeHandle: RemoteAttribute] = [:],
    gapName: String? = nil, found: Set<BluetoothUUID> = []
  ) {
    self.path = path
    self.peer = peer
    self.attributes = attributes
    said.value.gapName = gapName
    said.value.found = found
    isAdvertisementKnown = !found.isEmpty
    update(properties, invalidated: [])
    isShown = true
  }

  mutating func update(_ changed: Properties, invalidated: [String]) {
    let changes = PropertyChanges<Device1>(changed, invalidated: invalidated)
    if let isConnected = changes.connected { self.isConnected = isConnected ?? false }
    if !isConnected { (connectedUnixSeconds, linkSignal, linkMTU) = (nil, nil, nil) }
    if let isTrusted = changes.trusted { self.isTrusted = isTrusted ?? false }
    if let isResolved = changes.servicesResolved { self.isResolved = isResolved ?? false }
    // An unreadable value counts as false. `Paired` is used only where the property is missing.
    if let isBonded = changes.bonded { isMarkedBonded = changes.isGone(\.bonded) ? nil : isBonded ?? false }
    if let isPaired = changes.paired { self.isPaired = isPaired }
    if let rssi = changes.rssi { self.rssi = rssi }
    if let name = changes.name { take(name) }
    if let uuids = changes.uuids { take(uuids ?? []) }
    if !isConnected, rssi != nil { isAdvertisementKnown = true }
    takeAdvertised(changes)
    if let kind = changes.addressType {
      addressKind = kind
      address = address.map { DeviceAddress(bits: $0.bits, kind: kind ?? .public) }
    }
    if let text = changes.address { address = text.flatMap { DeviceAddress($0, kind: addressKind ?? .public) } }
  }

  private mutating func takeAdvertised(_ changes: PropertyChanges<Device1>) {
    if let appearance = changes.appearance { said.value.advertisement.appearance = appearance }
    if let power = changes.txPower { said.value.advertisement.transmitPowerLevel = power }
    if let data = changes.advertisingData {
      said.value.advertisement.solicitedServiceUUIDs = Self.solicitedServices(data ?? [:])
    }
    if let flags = changes.advertisingFlags { said.value.advertisement.flags = flags?.first }
    if let data = changes.serviceData { said.value.advertisement.serviceData = data ?? [:] }
    if let data = changes.manufacturerData { said.value.advertisement.manufacturerData = data ?? [:] }
  }

  /// bluetoothd has one name for what a device advertises and what it says over a link, whichever came last.
  private mutating func take(_ name: String?) {
    guard let name else {
      (said.value.advertisement.localName, said.value.gapName) = (nil, nil)
      return
    }
    // A linked device may advertise as well.
    guard isShown, isConnected, name != advertisement.localName else {
      said.value.advertisement.localName = name.compactCopy
      return
    }
    said.value.gapName = name.compactCopy
  }

  /// bluetoothd has one list for the services that a device advertises and those that were found over a link.
  private mutating func take(_ uuids: [BluetoothUUID]) {
    if isShown, isConnected, isAdvertisementKnown { said.value.found.formUnion(Set(uuids).subtracting(self.uuids)) }
    if !found.isEmpty { said.value.found.formIntersection(uuids) }
    said.value.uuids = uuids
    let found = found
    // Lists that are the same share their memory: there may be thousands of devices.
    said.value.advertisement.serviceUUIDs = found.isEmpty ? uuids : uuids.filter { !found.contains($0) }
    announce(uuids)
  }

  /// Remembers the services. When bluetoothd removes a service from its copy of the peer's database, it also removes
  /// the service from the property `UUIDs`, though the peer may still advertise it.
  private mutating func announce(_ uuids: [BluetoothUUID]) {
    guard !announced.isEmpty || uuids.count > Self.announcedLimit || !uuids.allSatisfy(\.isTelling) else {
      said.value.announced = uuids
      return
    }
    for uuid in uuids where uuid.isTelling && announced.count < Self.announcedLimit && !announced.contains(uuid) {
      said.value.announced.append(uuid)
    }
  }

  /// The services that a peripheral asks a central for, in the three lists of an advertisement (Core Specification
  /// Supplement, Part A, 1.10). bluetoothd shows them only where its experimental interfaces are on.
  private static func solicitedServices(_ data: [UInt8: [UInt8]]) -> [BluetoothUUID] {
    [(0x14, 2), (0x1F, 4), (0x15, 16)].flatMap { (type: UInt8, length: Int) in
      let bytes = data[type] ?? []
      return stride(from: 0, to: bytes.count / length * length, by: length)
        .compactMap { BluetoothUUID(littleEndian: Array(bytes[$0..<($0 + length)])) }
    }
  }

  /// The link came up at this time.
  mutating func linkCameUp(unixSeconds: Double?) {
    connectedUnixSeconds = unixSeconds
    if endReason != nil { said.value.endReason = nil }
  }

  /// bluetoothd says why the link ended, before it says that it ended.
  mutating func linkEnded(because reason: String) { said.value.endReason = reason }

  /// - Parameter mtu: `nil` if the attribute protocol does not work yet.
  mutating func linkShows(mtu: Int?) {
    guard isConnected, let mtu else { return }
    linkMTU = min(max(mtu, ATTLimits.defaultMTU, linkMTU ?? 0), ATTLimits.maximumMTU)
  }

  mutating func signalWasRead(_ signal: Int8) { if isConnected { linkSignal = signal } }

  /// In dBm: the link's, or that of the last advertisement that bluetoothd still shows.
  var lastSignal: Int8? { linkSignal ?? rssi }

  /// The name for apps and people. That of the Generic Access Profile takes precedence, as on iOS.
  var name: String? { gapName ?? advertisement.localName }
  /// Whether it has said that it has this service, or was found to have it.
  func offers(_ service: BluetoothUUID) -> Bool {
    uuids.contains(service) || announced.contains(service)
      || attributes.values.contains { $0.kind == .service && $0.uuid == service }
  }
  var isUsable: Bool { isConnected && !isDisconnecting }

  /// Services that distinguish this device from others. A profile made of these puts few devices on the accept list.
  var tellingServices: [BluetoothUUID] {
    guard !uuids.allSatisfy(\.isTelling) else { return uuids }
    let telling = uuids.filter(\.isTelling)
    return telling.isEmpty ? uuids : telling
  }
}

/// A remote service, characteristic or descriptor.
struct RemoteAttribute: Sendable {
  enum Kind: Sendable { case service, characteristic, descriptor }
  let kind: Kind
  let path: ObjectPath
  let handle: AttributeHandle
  /// The attribute this one belongs to: the service of a characteristic, or the characteristic of a descriptor.
  let parent: AttributeHandle?

  private(set) var uuid: BluetoothUUID?
  /// Services only.
  private(set) var isPrimary = true
  private(set) var includes: [ObjectPath] = []
  /// Characteristics only.
  private(set) var characteristicProperties: CharacteristicProperties = []

  init(
    kind: Kind, path: ObjectPath, handle: AttributeHandle, parent: AttributeHandle?, properties: Properties
  ) {
    self.kind = kind
    self.path = path
    self.handle = handle
    self.parent = parent
    update(properties)
  }

  /// A changed value is not stored with the attribute. It is delivered to subscribers.
  mutating func update(_ changed: Properties) {
    switch kind {
    case .service:
      let changes = PropertyChanges<GattService1>(changed)
      if let uuid = changes.uuid { self.uuid = uuid }
      if let isPrimary = changes.primary { self.isPrimary = isPrimary ?? true }
      if let includes = changes.includes { self.includes = includes ?? [] }
    case .characteristic:
      let changes = PropertyChanges<GattCharacteristic1>(changed)
      if let uuid = changes.uuid { self.uuid = uuid }
      if let flags = changes.flags { characteristicProperties = CharacteristicProperties(flags: flags ?? []) }
    case .descriptor: if let uuid = PropertyChanges<GattDescriptor1>(changed).uuid { self.uuid = uuid }
    }
  }
}

extension BlueZMirror {
  static let attributeKinds: [(interface: String, kind: RemoteAttribute.Kind)] = [
    (InterfaceName.gattService, .service), (InterfaceName.gattCharacteristic, .characteristic),
    (InterfaceName.gattDescriptor, .descriptor),
  ]

  /// Adds a remote attribute's object. Objects that are not below a known device are ignored.
  /// - Parameter limit: the largest number of attributes, over all devices.
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
    guard let owner = above, let count = devices[owner]?.attributes.count, count < 4096, owners.count < limit else {
      return
    }
    if let old = devices[owner]?.attributes[handle], old.path != path { owners[old.path] = nil }
    devices[owner]?.attributes[handle] = RemoteAttribute(
      kind: kind, path: path, handle: handle, parent: parent, properties: properties)
    if kind == .characteristic {
      devices[owner]?.linkShows(mtu: PropertyValues<GattCharacteristic1>(properties).mtu)
    }
    owners[path] = (owner, handle)
  }

  mutating func removeAttribute(_ path: ObjectPath) -> (device: Device, attribute: RemoteAttribute)? {
    guard let owner = owners.removeValue(forKey: path),
      let attribute = devices[owner.device]?.attributes.removeValue(forKey: owner.handle),
      let device = devices[owner.device]
    else { return nil }
    return (device, attribute)
  }
}
