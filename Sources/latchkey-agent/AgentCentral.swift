import CoreBluetooth
import Journal
import JournalEvents
import LockProtocol
import Logging
import TimeTypes
import Timekeeping

/// The agent's radio: a `CBCentralManager` that requests one link to the lock, once.
final class AgentCentral: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
  // Everything here happens on the main queue.
  static let restoreIdentifier = "org.latchkey.agent.central"

  unowned let app: AgentApp
  let logger: Logger
  private(set) var manager: CBCentralManager?
  /// The lock, or the device being tested as the lock.
  var peripheral: CBPeripheral?
  /// A delayed request was cancelled in order to ask for the link at once.
  private var isAskingAnew = false
  /// This side has ended the link, and `app` knows it.
  private var hasEndedLink = false
  /// The radio was off since the peripheral object was obtained.
  private var isStale = false
  var known = LockCharacteristics()
  var wantsReplies = false
  /// The offer is to be read as soon as possible. A lock that has several subscribers is not told of this one, and so
  /// does not send it an offer.
  var isOfferWanted = false
  /// When the offer is read after a new subscription. Until then the lock's own offer is awaited, which it sends if it
  /// is told of the subscriber.
  var offerReadDue: Instant?
  static let offerPatience: Duration = .seconds(1)
  var search = LockSearch()
  /// The devices in the search.
  var candidates: [UUID: CBPeripheral] = [:]
  var offerRetries = SubscriptionRetries()
  var answerRetries = SubscriptionRetries()
  var bond = BondRequest()
  /// Device Information was missing among the services that were known, and is looked for.
  var isInformationWanted = false
  let time: any TimeSource
  private var alarm: (any Alarm)?
  let searches: DoorSearches

  init(
    _ app: AgentApp, beside searches: DoorSearches, restoreIdentifier: String, time: any TimeSource, logger: Logger
  ) {
    self.app = app
    self.searches = searches
    self.time = time
    self.logger = logger
    super.init()
    alarm = time.makeAlarm { [weak self] in DispatchQueue.main.async { self?.timePassed() } }
    manager = CBCentralManager(
      delegate: self, queue: .main, options: [CBCentralManagerOptionRestoreIdentifierKey: restoreIdentifier])
    searches.note(self)
  }

  var peripheralIdentifier: UUID? { peripheral?.identifier }

  func readSignal() {
    guard let peripheral, peripheral.state == .connected else { return }
    peripheral.readRSSI()
  }

  func forgetWantedOffer() {
    isOfferWanted = false
    offerReadDue = nil
  }

  func readOffer() {
    guard let peripheral, peripheral.state == .connected else { return }
    guard let offer = known.offer, offer.isNotifying else {
      // A first meeting: the lock's service is being discovered, or the two are pairing.
      isOfferWanted = true
      return
    }
    forgetWantedOffer()
    peripheral.readValue(for: offer)
  }

  /// Writes a command: in one packet without a response, which overtakes whatever the two systems have to say to each other
  /// at a link's beginning. The lock's answer confirms it.
  /// - Parameter isConfirmed: with a response, so that it is known whether it arrived, and was refused.
  func write(_ message: [UInt8], isConfirmed: Bool) {
    guard let peripheral, let command = known.command, peripheral.state == .connected else {
      return DispatchQueue.main.async { self.app.writeFailed(CBError(.notConnected)) }
    }
    let data = Data(message)
    // In a search, the write needs a response: a refusal shows that the device is not the lock.
    if !isConfirmed, !search.isSearching, let quickCommand = known.quickCommand,
      data.count <= peripheral.maximumWriteValueLength(for: .withoutResponse), peripheral.canSendWriteWithoutResponse
    {
      return peripheral.writeValue(data, for: quickCommand, type: .withoutResponse)
    }
    peripheral.writeValue(data, for: command, type: .withResponse)
  }

  // MARK: The manager

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    logger.record(
      Recorded.Agent.willRestoreState,
      [
        .peripherals: peripherals.map(\.identifier.uuidString).joined(separator: " "),
        .states: peripherals.map { "\($0.state)" }.joined(separator: " "),
        .services: peripherals.flatMap { $0.services ?? [] }.map(\.uuid.uuidString).joined(separator: " "),
      ])
    if let restored = peripherals.first(where: { $0.identifier == app.knownLock }) { adopt(restored) }
    for peripheral in peripherals where peripheral.identifier != app.knownLock {
      candidates[peripheral.identifier] = peripheral
    }
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    logger.record(Recorded.Agent.stateUpdated, [.state: "\(central.state)"])
    guard central.state == .poweredOn else {
      // There are no events for links that end with the radio, and some of these states invalidate the peripheral.
      app.radioIsOff(search.isSearching ? .linkToUnknown : .linkDown)
      isStale = true
      (isAskingAnew, hasEndedLink) = (false, false)
      return
    }
    if isStale || peripheral == nil, let identifier = peripheral?.identifier ?? app.knownLock {
      central.retrievePeripherals(withIdentifiers: [identifier]).first.map(adopt)
    }
    if isStale {
      let found = central.retrievePeripherals(withIdentifiers: Array(candidates.keys))
      candidates = Dictionary(found.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
    }
    isStale = false
    let isLinked = peripheral?.state == .connected
    app.radioIsReady(isLinked: isLinked)
    guard let peripheral, peripheral.identifier == app.knownLock else { return beginSearch() }
    // Requests that an earlier process made for other devices are over.
    for other in candidates.values { release(other) }
    candidates = [:]
    switch peripheral.state {
    case .connected: explore(peripheral)
    case .connecting: break  // The system is already connecting.
    case .disconnected, .disconnecting: request(peripheral)
    @unknown default: request(peripheral)
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    guard search.isSearching else { return }
    candidates[peripheral.identifier] = peripheral
    perform(search.found(peripheral.identifier, signal: signal.intValue, at: time.now))
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    if search.isSearching { perform(search.linked(peripheral.identifier, at: time.now)) }
    guard !search.isSearching, peripheral == self.peripheral else { return }
    linkBegan(peripheral)
  }

  func linkBegan(_ peripheral: CBPeripheral) {
    know(peripheral)
    logger.record(Recorded.Agent.didConnect, [.peripheral: peripheral.identifier.uuidString])
    offerRetries.linkBegan()
    answerRetries.linkBegan()
    forgetWantedOffer()
    bond.linkBegan(at: time.now)
    isInformationWanted = false
    app.linkUp()
    explore(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
    guard peripheral == self.peripheral || search.isSearching else { return }
    logger.warning("no connection: \(error.map { "\($0)" } ?? "no reason given")")
    if search.isSearching { return perform(search.lost(peripheral.identifier, at: time.now)) }
    guard central.state == .poweredOn else { return }
    request(peripheral)
    // The lock has lost its side of the bond. A lock that hides its address comes back under another identifier.
    if (error as? CBError)?.code == .peerRemovedPairingInformation { beginSearch() }
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    let (wasAskingAnew, hasEndedLink) = (isAskingAnew, hasEndedLink)
    if peripheral == self.peripheral { (isAskingAnew, self.hasEndedLink) = (false, false) }
    if peripheral == self.peripheral, !wasAskingAnew {
      logger.record(
        Recorded.Agent.didDisconnect,
        [.peripheral: peripheral.identifier.uuidString, .error: error.map { "\($0)" } ?? ""])
      if !hasEndedLink {
        bond.linkEnded(at: time.now)
        app.linkDown(search.isSearching ? .linkToUnknown : .linkDown)
      }
    }
    if search.isSearching { return perform(search.lost(peripheral.identifier, at: time.now)) }
    // The lock may have turned this phone away.
    searches.note(self)
    // A process that is started for a lost link may find the radio off. The lock is requested once it is on.
    guard peripheral == self.peripheral, central.state == .poweredOn else { return }
    // Requested once. From here on the system waits for the lock, for days if necessary, with or without this
    // process.
    request(peripheral)
  }

  /// Asks for a link. If the lock has turned this phone away, the request has a delay, which the system keeps as well.
  private func request(_ peripheral: CBPeripheral) {
    let delay = app.linkDelay / .seconds(1)
    manager?.connect(peripheral, options: delay > 0 ? [CBConnectPeripheralOptionStartDelayKey: delay] : nil)
  }

  /// Ends the link to the lock. Its app takes it as ended from now on.
  /// - Returns: whether a link was ended. In a search nothing is done, because the search ends its links itself.
  func endLink() -> Bool {
    guard !search.isSearching, let manager, manager.state == .poweredOn, let peripheral, peripheral.state == .connected
    else { return false }
    hasEndedLink = true
    manager.cancelPeripheralConnection(peripheral)
    return true
  }

  /// Asks for the link now, and not after the rest of a pause.
  func requestLink() {
    guard !search.isSearching, let manager, manager.state == .poweredOn, let peripheral else { return }
    switch peripheral.state {
    case .connecting:
      // A request keeps its delay. So it is cancelled, and asked for again when its end is reported.
      guard !hasEndedLink else { return }
      isAskingAnew = true
      manager.cancelPeripheralConnection(peripheral)
    case .disconnected: request(peripheral)
    // The end of the old link has not been reported yet.
    case .disconnecting, .connected: break
    @unknown default: break
    }
  }

  func setAlarm() {
    let due = [search.nextDeadline, offerRetries.due, answerRetries.due, offerReadDue].compactMap(\.self).min()
    alarm?.set(due)
  }

  private func timePassed() {
    perform(search.passed(at: time.now))
    if let due = offerReadDue, due <= time.now { readOffer() }
    if offerRetries.takeDue(at: time.now) { subscribe(to: known.offer) }
    if answerRetries.takeDue(at: time.now) { subscribe(to: known.answer) }
    setAlarm()
  }

  func subscribe(to characteristic: CBCharacteristic?) {
    guard let peripheral, peripheral.state == .connected, let characteristic, !characteristic.isNotifying else {
      return
    }
    peripheral.setNotifyValue(true, for: characteristic)
  }

  func adopt(_ peripheral: CBPeripheral) {
    self.peripheral = peripheral
    peripheral.delegate = self
    forgetCharacteristics()
    know(peripheral)
  }
}
