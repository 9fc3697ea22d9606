import AppLink
import BluetoothSystem
import BluetoothTypes
import TimeTypes

/// How many links there were between two machines. Only which of two is more matters.
struct LinkNumber: Sendable, Hashable, Comparable {
  var value = 0
  static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// What apps have been promised, in the plainest terms: what each manager has asked for, what it was told, and which
/// links there were. It listens to the requests and the events, and complains about an event that breaks a promise.
struct Reference: Sendable {
  /// What one manager asked for and was told.
  struct Book: Sendable, Hashable {
    /// Connections that were asked for and have not ended.
    var held: Set<PeerIdentifier> = []
    /// Those that the app was told of.
    var connected: Set<PeerIdentifier> = []
    /// Cancelled ones whose end the app has not been told of.
    var cancelled: Set<PeerIdentifier> = []
    /// Asked for again while connected.
    var askedAgain: Set<PeerIdentifier> = []
    /// Those that the system makes again by itself.
    var kept: Set<PeerIdentifier> = []
    /// From when on a connection may be made that was asked for with a delay.
    var earliest: [PeerIdentifier: Instant] = [:]
    /// How many links there had been when the app was last told that the link is gone.
    var linksWhenLost: [PeerIdentifier: LinkNumber] = [:]
    var scan: ScanRequest?
    /// What the scan has found since it was asked for.
    var found: Set<PeerIdentifier> = []
    /// What this process was told of since it asked for the scan, and what it was told of each.
    var discovered: [PeerIdentifier: ToldAdvertisement] = [:]
    var services: [ServiceDefinition] = []
    var advertisement: AdvertisementRequest?

    var isEmpty: Bool { held.isEmpty && connected.isEmpty && scan == nil && services.isEmpty && advertisement == nil }
  }

  private let cast: Cast
  private(set) var books: [Caller: Book] = [:]
  private var unheard = UnheardEvents()
  private(set) var quit: Set<String> = []
  /// Apps that the user opened and that have not been started for it yet.
  private var opened: Set<String> = []
  /// Apps whose process the user or a schedule wants to end.
  private var endWanted: Set<String> = []
  /// Apps of which one may be ended now, because memory is short.
  private var reclaimable: Set<String> = []
  /// Links between two machines, the central's first: how many there were, and how many there are.
  private var links: [[String]: (were: LinkNumber, are: Int)] = [:]
  private(set) var complaints: [String] = []

  init(_ cast: Cast) { self.cast = cast }

  private mutating func complain(_ caller: Caller, _ text: String) {
    if complaints.count < 20 { complaints.append("\(caller): \(text)") }
  }

  func book(_ caller: Caller) -> Book { books[caller] ?? Book() }

  // MARK: Links

  mutating func linkUp(_ central: String, _ peripheral: String) {
    links[[central, peripheral], default: (LinkNumber(), 0)].were.value += 1
    links[[central, peripheral], default: (LinkNumber(), 0)].are += 1
  }

  mutating func linkDown(_ central: String, _ peripheral: String) {
    links[[central, peripheral], default: (LinkNumber(), 0)].are -= 1
  }

  /// A link may outlive bluetoothd. The next bluetoothd finds it, and to apps it is another one.
  mutating func bluetoothdStarted(_ machine: String) {
    for (ends, link) in links where ends.contains(machine) && link.are > 0 { links[ends]?.were.value += 1 }
  }

  // MARK: What apps ask

  /// The system takes this request of a manager.
  mutating func asked(_ request: AppLink.Request, by app: String, at now: Instant) {
    switch request {
    case .central(let manager, let request): asked(request, Caller(app, Int(manager.rawValue)), at: now)
    case .peripheral(let manager, let request): asked(request, Caller(app, Int(manager.rawValue)))
    case .destroyManager(let manager): forget(Caller(app, Int(manager.rawValue)))
    case .resumeManager(let manager, _, let view): resumed(view, Caller(app, Int(manager.rawValue)))
    case .createManager(let manager, _): books[Caller(app, Int(manager.rawValue))]?.discovered = [:]
    case .handled(let sequence): unheard.areHandled(through: sequence, by: app)
    case .heldPeripherals, .respond, .completeAction, .answerQuestion, .showAlert, .report, .admit: break
    }
  }

  private mutating func forget(_ caller: Caller) {
    books[caller] = nil
    unheard.change(caller) { $0 = Book() }
  }

  /// What the system takes from a manager, whatever of the manager's events it knows to be handled.
  private mutating func take(_ caller: Caller, _ change: (inout Book) -> Void) {
    var book = book(caller)
    change(&book)
    books[caller] = book
    unheard.change(caller, change)
  }

  /// A process that outlived its system says what it has and wants. The system may have died before it took a request.
  private mutating func resumed(_ view: ManagerView, _ caller: Caller) {
    var book = book(caller)
    book.held = Set(view.peripherals.filter { [.connected, .connecting].contains($0.state) }.map(\.identifier))
    book.connected = Set(view.peripherals.filter { $0.state == .connected }.map(\.identifier))
    book.askedAgain = []
    // What it does not know since its restoration stays as it is.
    for (peer, options) in view.connectOptions {
      if options.enableAutoReconnect { book.kept.insert(peer) } else { book.kept.remove(peer) }
    }
    book.scan = view.scan
    // It does not say what it was told of each.
    book.discovered = Dictionary(uniqueKeysWithValues: view.discovered.map { ($0, ToldAdvertisement()) })
    (book.services, book.advertisement) = (view.services, view.advertisement)
    books[caller] = book
    unheard.resumed(caller)
  }

  private mutating func asked(_ request: CentralRequest, _ caller: Caller, at now: Instant) {
    take(caller) { book in
      switch request {
      case .scan(let scan):
        book.scan = scan
        book.found = []
        book.discovered = [:]
      case .stopScan:
        book.scan = nil
        book.discovered = [:]
      case .connect(let peer, let options):
        if options.enableAutoReconnect { book.kept.insert(peer) } else { book.kept.remove(peer) }
        if book.connected.contains(peer) { book.askedAgain.insert(peer) }
        if book.held.insert(peer).inserted, options.startDelaySeconds > 0 {
          book.earliest[peer] = now + .seconds(options.startDelaySeconds)
        }
      case .cancelConnection(let peer):
        if book.held.remove(peer) != nil { book.cancelled.insert(peer) }
        book.earliest[peer] = nil
        if book.connected.remove(peer) != nil { book.discovered[peer] = nil }
      case .perform, .watchConnections: break
      }
    }
    // Who asks for a connection anew has heard that the last one is lost.
    if case .connect(let peer, _) = request, !book(caller).connected.contains(peer) {
      unheard.change(caller) { book in
        book.connected.remove(peer)
        book.askedAgain.remove(peer)
      }
    }
  }

  private mutating func asked(_ request: PeripheralRequest, _ caller: Caller) {
    take(caller) { book in
      switch request {
      case .addService(let definition): book.services.append(definition)
      case .removeService(let identifier): book.services.removeAll { $0.identifier == identifier }
      case .removeAllServices: book.services = []
      case .startAdvertising(let advertisement): book.advertisement = advertisement
      case .stopAdvertising: book.advertisement = nil
      case .updateValue, .publishChannel, .unpublishChannel: break
      }
    }
  }

  private mutating func forgetAll(of app: String) {
    for index in cast[app]?.managers.indices ?? 0..<0 { books[Caller(app, index + 1)] = nil }
    unheard.forgetAll(of: app)
  }

  // MARK: What apps are told

  /// The app's process receives this event.
  /// - Parameter mayLackBond: a user has removed the bond with the target at one side.
  mutating func told(
    _ event: AppLink.Event, _ caller: Caller, isFirst: Bool, target: Target?, mayLackBond: Bool, at now: Instant
  ) {
    var book = book(caller)
    unheard.isTold(event.sequence, caller, before: book)
    let body = event.body
    let machine = cast[caller.app]?.machine ?? ""
    if body.saysThatBondIsLost, !mayLackBond {
      complain(caller, "told that its bond with \(target?.rawValue ?? "?") is lost, which it is not")
    }
    switch body {
    case .willRestoreCentral(let restoration): check(restoration, book, caller)
    case .willRestorePeripheral(let restoration): check(restoration, book, caller)
    case .stateChanged:
      if isFirst, !book.isEmpty, cast[caller.app]?.managers[caller.manager - 1].restoreIdentifier != nil {
        complain(caller, "nothing is restored, although it asked for something")
      }
    case .connected(let snapshot):
      let peer = snapshot.identifier
      let link = links[[machine, target.map(cast.machine) ?? ""]] ?? (LinkNumber(), 0)
      if !book.held.contains(peer) {
        complain(caller, "told of a connection that it does not ask for")
      } else if book.connected.contains(peer), !book.askedAgain.contains(peer) {
        complain(caller, "told twice of a connection")
      } else if link.are == 0, link.were <= book.linksWhenLost[peer] ?? LinkNumber() {
        complain(caller, "told of a connection to \(target?.rawValue ?? "?") that there was not")
      } else if let earliest = book.earliest.removeValue(forKey: peer), now < earliest {
        complain(caller, "told of a connection before it was to begin")
      }
      book.askedAgain.remove(peer)
      book.connected.insert(peer)
    case .disconnected(let peer, _, _, let isReconnecting):
      if !book.connected.contains(peer), !book.cancelled.contains(peer) {
        complain(caller, "told of the end of a connection that it does not have")
      }
      book.cancelled.remove(peer)
      book.askedAgain.remove(peer)
      if book.connected.remove(peer) != nil {
        // It may be discovered again.
        book.discovered[peer] = nil
        if isReconnecting != (book.kept.contains(peer) && !body.saysThatBondIsLost) {
          complain(caller, "told that it is reconnecting: \(isReconnecting)")
        }
        if !isReconnecting { book.held.remove(peer) }
      }
      if isReconnecting {
        // The next link may have come and gone before the app is told of this loss. But each was told of once.
        book.linksWhenLost[peer, default: LinkNumber()].value += 1
      } else {
        book.linksWhenLost[peer] = links[[machine, target.map(cast.machine) ?? ""]]?.were ?? LinkNumber()
      }
    case .failedToConnect(let peer, _):
      book.held.remove(peer)
      // A link that lacks a bond on one side is of no use to any app.
      if !body.saysThatBondIsLost,
        books.contains(where: {
          $0.key != caller && cast[$0.key.app]?.machine == machine && $0.value.held.contains(peer)
        })
      {
        complain(caller, "refused a peripheral that another app holds")
      }
    case .discovered(let snapshot, let advertisement, _):
      if book.scan == nil { complain(caller, "told of a discovery without a scan") }
      let isFirst = book.discovered[snapshot.identifier] == nil
      let isNews = book.discovered[snapshot.identifier, default: ToldAdvertisement()].takes(advertisement)
      if !isFirst, !isNews, book.scan?.allowDuplicates == false { complain(caller, "told twice of a discovery") }
      book.found.insert(snapshot.identifier)
    default: break
    }
    books[caller] = book
  }

  private mutating func check(_ restoration: CentralRestoration, _ book: Book, _ caller: Caller) {
    let restored = Set(restoration.peripherals.map(\.identifier))
    if restored != book.held {
      complain(caller, "\(restored.count) peripherals restored instead of \(book.held.count)")
    }
    for peripheral in restoration.peripherals
    where (peripheral.state == .connected) != book.connected.contains(peripheral.identifier) {
      complain(caller, "a peripheral restored as \(peripheral.state)")
    }
    if restoration.scan != book.scan { complain(caller, "its scan is not restored as it asked for it") }
  }

  private mutating func check(_ restoration: PeripheralRestoration, _ book: Book, _ caller: Caller) {
    if restoration.services != book.services { complain(caller, "its services are not restored as published") }
    if restoration.advertisement != book.advertisement { complain(caller, "its advertisement is not restored") }
  }

  // MARK: Processes

  /// The app's process has ended. Managers without a restore identifier end with it.
  mutating func processEnded(_ app: String) {
    endWanted.remove(app)
    books.merge(unheard.processEnded(app)) { $1 }
    guard let actor = cast[app] else { return }
    for (index, plan) in actor.managers.enumerated() {
      let caller = Caller(app, index + 1)
      if plan.restoreIdentifier == nil {
        books[caller] = nil
      } else {
        books[caller]?.cancelled = []
        books[caller]?.askedAgain = []
        books[caller]?.discovered = [:]
      }
    }
  }

  /// The app's system knows that its process has ended.
  mutating func endIsKnown(of app: String) { unheard.forget(app) }

  /// The app's system has died, and with it what it knew of the app's latest events.
  mutating func systemDied(of app: String, isRunning: Bool) {
    // Its next one does not know since when apps wait.
    for index in cast[app]?.managers.indices ?? 0..<0 {
      books[Caller(app, index + 1)]?.earliest = [:]
      unheard.change(Caller(app, index + 1)) { $0.earliest = [:] }
    }
    unheard.systemDied(of: app)
    if !isRunning { processEnded(app) }
  }

  mutating func launched(_ app: String, _ options: LaunchOptions) {
    let caller = Caller(app, 1)
    guard let actor = cast[app] else { return }
    switch options.reason {
    case .opened: if opened.remove(app) == nil { complain(caller, "started as if the user had opened it") }
    case .keepAlive: if !actor.keepAlive || quit.contains(app) { complain(caller, "kept alive without a reason") }
    case .restore:
      let hasReason = actor.managers.enumerated().contains { index, plan in
        plan.restoreIdentifier != nil && actor.mayWork(plan.role) && books[Caller(app, index + 1)]?.isEmpty == false
      }
      if quit.contains(app) { complain(caller, "relaunched although the user quit it") }
      if !hasReason { complain(caller, "relaunched although it asked for nothing") }
    }
  }

  mutating func killed(_ app: String) {
    if endWanted.remove(app) != nil { return }
    if !reclaimable.contains(app) { complain(Caller(app, 1), "its process is ended without a reason") }
    reclaimable = []
  }

  /// The system hears that memory is short, while these apps are suspended; or has heard it.
  mutating func memoryIsShort(of suspended: Set<String>) { reclaimable = suspended }

  // MARK: The user

  mutating func userOpens(_ app: String, isRunning: Bool) {
    quit.remove(app)
    if !isRunning { opened.insert(app) }
  }

  mutating func userEnds(_ app: String, isRunning: Bool, forGood: Bool) {
    if isRunning { endWanted.insert(app) }
    guard forGood else { return }
    quit.insert(app)
    opened.remove(app)
    forgetAll(of: app)
  }

  /// The user's switch clears what apps that are not running have asked for.
  mutating func bluetoothIsOff(for app: String) {
    guard cast[app]?.keepAlive == false else { return }
    forgetAll(of: app)
  }
}

extension AppLink.Event.Body {
  /// Whether it ends a request because the bond with the peripheral is lost.
  var saysThatBondIsLost: Bool {
    switch self {
    case .disconnected(_, let error?, _, _), .failedToConnect(_, let error): error.saysThatBondIsLost
    default: false
    }
  }
}

extension PeerError {
  var saysThatBondIsLost: Bool {
    if case .coreBluetooth(.peerRemovedPairingInformation, _) = self { true } else { false }
  }
}
