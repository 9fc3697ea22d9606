import AppLink
import BluetoothTypes
import FoundationEssentials

/// At least one of every case of the vocabulary, with every optional both present and missing.
enum Sample {
  static let manager = ManagerIdentifier(7)
  static let operation = OperationIdentifier(1 << 40)
  static let peer: PeerIdentifier = id(1)
  static let uuid = BluetoothUUID(0x180F as UInt16)
  static let custom = BluetoothUUID(high: 0x1234_5678_9ABC_DEF0, low: 0xFEDC_BA98_7654_3210)

  static func id<Identifier: UUIDIdentifier>(_ last: UInt8) -> Identifier {
    Identifier(UUID(uuid: (0xAA, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, last)))
  }

  static let service = ServiceSnapshot(
    handle: 1, uuid: custom, isPrimary: false, includedServices: [9],
    characteristics: [
      CharacteristicSnapshot(
        handle: 3, uuid: uuid, properties: [.read, .notifyEncryptionRequired], isNotifying: true,
        descriptors: [DescriptorSnapshot(handle: 5, uuid: uuid)]),
      CharacteristicSnapshot(handle: 0xFFFF, uuid: custom, properties: []),
    ])
  static let bareService = ServiceSnapshot(handle: 2, uuid: uuid)
  static let peripheral = PeripheralSnapshot(
    identifier: peer, name: "Haustür 🔑", state: .connected, services: [service, bareService], mtu: 517)
  static let barePeripheral = PeripheralSnapshot(identifier: id(2))
  static let central = CentralSnapshot(identifier: id(3), maximumUpdateValueLength: 514)
  static let definition = ServiceDefinition(
    identifier: id(4), uuid: custom, isPrimary: true, includedServices: [id(5)],
    characteristics: [
      CharacteristicDefinition(
        identifier: id(6), uuid: uuid, properties: [.write], permissions: [.writeEncryptionRequired], value: nil,
        descriptors: [DescriptorDefinition(uuid: uuid, value: [1, 2])]),
      CharacteristicDefinition(
        identifier: id(7), uuid: uuid, properties: [.read], permissions: [.readable], value: []),
    ])
  static let advertisement = AdvertisementRequest(localName: "Lock", serviceUUIDs: [uuid, custom])
  static let scan = ScanRequest(services: [uuid], allowDuplicates: true, solicitedServices: [custom])
  static let errors: [PeerError] = [
    .coreBluetooth(.connectionTimeout, message: "timed out"), .att(ATTError(rawValue: 0x0E)),
  ]
  static let fullAdvertisement = AdvertisementData(
    flags: 6, localName: "n", serviceUUIDs: [uuid], solicitedServiceUUIDs: [custom], overflowServiceUUIDs: [uuid],
    serviceData: [uuid: [1], custom: []], manufacturerData: [0x004C: [2, 3]], transmitPowerLevel: -20,
    appearance: 833, isConnectable: false)

  static let operations: [PeripheralOperation] = [
    .discoverServices(nil), .discoverServices([]), .discoverServices([uuid]),
    .discoverIncludedServices(nil, service: 1), .discoverCharacteristics([custom], service: 2),
    .discoverDescriptors(characteristic: 3), .readCharacteristic(4),
    .writeCharacteristic(5, value: Array(repeating: 9, count: 512), withResponse: true),
    .setNotify(true, characteristic: 6), .readDescriptor(7), .writeDescriptor(8, value: []), .readRSSI,
    .openChannel(psm: 0x80),
  ]

  static let requests: [Request] =
    [
      .createManager(manager, ManagerCreation(role: .central, restoreIdentifier: "door")),
      .createManager(manager, ManagerCreation(role: .peripheral)),
      .resumeManager(manager, ManagerCreation(role: .central, restoreIdentifier: ""), ManagerView()),
      .resumeManager(
        manager, ManagerCreation(role: .peripheral),
        ManagerView(
          state: .poweredOn, peripherals: [peripheral, barePeripheral],
          connectOptions: [peer: ConnectOptions(notifyOnConnection: true, startDelaySeconds: 1.5)], scan: scan,
          discovered: [id(8)], services: [definition], advertisement: advertisement,
          subscriptions: [id(6): [id(3)], id(7): []])),
      .heldPeripherals(manager, [peripheral, barePeripheral], [peer: ConnectOptions(notifyOnDisconnection: true)]),
      .destroyManager(manager), .central(manager, .scan(scan)), .central(manager, .scan(ScanRequest(services: nil))),
      .central(manager, .stopScan),
      .central(manager, .watchConnections(nil)),
      .central(
        manager,
        .watchConnections(
          ConnectionWatch(services: [BluetoothUUID(UInt16(0x180F))], peripherals: [peripheral.identifier]))),
      .central(
        manager,
        .connect(
          peer,
          ConnectOptions(notifyOnDisconnection: true, notifyOnNotification: true, enableAutoReconnect: true))),
      .central(manager, .cancelConnection(peer)), .peripheral(manager, .addService(definition)),
      .peripheral(manager, .removeService(id(4))),
      .peripheral(manager, .removeAllServices), .peripheral(manager, .startAdvertising(advertisement)),
      .peripheral(manager, .startAdvertising(AdvertisementRequest())), .peripheral(manager, .stopAdvertising),
      .peripheral(manager, .updateValue(id(6), value: [1], centrals: nil)),
      .peripheral(manager, .updateValue(id(6), value: [], centrals: [id(3)])),
      .peripheral(manager, .publishChannel(psm: 0, requiresEncryption: true)),
      .peripheral(manager, .unpublishChannel(psm: 0x80)),
      .respond(RemoteRequestIdentifier(.max), result: nil, value: [1, 2, 3]),
      .respond(RemoteRequestIdentifier(1), result: .readNotPermitted, value: nil),
      .completeAction(ActionIdentifier(3), error: nil), .completeAction(ActionIdentifier(.max), error: "no link"),
      .answerQuestion(ActionIdentifier(4), text: "{\"bolt\":\"locked\"}"),
      .showAlert("the door is locked"), .showAlert(nil),
      .report(AppReport(.movement, subject: "Haustür", text: "opened")),
      .report(AppReport(.state, subject: "Haustür", text: "locked")),
      .report(AppReport(.knownState, subject: "", text: "")),
      .admit(CentralAdmission(acceptsPairings: true, proven: [peer], known: [peer])),
      .admit(CentralAdmission()),
      .handled(through: EventSequence(99)),
    ] + operations.map { .central(manager, .perform(peer, operation, $0)) }

  static let queries: [Query] = [
    .retrievePeripherals(manager, [peer, id(2)]), .retrieveConnectedPeripherals(manager, withServices: [uuid]),
  ]

  static let results: [OperationResult] =
    [
      .done, .services([service, bareService]), .includedServices(of: 1, [bareService]),
      .characteristics(of: 1, service.characteristics ?? []),
      .descriptors(of: 3, [DescriptorSnapshot(handle: 5, uuid: uuid)]), .value([]), .value([0xFF]),
      .notifying(false), .rssi(-127),
    ] + errors.map { .failed($0) }

  /// Events with a socket, which is another one after each journey.
  static func events(with channel: ChannelDescriptor) -> [Event] {
    [
      Event(
        sequence: EventSequence(901), manager: manager, body: .channelOpened(central, psm: 0x80, channel, mtu: 512)),
      Event(
        sequence: EventSequence(902), manager: manager,
        body: .operationCompleted(peer, operation, .channel(channel, mtu: 512))),
    ]
  }

  static let events: [Event] = {
    var bodies: [Event.Body] = [
      .managerRejected(AppLinkError(.invalidArguments, "two managers, one identifier")),
      .stateChanged(.poweredOff),
      .willRestoreCentral(CentralRestoration(peripherals: [peripheral], scan: scan)),
      .willRestoreCentral(CentralRestoration(peripherals: [])),
      .willRestorePeripheral(
        PeripheralRestoration(
          services: [definition], advertisement: advertisement, subscriptions: [id(6): [central]])),
      .willRestorePeripheral(PeripheralRestoration(services: [], advertisement: nil)),
      .discovered(barePeripheral, fullAdvertisement, rssi: -128),
      .discovered(peripheral, AdvertisementData(), rssi: 127), .connected(peripheral),
      .disconnected(peer, error: nil, unixSeconds: 1.75e9, isReconnecting: true),
      .valueUpdated(peer, characteristic: 3, value: [1]), .nameChanged(peer, nil),
      .nameChanged(peer, ""), .mtuChanged(peer, mtu: 517), .servicesModified(peer, invalidated: [1, 2]),
      .connectionEvent(peripheral, isConnected: true),
      .serviceAdded(id(4), error: nil), .advertisingStarted(error: nil),
      .subscribed(central, id(6)), .unsubscribed(central, id(6)),
      .readRequested(RemoteRequestIdentifier(1), central, id(6), offset: 22),
      .writeRequested(
        RemoteRequestIdentifier(2), central, id(6), offset: 0, value: [7], withResponse: false),
      .requestExpired(RemoteRequestIdentifier(2)), .updateCredit(10),
      .channelPublished(psm: 0x80, error: nil), .channelUnpublished(psm: 0x80, error: nil),
      .actionRequested(ActionIdentifier(3), name: "unlock"),
      .questionAsked(ActionIdentifier(4), name: "door", argument: "{}"),
      .actionWithdrawn(ActionIdentifier(4)),
    ]
    for error in errors {
      bodies += [
        .failedToConnect(peer, error), .serviceAdded(id(4), error: error),
        .advertisingStarted(error: error),
        .channelPublished(psm: 0, error: error), .channelUnpublished(psm: 0x81, error: error),
        .disconnected(peer, error: error, unixSeconds: 0, isReconnecting: false),
      ]
    }
    bodies += results.map { .operationCompleted(peer, operation, $0) }
    bodies.append(.restoredPeripherals([peripheral, barePeripheral]))
    return bodies.enumerated().map { index, body in
      let isAppsOwn = body.kind == .actionRequested
      return Event(sequence: EventSequence(UInt64(index + 1)), manager: isAppsOwn ? nil : manager, body: body)
    }
  }()
}
