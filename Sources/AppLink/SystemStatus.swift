import FoundationEssentials

/// The states of an app's life, as on iOS.
package enum AppState: String, Sendable, Hashable, Codable {
  case notRunning, launching, foreground, background, suspended
}

/// A remote device, as the user is shown it.
package struct PeerStatus: Sendable, Hashable {
  package var identifier: PeerIdentifier
  /// What the device calls itself, on one line.
  package var name: String?
  /// `C0:FF:EE:00:00:01`, if it is known.
  package var address: String?
  /// Whether it is connected. Otherwise a connection to it is requested.
  package var isConnected: Bool
  /// When it was connected or requested, in seconds since 1970. `nil` if that was before the system started.
  package var sinceUnixSeconds: Double?
  /// Its signal in dBm, as it was last heard or read. The radio is not asked for it.
  package var signalDBm: Int?
  package init(
    identifier: PeerIdentifier, name: String? = nil, address: String? = nil, isConnected: Bool,
    sinceUnixSeconds: Double? = nil, signalDBm: Int? = nil
  ) {
    self.identifier = identifier
    self.name = name
    self.address = address
    self.isConnected = isConnected
    self.sinceUnixSeconds = sinceUnixSeconds
    self.signalDBm = signalDBm
  }
}

/// What an app asks of Bluetooth now, besides connections.
package struct AppActivity: Sendable, Hashable {
  package var isScanning: Bool
  package var isAdvertising: Bool
  package var publishedServices: Int
  /// How many remote devices are subscribed to its values.
  package var subscribers: Int
  package init(
    isScanning: Bool = false, isAdvertising: Bool = false, publishedServices: Int = 0, subscribers: Int = 0
  ) {
    self.isScanning = isScanning
    self.isAdvertising = isAdvertising
    self.publishedServices = publishedServices
    self.subscribers = subscribers
  }
}

/// One app, as `latchkey apps` shows it.
package struct AppStatus: Sendable, Hashable {
  package var bundleIdentifier: String
  package var state: AppState
  package var processIdentifier: Int32?
  package var quitByUser: Bool
  /// Whether the user lets it use Bluetooth.
  package var isAllowed: Bool
  /// Connection requests that have not completed.
  package var pendingConnections: Int
  package var connections: Int
  package var launches: Int
  /// The alert that it shows the user now.
  package var alert: String?
  /// The devices that it is connected to, and then those that it has requested.
  package var peers: [PeerStatus]
  /// How many more devices there are.
  package var peersLeftOut: Int
  package var activity: AppActivity
  package init(
    bundleIdentifier: String, state: AppState, processIdentifier: Int32? = nil, quitByUser: Bool = false,
    isAllowed: Bool = true, pendingConnections: Int = 0, connections: Int = 0, launches: Int = 0, alert: String? = nil,
    peers: [PeerStatus] = [], peersLeftOut: Int = 0, activity: AppActivity = AppActivity()
  ) {
    self.bundleIdentifier = bundleIdentifier
    self.state = state
    self.processIdentifier = processIdentifier
    self.quitByUser = quitByUser
    self.isAllowed = isAllowed
    self.pendingConnections = pendingConnections
    self.connections = connections
    self.launches = launches
    self.alert = alert
    self.peers = peers
    self.peersLeftOut = peersLeftOut
    self.activity = activity
  }
}

/// What the system and its apps are doing. Every list is limited, and says how much it leaves out.
package struct SystemStatus: Sendable, Hashable {
  /// The version of the system's program.
  package var version: String
  package var bluetooth: ManagerState
  package var apps: [AppStatus]
  package var appsLeftOut: Int
  /// All devices that are connected to this machine, whichever side asked for it.
  package var links: [PeerStatus]
  package var linksLeftOut: Int
  /// Pairings that wait for the user's answer.
  package var pairings: [PairingQuestion]
  /// The last wakes of each app, oldest first.
  package var wakes: [WakeRecord]
  /// How many older wakes there are. They are in the journal.
  package var wakesLeftOut: Int
  /// Why promises can't be stored at this moment, and what that means. `nil` if they can.
  package var storeTrouble: String?
  /// What the user has not answered yet, oldest first.
  package var alerts: [UserAlert]
  /// How the things are that apps control, such as a door, in the order of the apps' names.
  package var states: [ReportedState]
  package var statesLeftOut: Int
  /// The last movements that each app has reported since the system started, oldest first.
  package var movements: [ReportedMovement]
  package var movementsLeftOut: Int
  package init(
    version: String = "", bluetooth: ManagerState, apps: [AppStatus], appsLeftOut: Int = 0, links: [PeerStatus] = [],
    linksLeftOut: Int = 0, pairings: [PairingQuestion] = [], wakes: [WakeRecord] = [], wakesLeftOut: Int = 0,
    storeTrouble: String? = nil, alerts: [UserAlert] = [], states: [ReportedState] = [], statesLeftOut: Int = 0,
    movements: [ReportedMovement] = [], movementsLeftOut: Int = 0
  ) {
    self.version = version
    self.bluetooth = bluetooth
    self.apps = apps
    self.appsLeftOut = appsLeftOut
    self.links = links
    self.linksLeftOut = linksLeftOut
    self.pairings = pairings
    self.wakes = wakes
    self.wakesLeftOut = wakesLeftOut
    self.storeTrouble = storeTrouble
    self.alerts = alerts
    self.states = states
    self.statesLeftOut = statesLeftOut
    self.movements = movements
    self.movementsLeftOut = movementsLeftOut
  }

  /// The most entries that the lists have.
  package enum Limit {
    package static let apps = 256
    package static let peersPerApp = 32
    package static let links = 64
    package static let pairings = 64
    package static let wakes = 1024
    package static let alerts = 32
    package static let states = 64
    package static let movements = 256
    /// The length of a device's name, in bytes.
    package static let nameBytes = 248
  }

  /// This status without what changes all the time while an app is awake: how long the wake has lasted, and how many
  /// events and requests it has had. If the news of two moments differ, something has changed for the user.
  package var news: SystemStatus {
    var news = self
    for index in news.wakes.indices where news.wakes[index].outcome == nil {
      news.wakes[index].seconds = 0
      news.wakes[index].told = 0
      news.wakes[index].said = 0
    }
    return news
  }
}
