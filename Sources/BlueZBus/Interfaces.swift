import BlueZ
import SystemBus

/// The interfaces of org.bluez that the carriers speak, as introspection describes them (BlueZ,
/// doc/org.bluez.*.rst). Properties are served as the objects have them and so are described from the objects.
enum Interfaces1 {
  /// Serves what D-Bus lacks of a simulated controller.
  static let simulatedController = "org.latchkey.SimulatedController1"

  private typealias Argument = InterfaceDescription.Argument
  private typealias Method = InterfaceDescription.Method

  static let all: [String: InterfaceDescription] = Dictionary(
    uniqueKeysWithValues: [
      adapter, device, gattManager, gattService, gattCharacteristic, gattDescriptor, gattProfile, advertisingManager,
      advertisement, agentManager, agent, controller,
    ].map { ($0.name, $0) })

  private static let options = Argument("options", "a{sv}")

  private static let adapter = InterfaceDescription(
    InterfaceName.adapter,
    methods: [
      Method("StartDiscovery"), Method("StopDiscovery"),
      Method("SetDiscoveryFilter", [Argument("properties", "a{sv}")]),
      Method("GetDiscoveryFilters", returns: [Argument("filters", "as")]),
      Method("RemoveDevice", [Argument("device", "o")]),
    ])

  private static let device = InterfaceDescription(
    InterfaceName.device,
    methods: [
      Method("Connect"), Method("Disconnect"), Method("ConnectProfile", [Argument("UUID", "s")]),
      Method("DisconnectProfile", [Argument("UUID", "s")]), Method("Pair"), Method("CancelPairing"),
    ])

  private static let gattManager = InterfaceDescription(
    InterfaceName.gattManager,
    methods: [
      Method("RegisterApplication", [Argument("application", "o"), options]),
      Method("UnregisterApplication", [Argument("application", "o")]),
    ])

  private static let gattService = InterfaceDescription(InterfaceName.gattService)

  private static let gattCharacteristic = InterfaceDescription(
    InterfaceName.gattCharacteristic,
    methods: [
      Method("ReadValue", [options], returns: [Argument("value", "ay")]),
      Method("WriteValue", [Argument("value", "ay"), options]),
      Method("AcquireWrite", [options], returns: [Argument("fd", "h"), Argument("mtu", "q")]),
      Method("AcquireNotify", [options], returns: [Argument("fd", "h"), Argument("mtu", "q")]),
      Method("StartNotify"), Method("StopNotify"), Method("Confirm"),
    ])

  private static let gattDescriptor = InterfaceDescription(
    InterfaceName.gattDescriptor,
    methods: [
      Method("ReadValue", [options], returns: [Argument("value", "ay")]),
      Method("WriteValue", [Argument("value", "ay"), options]),
    ])

  private static let gattProfile = InterfaceDescription(InterfaceName.gattProfile, methods: [Method("Release")])

  private static let advertisingManager = InterfaceDescription(
    InterfaceName.advertisingManager,
    methods: [
      Method("RegisterAdvertisement", [Argument("advertisement", "o"), options]),
      Method("UnregisterAdvertisement", [Argument("service", "o")]),
    ])

  private static let advertisement = InterfaceDescription(InterfaceName.advertisement, methods: [Method("Release")])

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
    simulatedController, methods: [Method("ReadConnectionRSSI", returns: [Argument("rssi", "n")])])
}
