import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import HashTreeCollections
import JournalEvents
import TimeTypes

/// What latchkeyd decides: a pure state machine between bluetoothd and the apps. It takes events and the time, and
/// returns effects for a shell to carry out in order.
///
/// Every app request is desired state. After each event the machine compares the desired state with what bluetoothd
/// reports and asks for what is missing. So a lost message does no lasting harm, whatever the reason.
package struct BluetoothSystem: Sendable {
  let configuration: Configuration
  var now = Instant.zero
  var unixSeconds = 0.0
  var random: SplitMix64

  // What was promised to apps.
  var ledger: Ledger
  var settings: SettingsRecord
  var apps = AppTable()
  /// The apps' names, in order.
  let appNames: [String]
  let leftOut: [LeftOutApp]
  var managers = ManagerTable()
  var held = HeldPeripherals()
  var peers: TreeDictionary<PeerIdentifier, PeerRecord> = [:]
  /// How many of the peers no app has asked for.
  var guests = 0
  var remembered = RememberedSubscriptions()
  var alerts = Alerts()

  // What bluetoothd reports.
  var bluez = BlueZMirror()
  var identifiers = PeerDirectory()

  // What bluetoothd was asked for.
  var calls = PendingCalls()
  var attempts = PeerTable<ConnectionAttempt>()
  var connections = ConnectionWork()
  var profile = AcceptListProfile()
  var discovery = Discovery()
  var pairing = Pairing()
  var operations = PeerTable<OperationQueue>()
  var signalReadings: [PeerIdentifier: SignalReading] = [:]
  var links = PeerTable<LinkHealth>()
  /// Links that came up and may not carry everything yet.
  var capacities = PeerTable<LinkCapacity>()
  var rereading = Rereading()
  var abandonedReads = AbandonedReads()
  /// Peers whose attributes changed in this turn, and peers that lack services they should have.
  var uncheckedDatabases: Set<PeerIdentifier> = []
  /// Services that have appeared on a link and that apps were not told of.
  var newServices: [PeerIdentifier: Set<AttributeHandle>] = [:]
  var healings = PeerTable<DatabaseHealing>()
  var knownServices = KnownServices()
  /// Peripherals that no app asks for, and whose links were left to them because they are centrals as well.
  var leftLinks: Set<PeerIdentifier> = []
  /// Links of centrals that have proven nothing.
  var unproven = UnprovenLinks()
  var sessions = NotifySessions()
  var publishing = Publishing()
  var strays = StrayRegistrations()
  var renewals = PeerTable<SubscriptionRenewal>()
  var heldUpdates = HeldUpdates()
  var publishedChannels = PublishedChannels()
  var exports = ExportPaths()
  /// The first is random, so that an app that completes an action of an earlier system completes none of this one.
  var lastAction: UInt64
  var remoteRequests: OpenRemoteRequests

  // What the reconcilers have to look at.
  var changes = Changes()
  /// The state of Bluetooth that all peripherals were last examined in.
  private var examinedState = ManagerState.unknown
  /// Linked peripherals whose apps may not be told of that yet.
  var untoldConnections: Set<PeerIdentifier> = []
  /// Something has changed that may concern the subscriptions of every central, not only of those in `changes`.
  var haveSubscriptionsChanged = false

  /// The last deadline that was found to be overdue.
  var overdue: Instant?

  // The effects this turn has decided on.
  var output: [Effect] = []

  /// - Parameters:
  ///   - apps: the apps installed on this machine. Stored records of other apps are kept, but not used.
  ///   - leftOut: the apps that can't be used.
  ///   - stored: what an earlier run of the system left on disk.
  ///   - seed: for the random numbers the system needs; different at each start.
  package init(
    configuration: Configuration = Configuration(), apps: [AppDeclaration], leftOut: [LeftOutApp] = [],
    stored: StoredState, seed: UInt64
  ) {
    self.configuration = configuration
    self.leftOut = leftOut
    ledger = Ledger(stored)
    appNames = Set(apps.map(\.bundleIdentifier)).sorted()
    random = SplitMix64(state: seed)
    if case .settings(let record) = stored.records[StoreKey(.settings, "")] {
      settings = record
    } else {
      settings = SettingsRecord(salt: random.next(), bluetoothOn: true)
    }
    // Half of all numbers are left to count on.
    lastAction = random.next() >> 1
    remoteRequests = OpenRemoteRequests(after: random.next() >> 1)
    for declaration in apps { self.apps[declaration.bundleIdentifier] = App(declaration) }
    load(stored)
  }

  /// Takes one event and returns what to do about it. Time never goes backwards between events.
  /// - Parameter unixSeconds: the wall clock. It is only passed on to apps.
  package mutating func handle(_ event: Event, at time: Instant, unixSeconds: Double? = nil) -> [Effect] {
    now = max(now, time)
    self.unixSeconds = unixSeconds ?? now.seconds
    switch event {
    case .started: start()
    case .daemon(let message): receive(message)
    case .attach(let link, let process, let attachment, let token): attach(link, process, attachment, token)
    case .request(let link, let request): receive(request, from: link)
    case .query(let link, let query, let token): answer(query, from: link, token)
    case .detached(let link): detach(link)
    case .control(let request, let token): control(request, token)
    case .withdrawn(let token): withdrawAction(token)
    case .appLaunched(let app, let process): appLaunched(app, process)
    case .appLaunchFailed(let app, let message): appLaunchFailed(app, message)
    case .appEnded(let app, let process, let how): appEnded(app, process, how: how)
    case .connectionRefused(let device, let error): connectionRefused(device, error)
    case .timeEnded(let app): apps[app]?.endStay(at: now)
    case .memoryPressure: reclaimMemory(because: "memory pressure")
    case .resumedFromSleep: wokeFromSleep()
    case .timePassed: break
    }
    settle()
    assert(brokenInvariant() == nil, brokenInvariant() ?? "")
    setDeadline()
    return takeEffects()
  }

  /// The latest time at which `timePassed` must arrive, or `nil` if nothing waits for the time. It is never in the
  /// past: such an alarm would fire again at once, for ever.
  package private(set) var nextDeadline: Instant?

  /// A turn must handle everything that is due in it. If something is left overdue, that is a bug in this machine. It
  /// is journaled once and costs one turn a second, instead of using all the processor's time.
  private mutating func setDeadline() {
    guard let earliest = earliestDeadline else {
      nextDeadline = nil
      return
    }
    guard earliest <= now else {
      nextDeadline = earliest
      return
    }
    if overdue != earliest {
      overdue = earliest
      journal(.deadlineOverdue, [.deadline: earliest.description])
    }
    nextDeadline = now + .seconds(1)
  }

  /// The earliest of all deadlines, even if it is overdue.
  var earliestDeadline: Instant? {
    var earliest = Earliest()
    earliest.consider(appsDeadline)
    earliest.consider(remoteRequests.deadline)
    earliest.consider(reconcilerDeadline)
    earliest.consider(pairing.deadline)
    earliest.consider(bluez.adapterAwaitedUntil)
    earliest.consider(operations.deadline)
    for reading in signalReadings.values { earliest.consider(reading.deadline) }
    for key in managers.keys(.peripheral) { earliest.consider(managers[key]?.credit.deadline) }
    earliest.consider(healings.deadline)
    earliest.consider(links.deadline)
    earliest.consider(capacities.deadline)
    earliest.consider(renewals.deadline)
    return earliest.instant
  }

  /// Brings apps and bluetoothd in line with the current state. Facts come first, then losses, then what apps are
  /// told, then what bluetoothd is asked for. Apps come last, because every earlier step may have queued something
  /// for them.
  private mutating func settle() {
    beginSettling()
    // Facts that change with time alone. All later steps ask whether the radio works, whether a user attends, and
    // which links are dead.
    settleAdapter()
    if bluez.state != examinedState {
      examinedState = bluez.state
      changedEverything()
    }
    expireRemoteRequests()
    reconcilePairing()
    reconcileLinks()
    // Losses before states and connections: an app hears that a link is gone before it hears that Bluetooth is off,
    // and before it hears of the peripheral's next link.
    tellLostLinks()
    tellManagerStates()
    tellConnections()
    tellConnectionEvents()
    // The agent before anything that may pair; connections before anything that needs a link.
    reconcileRegistrations()
    reconcileConnections()
    reconcileDatabases()
    // Subscriptions before operations, so that `setNotifyValue` finds a session that already exists.
    reconcileNotifications()
    // Services before their subscribers, and before advertisements, because advertisements invite centrals to
    // connect.
    reconcilePublished()
    reconcileChannels()
    reconcileSubscriptions()
    reconcileRenewals()
    // What a link carries, before what goes over it.
    reconcileCapacities()
    sendHeldUpdates()
    runOperations()
    runSignalReadings()
    returnCredit()
    reconcileApps()
    changes.endSettling()
  }

  private mutating func takeEffects() -> [Effect] {
    // Stores before effects: an app is never told anything that a crash could still undo.
    let effects = ledger.takeChanges().map(Effect.store) + output
    output.removeAll(keepingCapacity: true)
    return effects
  }

  mutating func emit(_ effect: Effect) { output.append(effect) }

  mutating func journal(_ event: Recorded.Daemon, _ fields: [JournalField: String] = [:]) {
    assert(event.fields.isSuperset(of: fields.keys), "\(event) has a field that the vocabulary does not know")
    output.append(.record(event, fields))
  }

  mutating func persist(_ record: StoredRecord) { ledger.put(record) }
  mutating func erase(_ key: StoreKey) { ledger.erase(key) }
  var stored: StoredState { ledger.stored }

  private mutating func load(_ stored: StoredState) {
    let records = stored.records.keys.sorted().compactMap { stored.records[$0] }
    for record in records {
      switch record {
      case .settings: break
      case .app(let record): apps[record.bundleIdentifier]?.load(record)
      case .manager(let record): managers[record.key] = Manager(record)
      case .peer(let record):
        peers[record.identifier] = record
        if !record.wasRequested { guests += 1 }
        identifiers.note(record.identifier, at: record.address)
      case .subscription(let record): remembered.add(record)
      case .peripheral, .service: break
      }
    }
    for record in records {
      switch record {
      case .peripheral(let record) where managers[record.manager] == nil: break
      case .peripheral(let record): held[record.manager, record.peer] = Peripheral(record)
      case .service(let record): managers[record.manager]?.services[record.definition.identifier] = record
      default: break
      }
    }
  }

  private mutating func start() {
    persist(.settings(settings))
    adoptProcesses()
    let orphans = managers.values.filter { $0.key.restoreIdentifier == nil && apps[$0.key.app]?.process == nil }
    for manager in orphans where apps[manager.key.app] != nil { removeManager(manager.key) }
  }
}

/// A small generator of good quality, used for identifiers (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", 2014).
struct SplitMix64: Sendable {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mix(state)
  }

  static func mix(_ value: UInt64) -> UInt64 {
    var mixed = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
