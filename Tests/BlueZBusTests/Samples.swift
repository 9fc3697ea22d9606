import BlueZ
import BluetoothTypes
import BusValue

/// At least one of every case of the vocabulary.
enum Sample {
  static let adapter = WellKnown.firstAdapter
  static let device = adapter.appending("dev_C0_FF_EE_00_00_01")
  static let characteristic = device.appending("service0001").appending("char0002")
  static let descriptor = characteristic.appending("desc0004")
  static let application = ObjectPath(unchecked: "/app")
  static let exported = application.appending("service0").appending("char0")
  static let exportedDescriptor = exported.appending("desc0")
  static let advertisement = ObjectPath(unchecked: "/advertisement0")
  static let agent = ObjectPath(unchecked: "/agent")
  static let monitors = ObjectPath(unchecked: "/monitors")
  static let monitor = monitors.appending("near")
  static let uuid = BluetoothUUID(0x180F as UInt16)

  static let objects: ManagedObjects = [
    WellKnown.managerPath: [InterfaceName.agentManager: [:]],
    adapter: [
      InterfaceName.adapter: ["Address": .string("C0:FF:EE:00:00:00"), "Powered": .bool(true)],
      InterfaceName.gattManager: [:], InterfaceName.advertisingManager: ["ActiveInstances": .byte(0)],
      InterfaceName.advertisementMonitorManager: ["SupportedMonitorTypes": .strings(["or_patterns"])],
    ],
    device: [
      InterfaceName.device: [
        "Address": .string("C0:FF:EE:00:00:01"), "Connected": .bool(true), "RSSI": .int16(-60),
        "UUIDs": .strings([uuid.description]),
        "ManufacturerData": .dictionary(key: "q", value: "v", [.uint16(76): .variant(.bytes([1, 2]))]),
      ]
    ],
    characteristic: [
      InterfaceName.gattCharacteristic: ["UUID": .string(uuid.description), "Flags": .strings(["read"])]
    ],
    descriptor: [InterfaceName.gattDescriptor: ["UUID": .string(uuid.description)]],
  ]

  static let applicationObjects: ManagedObjects = [
    application.appending("service0"): [
      InterfaceName.gattService: ["UUID": .string(uuid.description), "Primary": .bool(true)]
    ],
    exported: [InterfaceName.gattCharacteristic: ["UUID": .string(uuid.description), "Value": .bytes([])]],
    exportedDescriptor: [InterfaceName.gattDescriptor: ["UUID": .string(uuid.description)]],
    application.appending("profile"): [InterfaceName.gattProfile: ["UUIDs": .strings([uuid.description])]],
  ]

  /// Each with the object it is called on, and its answer.
  static let calls: [(ObjectPath, Request, Result<Reply, BlueZError>)] = [
    (device, .setProperty(interface: InterfaceName.device, name: "Trusted", value: .bool(true)), .success(.none)),
    (adapter, .startDiscovery, .success(.none)),
    (adapter, .startDiscovery, .failure(.notReady)),
    (adapter, .stopDiscovery, .failure(.failed("No discovery started"))),
    (
      adapter,
      .setDiscoveryFilter(
        DiscoveryFilter(uuids: [uuid], rssi: -80, transport: "le", duplicateData: false, pattern: "C0")),
      .success(.none)
    ),
    (adapter, .setDiscoveryFilter(DiscoveryFilter()), .success(.none)),
    (adapter, .getDiscoveryFilters, .success(.strings(["UUIDs", "RSSI"]))),
    (adapter, .removeDevice(device), .failure(.doesNotExist)),
    (adapter, .connectDevice(["Address": .string("C0:FF:EE:00:00:01")]), .success(.path(device))),
    (device, .getServiceRecords, .failure(.notReady)),
    (device, .connect, .failure(.failed("le-connection-abort-by-local"))),
    (device, .disconnect, .success(.none)),
    (device, .connectProfile(uuid), .failure(.notSupported)),
    (device, .disconnectProfile(uuid), .success(.none)),
    (device, .pair, .failure(.authenticationFailed("Authentication Failed"))),
    (device, .cancelPairing, .success(.none)),
    (characteristic, .readValue(offset: 0), .success(.bytes([1, 2, 3]))),
    (characteristic, .readValue(offset: 22), .success(.bytes([]))),
    (descriptor, .readValue(offset: 1), .failure(.attError(.init(rawValue: 0x0E)))),
    (characteristic, .writeValue([1], WriteOptions(kind: .request, offset: 5)), .success(.none)),
    (characteristic, .writeValue([], WriteOptions(kind: .command)), .success(.none)),
    (characteristic, .writeValue([], WriteOptions(kind: .reliable)), .success(.none)),
    (descriptor, .writeValue([9], WriteOptions()), .failure(.notPermitted("Write not permitted"))),
    (characteristic, .startNotify, .failure(.inProgress)),
    (characteristic, .stopNotify, .success(.none)),
    (characteristic, .acquireNotify, .failure(.notSupported)),
    (characteristic, .acquireWrite, .failure(.notPermitted("Write acquired"))),
    (adapter, .registerApplication(root: application, objects: applicationObjects), .success(.none)),
    (adapter, .registerAdvertisement(path: advertisement, properties: advertisementProperties), .success(.none)),
    (WellKnown.managerPath, .registerAgent(path: agent, capability: .noInputNoOutput), .success(.none)),
    (WellKnown.managerPath, .requestDefaultAgent(path: agent), .success(.none)),
    (adapter, .registerMonitor(root: monitors, objects: [monitor: monitorInterfaces]), .success(.none)),
    (device, .readConnectionRSSI, .success(.rssi(-71))),
    (device, .openChannel(psm: 0x80), .failure(.rejected)),
    (adapter, .listenForChannels(psm: 0, requiresEncryption: true), .success(.psm(0x80))),
    (adapter, .acceptChannel(psm: 0x80), .failure(.canceled)),
    (adapter, .stopListening(psm: 0x80), .success(.none)),
  ]

  static let advertisementProperties: Properties = [
    "Type": .string("peripheral"), "ServiceUUIDs": .strings([uuid.description]), "LocalName": .string("Lock"),
  ]

  static let monitorInterfaces: Interfaces = [
    InterfaceName.advertisementMonitor: [
      "Type": .string("or_patterns"), "RSSIHighThreshold": .int16(-60),
      "Patterns": .array(of: "(yyay)", [.structure([.byte(0), .byte(0x16), .bytes([1, 2])])]),
    ]
  ]

  /// Each with the object it is called on, and the answer of the client's object.
  static let callbacks: [(ObjectPath, Callback, Result<CallbackReply, BlueZError>)] = [
    (exported, .readValue(RemoteRequest(device: device, mtu: 517)), .success(.bytes([5, 6]))),
    (exportedDescriptor, .readValue(RemoteRequest(device: device, offset: 3, mtu: 23)), .success(.bytes([]))),
    (
      exported, .writeValue([1, 2], RemoteRequest(device: device, mtu: 517, kind: .request)),
      .failure(.attError(.init(rawValue: 0x80)))
    ),
    (
      exportedDescriptor, .writeValue([], RemoteRequest(device: device, offset: 7, mtu: 64, kind: .command)),
      .success(.none)
    ),
    (exported, .startNotify, .success(.none)), (exported, .stopNotify, .success(.none)),
    (exported, .confirm, .success(.none)),
    (agent, .requestPinCode(device: device), .success(.pinCode("0000"))),
    (agent, .requestPasskey(device: device), .success(.passkey(123456))),
    (agent, .displayPasskey(device: device, passkey: 1, entered: 2), .success(.none)),
    (agent, .requestConfirmation(device: device, passkey: 7), .failure(.rejected)),
    (agent, .requestAuthorization(device: device), .success(.none)),
    (agent, .authorizeService(device: device, uuid: uuid), .failure(.canceled)),
    (agent, .cancel, .success(.none)),
    (application.appending("profile"), .release(interface: InterfaceName.gattProfile), .success(.none)),
    (advertisement, .release(interface: InterfaceName.advertisement), .success(.none)),
    (monitor, .monitor(.activate), .success(.none)), (monitor, .monitor(.deviceFound(device)), .success(.none)),
    (monitor, .monitor(.deviceLost(device)), .failure(.notSupported)),
    (monitor, .release(interface: InterfaceName.advertisementMonitor), .success(.none)),
    (agent, .release(interface: InterfaceName.agent), .success(.none)),
  ]

  static let signals: [Signal] = [
    .interfacesAdded(
      path: adapter.appending("dev_00"), [InterfaceName.device: ["Address": .string("C0:FF:EE:00:00:02")]]),
    .propertiesChanged(
      path: device, interface: InterfaceName.device, changed: ["Connected": .bool(false)], invalidated: ["RSSI"]),
    .propertiesChanged(
      path: characteristic, interface: InterfaceName.gattCharacteristic, changed: ["Value": .bytes([1])],
      invalidated: []),
    .interfacesRemoved(path: adapter.appending("dev_00"), [InterfaceName.device]),
  ]
}
