import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import JournalEvents
import TimeTypes

/// What latchkeyd decides: a pure state machine between bluetoothd and apps. It takes events and the time, and
/// returns effects for a shell to carry out in order.
///
/// Every request of an app is desired state. After each event the machine compares what is desired with what
/// bluetoothd says is, and asks for what is missing; so it makes no difference what got lost, or why.
public struct BluetoothSystem: Sendable {
  let configuration: Configuration
  var now = Instant.zero
  var unixSeconds = 0.0
  var random: SplitMix64

  // What was promised.
  var ledger: Ledger
  var settings: SettingsRecord
  var apps: [String: App] = [:]
  var managers: [ManagerKey: Manager] = [:]
  var peers: [PeerIdentifier: PeerRecord] = [:]
  var remembered = RememberedSubscriptions()

  // What bluetoothd says.
  var bluez = BlueZMirror()
  var identifiers = PeerDirectory()

  // What was asked of bluetoothd.
  var calls = PendingCalls()
  var attempts: [PeerIdentifier: ConnectionAttempt] = [:]
  var profile = AcceptListProfile()
  var discovery = Discovery()
  var pairing = Pairing()
  var operations: [PeerIdentifier: OperationQueue] = [:]
  var signalReadings: [PeerIdentifier: SignalReading] = [:]
  var links: [PeerIdentifier: LinkHealth] = [:]
  var rereading = Rereading()
  /// Whose attributes changed in this turn, and whose are not what they should be.
  var uncheckedDatabases: Set<PeerIdentifier> = []
  var healings: [PeerIdentifier: DatabaseHealing] = [:]
  var sessions = NotifySessions()
  var publishing = Publishing()
  var exports = ExportPaths()
  var lastAction: UInt64 = 0
  var remoteRequests = OpenRemoteRequests()

  /// The last deadline that was found overdue.
  var overdue: Instant?

  // What this turn has decided.
  var output: [Effect] = []

  /// - Parameters:
  ///   - apps: the apps of this machine; what was stored of others is kept but rests.
  ///   - stored: what an earlier life of the system left on disk.
  ///   - seed: of the random numbers it needs; different at each start.
  public init(configuration: Configuration = Configuration(), apps: [AppDeclaration], stored: StoredState, seed: UInt64)
  {
    self.configuration = configuration
    ledger = Ledger(stored)
    random = SplitMix64(state: seed)
    if case .settings(let record) = stored.records[StoreKey(.settings, "")] {
      settings = record
    } else {
      settings = SettingsRecord(salt: random.next(), bluetoothOn: true)
    }
    for declaration in apps { self.apps[declaration.bundleIdentifier] = App(declaration) }
    load(stored)
  }

  /// Takes one event at a time that never goes back, and decides.
  /// - Parameter unixSeconds: the wall clock, only passed on to apps.
  public mutating func handle(_ event: Event, at time: Instant, unixSeconds: Double? = nil) -> [Effect] {
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
    case .appLaunched(let app, let process): appLaunched(app, process)
    case .appLaunchFailed(let app, let message): appLaunchFailed(app, message)
    case .appEnded(let app, let process, let how): appEnded(app, process, how: how)
    case .resumedFromSleep: wokeFromSleep()
    case .timePassed: break
    }
    settle()
    assert(brokenInvariant() == nil, brokenInvariant() ?? "")
    setDeadline()
    return takeEffects()
  }

  /// When `timePassed` is due, at the latest; `nil`: nothing is waiting for the time. It is never in the past: an alarm
  /// for then would ring again at once, and for ever.
  public private(set) var nextDeadline: Instant?

  /// What is due after a turn was to be done in it. Where it was not, that is a fault of this machine, which is told
  /// once and costs a turn a second rather than all the processor's time.
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

  /// The earliest of all, also where it is overdue.
  var earliestDeadline: Instant? {
    let parts: [Instant?] = [
      appsDeadline, remoteRequests.deadline, reconcilerDeadline, pairing.deadline, bluez.adapterAwaitedUntil,
      operations.values.lazy.compactMap(\.deadline).min(), signalReadings.values.lazy.compactMap(\.deadline).min(),
      managers.values.lazy.compactMap(\.credit.deadline).min(), healings.values.lazy.compactMap(\.dropAt).min(),
      links.values.lazy.compactMap(\.checkAt).min(),
    ]
    return parts.lazy.compactMap(\.self).min()
  }

  /// Brings what apps are told and what bluetoothd is asked in line with what is. Facts come first, then what is lost, then
  /// what apps are told, then what bluetoothd is asked; apps come last, since everything before may have told them something.
  private mutating func settle() {
    // Facts that time alone changes. All that follows asks whether the radio works, who attends, and which links are dead.
    settleAdapter()
    expireRemoteRequests()
    reconcilePairing()
    reconcileLinks()
    // Losses before states and connections: an app hears that a link is gone before it hears that Bluetooth is off, and
    // before it hears of the peripheral's next link.
    tellLostLinks()
    tellManagerStates()
    tellConnections()
    // The agent before anything that may pair; connections before what needs a link.
    reconcileRegistrations()
    reconcileConnections()
    reconcileDatabases()
    // Subscriptions before operations, so that `setNotifyValue` finds a session that is there already.
    reconcileNotifications()
    // Services before their subscribers, and before advertisements, which call centrals in.
    reconcilePublished()
    reconcileSubscriptions()
    runOperations()
    runSignalReadings()
    returnCredit()
    reconcileApps()
  }

  private mutating func takeEffects() -> [Effect] {
    // Stores before effects: nobody is told what a crash could still take back.
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
    let records = stored.records.sorted { $0.key < $1.key }.map(\.value)
    for record in records {
      switch record {
      case .settings: break
      case .app(let record): apps[record.bundleIdentifier]?.load(record)
      case .manager(let record): managers[record.key] = Manager(record)
      case .peer(let record):
        peers[record.identifier] = record
        identifiers.note(record.identifier, at: record.address)
      case .subscription(let record): remembered.add(record)
      case .peripheral, .service: break
      }
    }
    for record in records {
      switch record {
      case .peripheral(let record): managers[record.manager]?.peripherals[record.peer] = Peripheral(record)
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

/// A small generator of good quality, for identifiers (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
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
