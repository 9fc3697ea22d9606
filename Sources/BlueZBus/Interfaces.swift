import BlueZ
import SystemBus

/// The interfaces of org.bluez that the carriers use, as introspection describes them (BlueZ, doc/org.bluez.*.rst). The
/// properties of bluetoothd's own objects come from their tables (`InterfaceTables`). Objects of clients are described
/// by the properties that they have.
enum Interfaces1 {
  /// Provides what D-Bus lacks, for a simulated controller.
  static let simulatedController = "org.latchkey.SimulatedController1"

  private typealias Argument = InterfaceDescription.Argument
  private typealias Method = InterfaceDescription.Method
  private typealias Property = InterfaceDescription.Property

  static let all: [String: InterfaceDescription] = Dictionary(
    uniqueKeysWithValues: [
      adapter, device, gattManager, gattService, gattCharacteristic, gattDescriptor, gattProfile, advertisingManager,
      advertisement, monitorManager, monitor, agentManager, agent, controller, battery, batteryProviderManager,
      batteryProvider, profileManager, healthManager,
      media, networkServer, simAccess,
    ].map { ($0.name, $0) })

  private static let options = Argument("options", "a{sv}")

  /// What bluetoothd's own objects have with `--experimental`. `Confirm` is left out, because only clients'
  /// characteristics have it.
  static let ofExperimentalDaemon = all.mapValues { without(["Confirm"], $0) }

  /// The same without `--experimental` (src/adapter.c, src/device.c).
  static let ofDaemon = ofExperimentalDaemon.mapValues { without(["ConnectDevice", "GetServiceRecords"], $0) }

  private static func without(_ methods: Set<String>, _ description: InterfaceDescription) -> InterfaceDescription {
    var description = description
    description.methods.removeAll { methods.contains($0.name) }
    return description
  }

  private static func properties<Table: InterfaceTable>(_ table: Table.Type) -> [Property] {
    InterfaceTables.all[Table.interface, default: []].map {
      Property($0.name, $0.signature, isWritable: $0.use == .writable)
    }
  }

  private static let adapter = InterfaceDescription(
    InterfaceName.adapter,
    methods: [
      Method("StartDiscovery"), Method("StopDiscovery"),
      Method("SetDiscoveryFilter", [Argument("properties", "a{sv}")]),
      Method("GetDiscoveryFilters", returns: [Argument("filters", "as")]),
      Method("RemoveDevice", [Argument("device", "o")]),
      // It also returns the device's path, which bluetoothd does not describe.
      Method("ConnectDevice", [Argument("properties", "a{sv}")]),
    ],
    properties: properties(Adapter1.self))

  private static let device = InterfaceDescription(
    InterfaceName.device,
    methods: [
      Method("Connect"), Method("Disconnect"), Method("ConnectProfile", [Argument("UUID", "s")]),
      Method("DisconnectProfile", [Argument("UUID", "s")]), Method("Pair"), Method("CancelPairing"),
      Method("GetServiceRecords", returns: [Argument("Records", "aay")]),
    ],
    properties: properties(Device1.self))

  private static let gattManager = InterfaceDescription(
    InterfaceName.gattManager,
    methods: [
      Method("RegisterApplication", [Argument("application", "o"), options]),
      Method("UnregisterApplication", [Argument("application", "o")]),
    ])

  private static let gattService = InterfaceDescription(
    InterfaceName.gattService,
    properties: properties(GattService1.self))

  private static let gattCharacteristic = InterfaceDescription(
    InterfaceName.gattCharacteristic,
    methods: [
      Method("ReadValue", [options], returns: [Argument("value", "ay")]),
      Method("WriteValue", [Argument("value", "ay"), options]),
      Method("AcquireWrite", [options], returns: [Argument("fd", "h"), Argument("mtu", "q")]),
      Method("AcquireNotify", [options], returns: [Argument("fd", "h"), Argument("mtu", "q")]),
      Method("StartNotify"), Method("StopNotify"), Method("Confirm"),
    ],
    properties: properties(GattCharacteristic1.self))

  private static let gattDescriptor = InterfaceDescription(
    InterfaceName.gattDescriptor,
    methods: [
      Method("ReadValue", [options], returns: [Argument("value", "ay")]),
      Method("WriteValue", [Argument("value", "ay"), options]),
    ], properties: properties(GattDescriptor1.self))

  private static let gattProfile = InterfaceDescription(InterfaceName.gattProfile, methods: [Method("Release")])

  private static let advertisingManager = InterfaceDescription(
    InterfaceName.advertisingManager,
    methods: [
      Method("RegisterAdvertisement", [Argument("advertisement", "o"), options]),
      Method("UnregisterAdvertisement", [Argument("service", "o")]),
    ],
    properties: properties(LEAdvertisingManager1.self))

  private static let advertisement = InterfaceDescription(InterfaceName.advertisement, methods: [Method("Release")])

  private static let monitorManager = InterfaceDescription(
    InterfaceName.advertisementMonitorManager,
    methods: [
      Method("RegisterMonitor", [Argument("application", "o")]),
      Method("UnregisterMonitor", [Argument("application", "o")]),
    ], properties: properties(AdvertisementMonitorManager1.self))

  private static let monitor = InterfaceDescription(
    InterfaceName.advertisementMonitor,
    methods: [
      Method("Release"), Method("Activate"), Method("DeviceFound", [Argument("device", "o")]),
      Method("DeviceLost", [Argument("device", "o")]),
    ])

  private static let battery = InterfaceDescription(
    InterfaceName.battery, properties: properties(Battery1.self))

  private static let batteryProviderManager = InterfaceDescription(
    InterfaceName.batteryProviderManager,
    methods: [
      Method("RegisterBatteryProvider", [Argument("provider", "o")]),
      Method("UnregisterBatteryProvider", [Argument("provider", "o")]),
    ])

  private static let batteryProvider = InterfaceDescription(InterfaceName.batteryProvider)

  private static let agentManager = InterfaceDescription(
    InterfaceName.agentManager,
    methods: [
      Method("RegisterAgent", [Argument("agent", "o"), Argument("capability", "s")]),
      Method("UnregisterAgent", [Argument("agent", "o")]),
      Method("RequestDefaultAgent", [Argument("agent", "o")]),
    ])

  private static let agent = InterfaceDescription(
    InterfaceName.agent,
    methods: [
      Method("Release"), Method("Cancel"),
      Method("RequestPinCode", [Argument("device", "o")], returns: [Argument("pincode", "s")]),
      Method("RequestPasskey", [Argument("device", "o")], returns: [Argument("passkey", "u")]),
      Method("DisplayPasskey", [Argument("device", "o"), Argument("passkey", "u"), Argument("entered", "q")]),
      Method("RequestConfirmation", [Argument("device", "o"), Argument("passkey", "u")]),
      Method("RequestAuthorization", [Argument("device", "o")]),
      Method("AuthorizeService", [Argument("device", "o"), Argument("uuid", "s")]),
    ])

  private static let controller = InterfaceDescription(
    simulatedController,
    methods: [
      Method("ReadConnectionRSSI", returns: [Argument("rssi", "n")]),
      Method("OpenChannel", [Argument("psm", "q")], returns: channel),
      Method(
        "ListenForChannels", [Argument("psm", "q"), Argument("requires_encryption", "b")],
        returns: [Argument("psm", "q")]),
      Method("AcceptChannel", [Argument("psm", "q")], returns: channel),
      Method("StopListening", [Argument("psm", "q")]),
    ])

  private static let channel = [Argument("device", "o"), Argument("socket", "h"), Argument("mtu", "q")]

  // MARK: Interfaces beyond Low Energy

  /// Interfaces whose methods are refused.
  static let unserved: Set<String> = Set(
    [healthManager, media, networkServer, simAccess].map(\.name))

  private static let profileManager = InterfaceDescription(
    InterfaceName.profileManager,
    methods: [
      Method("RegisterProfile", [Argument("profile", "o"), Argument("UUID", "s"), options]),
      Method("UnregisterProfile", [Argument("profile", "o")]),
    ])

  private static let healthManager = InterfaceDescription(
    InterfaceName.healthManager,
    methods: [
      Method("CreateApplication", [Argument("config", "a{sv}")], returns: [Argument("application", "o")]),
      Method("DestroyApplication", [Argument("application", "o")]),
    ])

  private static let media = InterfaceDescription(
    InterfaceName.media,
    methods: [
      Method("RegisterEndpoint", [Argument("endpoint", "o"), Argument("properties", "a{sv}")]),
      Method("UnregisterEndpoint", [Argument("endpoint", "o")]),
      Method("RegisterPlayer", [Argument("player", "o"), Argument("properties", "a{sv}")]),
      Method("UnregisterPlayer", [Argument("player", "o")]),
      Method("RegisterApplication", [Argument("application", "o"), options]),
      Method("UnregisterApplication", [Argument("application", "o")]),
    ], properties: properties(Media1.self))

  private static let networkServer = InterfaceDescription(
    InterfaceName.networkServer,
    methods: [
      Method("Register", [Argument("uuid", "s"), Argument("bridge", "s")]),
      Method("Unregister", [Argument("uuid", "s")]),
    ])

  private static let simAccess = InterfaceDescription(
    InterfaceName.simAccess, methods: [Method("Disconnect")], properties: properties(SimAccess1.self))
}
