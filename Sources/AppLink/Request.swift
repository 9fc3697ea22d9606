import BluetoothTypes
import FoundationEssentials

/// What an app sends to the system. `attach` comes first and is answered by `AttachReply`. The rest may come in any
/// order.
package enum Request: Sendable, Hashable {
  // Managers
  /// Answered by `.managerRejected`, or by `.stateChanged`, which follows a `.willRestoreCentral` or
  /// `.willRestorePeripheral` if there is something to restore.
  case createManager(ManagerIdentifier, ManagerCreation)
  /// Creates the same manager again after the system came back. Nothing is restored. The app is told what it has
  /// missed, as events.
  case resumeManager(ManagerIdentifier, ManagerCreation, ManagerView)
  /// Some of the peripherals that a manager holds, with the options of their requests. The last of them come with the
  /// `resumeManager` that follows.
  case heldPeripherals(ManagerIdentifier, [PeripheralSnapshot], [PeerIdentifier: ConnectOptions])
  case destroyManager(ManagerIdentifier)

  // The roles; a request that does not fit the manager's role, or names an unknown manager, changes nothing
  case central(ManagerIdentifier, CentralRequest)
  case peripheral(ManagerIdentifier, PeripheralRequest)
  /// Answers a read (with its value) or a write.
  case respond(RemoteRequestIdentifier, result: ATTError?, value: [UInt8]?)

  // The user
  /// The user's action is over. `error` says in a line for a person why it could not be done.
  case completeAction(ActionIdentifier, error: String?)
  /// What the user asked is answered with this text.
  case answerQuestion(ActionIdentifier, text: String)
  /// Shows the user a line for as long as it matters, or takes it back with `nil`. An app has one line.
  case showAlert(String?)
  /// Tells the user about something that the app controls. It neither wakes the app nor keeps it awake.
  case report(AppReport)
  /// Which centrals the app lets in. It neither wakes the app nor keeps it awake.
  case admit(CentralAdmission)

  /// The app's delegates have returned from every event up to this one, and the library is idle.
  case handled(through: EventSequence)
}

/// What a central manager asks for.
package enum CentralRequest: Sendable, Hashable {
  case scan(ScanRequest)
  case stopScan
  case connect(PeerIdentifier, ConnectOptions)
  case cancelConnection(PeerIdentifier)
  /// From now on the app is told when a matching peripheral is connected to this machine, by whichever side, and when
  /// it no longer is. This replaces an earlier watch; `nil` ends it. It also ends with the app's process.
  case watchConnections(ConnectionWatch?)
  /// One operation on a connected peripheral. It ends in one `.operationCompleted`.
  case perform(PeerIdentifier, OperationIdentifier, PeripheralOperation)
}

/// What a peripheral manager asks for.
package enum PeripheralRequest: Sendable, Hashable {
  case addService(ServiceDefinition)
  case removeService(LocalAttributeIdentifier)
  case removeAllServices
  case startAdvertising(AdvertisementRequest)
  case stopAdvertising
  /// Pushes a value to subscribers, or to all of them if `centrals` is `nil`. The library waits when its credit is
  /// spent.
  case updateValue(LocalAttributeIdentifier, value: [UInt8], centrals: [PeerIdentifier]?)
  /// Lets centrals open L2CAP channels. With the PSM 0, the system chooses one. After the system came back, an app asks
  /// for the PSM that it had.
  case publishChannel(psm: UInt16, requiresEncryption: Bool)
  /// Ends a published channel, or all channels of the manager with the PSM 0.
  case unpublishChannel(psm: UInt16)
}

/// A question that `CBCentralManager` answers to its caller at once.
package enum Query: Sendable, Hashable {
  case retrievePeripherals(ManagerIdentifier, [PeerIdentifier])
  case retrieveConnectedPeripherals(ManagerIdentifier, withServices: [BluetoothUUID])
}

/// The answer to a query: the peripherals as the asking manager sees them.
package typealias QueryReply = [PeripheralSnapshot]

/// How an app introduces itself.
package struct Attachment: Sendable, Hashable {
  /// The version of this vocabulary. The system refuses any version but its own, with a clear error.
  package var protocolVersion: UInt32
  /// `CFBundleIdentifier` of its Info.plist. The system checks that the caller is that app.
  package var bundleIdentifier: String
  /// The last event that this process received, if it was attached before the system went away.
  package var lastEvent: EventSequence?
  package static let currentProtocolVersion: UInt32 = 1
  package init(
    protocolVersion: UInt32 = Attachment.currentProtocolVersion, bundleIdentifier: String,
    lastEvent: EventSequence? = nil
  ) {
    self.protocolVersion = protocolVersion
    self.bundleIdentifier = bundleIdentifier
    self.lastEvent = lastEvent
  }
}

/// What an app is told when it attaches.
package struct AttachReply: Sendable, Hashable {
  /// Restore identifiers of the managers for which the system relaunched the app.
  package var centralsToRestore: [String]
  package var peripheralsToRestore: [String]
  /// Background modes that its Info.plist declares, as the system read them.
  package var backgroundModes: [String]
  package init(centralsToRestore: [String] = [], peripheralsToRestore: [String] = [], backgroundModes: [String] = []) {
    self.centralsToRestore = centralsToRestore
    self.peripheralsToRestore = peripheralsToRestore
    self.backgroundModes = backgroundModes
  }
}

/// Why the system refuses an app or a request.
package struct AppLinkError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Code: String, Sendable, Hashable, Codable {
    case wrongVersion, unknownApp, notThatApp, notAttached, alreadyAttached, invalidArguments, limitReached,
      notFound, unavailable, appLeftOut
  }
  package var code: Code
  /// What was wrong and what to do about it.
  package var message: String
  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
  package var description: String { "\(code.rawValue): \(message)" }
}

/// What an app gives the system to create a manager.
package struct ManagerCreation: Sendable, Hashable, Codable {
  package var role: Role
  /// Opts in to preservation.
  package var restoreIdentifier: String?
  package init(role: Role, restoreIdentifier: String? = nil) {
    self.role = role
    self.restoreIdentifier = restoreIdentifier
  }
}

/// Which peripherals' connections an app wants to hear of: those with one of these identifiers, and those that offer one of
/// these services.
package struct ConnectionWatch: Sendable, Hashable, Codable {
  package var services: [BluetoothUUID]
  package var peripherals: [PeerIdentifier]
  package init(services: [BluetoothUUID] = [], peripherals: [PeerIdentifier] = []) {
    self.services = services
    self.peripherals = peripherals
  }
}

/// What a scan looks for (`scanForPeripherals(withServices:options:)`).
package struct ScanRequest: Sendable, Hashable, Codable {
  /// The services to look for; `nil` for every peripheral.
  package var services: [BluetoothUUID]?
  package var allowDuplicates: Bool
  package var solicitedServices: [BluetoothUUID]
  package init(services: [BluetoothUUID]?, allowDuplicates: Bool = false, solicitedServices: [BluetoothUUID] = []) {
    self.services = services
    self.allowDuplicates = allowDuplicates
    self.solicitedServices = solicitedServices
  }
}

/// The options of a connection request (`CBConnectPeripheralOption…`).
package struct ConnectOptions: Sendable, Hashable, Codable {
  package var notifyOnConnection: Bool
  package var notifyOnDisconnection: Bool
  package var notifyOnNotification: Bool
  package var enableAutoReconnect: Bool
  /// Seconds to wait before the attempt starts.
  package var startDelaySeconds: Double
  package init(
    notifyOnConnection: Bool = false, notifyOnDisconnection: Bool = false, notifyOnNotification: Bool = false,
    enableAutoReconnect: Bool = false, startDelaySeconds: Double = 0
  ) {
    self.notifyOnConnection = notifyOnConnection
    self.notifyOnDisconnection = notifyOnDisconnection
    self.notifyOnNotification = notifyOnNotification
    self.enableAutoReconnect = enableAutoReconnect
    self.startDelaySeconds = startDelaySeconds
  }
}

/// An operation on a connected peripheral's attributes. Attributes are identified by their handles.
package enum PeripheralOperation: Sendable, Hashable, Codable {
  case discoverServices([BluetoothUUID]?)
  case discoverIncludedServices([BluetoothUUID]?, service: AttributeHandle)
  case discoverCharacteristics([BluetoothUUID]?, service: AttributeHandle)
  case discoverDescriptors(characteristic: AttributeHandle)
  case readCharacteristic(AttributeHandle)
  case writeCharacteristic(AttributeHandle, value: [UInt8], withResponse: Bool)
  case setNotify(Bool, characteristic: AttributeHandle)
  case readDescriptor(AttributeHandle)
  case writeDescriptor(AttributeHandle, value: [UInt8])
  case readRSSI
  case openChannel(psm: UInt16)

  /// How many writes without response may be on their way to the system before an app is told to wait.
  package static let writeWindow = 32

  /// Whether it is a write without response.
  package var isWriteCommand: Bool {
    if case .writeCharacteristic(_, _, withResponse: false) = self { true } else { false }
  }
}

/// What a manager's delegate has been told so far. With it, a system that came back can tell the app what it missed,
/// and nothing twice.
package struct ManagerView: Sendable, Hashable, Codable {
  /// The state last told, or `nil` before the first.
  package var state: ManagerState?
  /// Every peripheral that the app has a connection to or a request for, as the app sees it.
  package var peripherals: [PeripheralSnapshot]
  /// The connection options of the requested ones.
  package var connectOptions: [PeerIdentifier: ConnectOptions]
  package var scan: ScanRequest?
  /// Discovered peripherals that a scan without duplicates has already reported.
  package var discovered: [PeerIdentifier]
  package var services: [ServiceDefinition]
  package var advertisement: AdvertisementRequest?
  /// Centrals that the app believes subscribed, by characteristic.
  package var subscriptions: [LocalAttributeIdentifier: [PeerIdentifier]]
  package init(
    state: ManagerState? = nil, peripherals: [PeripheralSnapshot] = [],
    connectOptions: [PeerIdentifier: ConnectOptions] = [:], scan: ScanRequest? = nil,
    discovered: [PeerIdentifier] = [], services: [ServiceDefinition] = [],
    advertisement: AdvertisementRequest? = nil,
    subscriptions: [LocalAttributeIdentifier: [PeerIdentifier]] = [:]
  ) {
    self.state = state
    self.peripherals = peripherals
    self.connectOptions = connectOptions
    self.scan = scan
    self.discovered = discovered
    self.services = services
    self.advertisement = advertisement
    self.subscriptions = subscriptions
  }
}
