import BlueZ
import BusValue
import Radio
import TimeTypes

/// The state of Adapter1, beyond its configuration.
struct AdapterState: Sendable {
  var isPowered = false
  /// `PowerState` while it changes.
  var powerTransition: PowerState?
  var alias: String?
  /// `Name`: the host's name. If another adapter was the default when this one came, its number follows the name.
  var name: String?
  var isDiscoverable = false
  /// The adapter is discoverable only because a discovering client asks for it, until no client discovers any more.
  var isDiscoverableForDiscovery = false
  var isConnectable = false
  var discoverableTimeoutSeconds: UInt32 = 180
  var discoverableDeadline: Instant?
  var pairableTimeoutSeconds: UInt32 = 0
  var pairableDeadline: Instant?

  mutating func readSettings(_ storage: BlueZStorage) {
    alias = storage.alias
    discoverableTimeoutSeconds = storage.discoverableTimeoutSeconds ?? discoverableTimeoutSeconds
    pairableTimeoutSeconds = storage.pairableTimeoutSeconds ?? pairableTimeoutSeconds
  }

  mutating func setDiscoverable(_ isOn: Bool, at now: Instant) {
    isDiscoverable = isOn
    isConnectable = isOn
    isDiscoverableForDiscovery = false
    discoverableDeadline = isOn ? Self.end(after: discoverableTimeoutSeconds, at: now) : nil
  }

  mutating func setDiscoverableTimeout(seconds: UInt32, at now: Instant) {
    discoverableTimeoutSeconds = seconds
    if isDiscoverable { discoverableDeadline = Self.end(after: seconds, at: now) }
  }

  mutating func discoverableEnded() {
    isDiscoverable = false
    isConnectable = false
    isDiscoverableForDiscovery = false
    discoverableDeadline = nil
  }

  mutating func pairableWasSet(_ isOn: Bool, at now: Instant) {
    pairableDeadline = isOn ? Self.end(after: pairableTimeoutSeconds, at: now) : nil
  }

  mutating func setPairableTimeout(seconds: UInt32, isPairable: Bool, at now: Instant) {
    pairableTimeoutSeconds = seconds
    if isPairable { pairableDeadline = Self.end(after: seconds, at: now) }
  }

  /// Zero seconds means that there is no end.
  private static func end(after seconds: UInt32, at now: Instant) -> Instant? {
    seconds > 0 ? now + .seconds(Int64(seconds)) : nil
  }

  func add(to deadlines: inout Deadlines) {
    deadlines.add(discoverableDeadline, .discoverable)
    deadlines.add(pairableDeadline, .pairable)
  }
}

/// The start and end of bluetoothd, and its adapter's power.
extension BlueZModel {
  mutating func start() {
    guard !isRunning else { return }
    isRunning = true
    restartDeadline = nil
    adapter = AdapterState()
    // bluetoothd's name appears first; its objects are added one by one.
    outbox.append(.started([:]))
    if isFirst { added(WellKnown.managerPath) }
    if kernel.isPlugged { startAdapter() }
  }

  /// What bluetoothd does with a controller it finds: takes over the kernel's links, clears its lists, loads devices
  /// and switches the controller on.
  private mutating func startAdapter() {
    adapter.readSettings(storage)
    isDefault = !hasDefaultSibling
    adapter.name = isDefault ? nil : "\(configuration.name) #\(configuration.adapterNumber + 1)"
    server = GATTServer(configuration: configuration)
    loadDevices()
    tellScan(nil)
    tellInitiator(nil)
    clearAdvertisingSets()
    takeOverOrphans()
    clearKernelList()
    // A killed bluetoothd has left its controller on. A controller that has just been plugged in is on before
    // bluetoothd announces it.
    adapter.isPowered = kernel.powered
    if !kernel.isBlocked, !kernel.powered { adapter.powerTransition = .turningOn }
    if adapter.isPowered { outbox.append(.powered(true)) }
    refreshInitiator()
    _ = outbox.takeChanges()
    added(adapterPath)
    for path in devices.keys.sorted() { added(path) }
    restoreDiscoverable()
    if !kernel.isBlocked, !kernel.powered { powerOn() }
  }

  /// - Parameter isSilent: the machine has lost its power, so it does not tell the peers that their links end.
  mutating func stop(_ cause: StopCause, isSilent: Bool = false) {
    guard isRunning else {
      if cause == .shutDown { endKernel() }
      restartDeadline = nil
      return
    }
    // Kept simple: on a real machine the kernel's channels outlive bluetoothd.
    endAllCreditChannels()
    switch cause {
    case .stopped: sayGoodBye()
    case .killed, .crashed: leaveToKernel()
    case .shutDown:
      for link in links.keys.sorted() where !isSilent {
        tell(.disconnect(configuration.controller, link, .remotePoweredOff))
      }
    }
    // The kernel's discovery ends with the process that asked for it. Its accept list and its advertisements stay.
    tellScan(nil)
    closeAllChannels()
    isRunning = false
    isDefault = false
    _ = outbox.takeChanges()
    links = [:]
    devices = [:]
    discovery = Discovery(isDualMode: configuration.isDualMode)
    server = GATTServer()
    agents = Agents()
    waitingPairs = []
    advertising = Advertising()
    monitors = Monitors()
    batteryProviders = BatteryProviders()
    profiles = Profiles()
    addressConnections = AddressConnections()
    callbacks = Callbacks()
    // After an intended stop, only an explicit start follows. After a crash, the service manager restarts bluetoothd.
    restartDeadline = cause == .crashed ? configuration.timings.restartAfterCrash.map { now + $0 } : nil
    outbox.append(.stopped(cause))
    if cause == .shutDown { endKernel() }
  }

  private mutating func endKernel() {
    tellScan(nil)
    tellInitiator(nil)
    clearAdvertisingSets()
    tellPower(false)
    kernel.orphans = [:]
    kernel.armed = nil
    kernel.reached = []
    kernel.isPairable = false
  }

  /// An orderly end: power goes off, the objects leave the bus, and clients whose objects bluetoothd held receive
  /// Release. (Applications and their profiles do not.)
  private mutating func sayGoodBye() {
    powerOff()
    flushChanges()
    tellInitiator(nil)
    clearAdvertisingSets()
    if isFirst {
      tell(profiles.releases)
      removed(WellKnown.managerPath, [InterfaceName.properties] + Self.managerInterfaces)
      tell(agents.releases)
    }
    guard kernel.isPlugged else { return }
    removed(adapterPath, adapterServices)
    removeObjects()
    tell(advertising.releases)
    tell(monitors.releases)
    removed(adapterPath, [InterfaceName.properties, InterfaceName.adapter])
  }

  /// Removes all devices, and clients' batteries, from the bus. The devices stay on disk.
  private mutating func removeObjects() {
    for path in devices.keys.sorted() {
      unexport(path)
      devices[path] = nil
      let hasBattery = batteryProviders.takeBattery(of: path)
      removed(path, [InterfaceName.properties, InterfaceName.device] + (hasBattery ? [InterfaceName.battery] : []))
    }
    removeBatteries(batteryProviders.takeAll())
  }

  // MARK: Power

  /// - Parameter caller: is answered before the power is reported.
  mutating func powerOn(for caller: PendingCall? = nil) {
    guard !adapter.isPowered, kernel.isPlugged, !kernel.isBlocked else { return }
    tellPower(true)
    adapter.powerTransition = .turningOn
    changed(adapterPath, \Adapter1.powerState)
    flushChanges()
    if let caller { reply(to: caller, .success(.none)) }
    adapter.powerTransition = nil
    adapter.isPowered = true
    changed(adapterPath, \Adapter1.powered, \.powerState)
    outbox.append(.powered(true))
    refreshAdvertising()
    refreshInitiator()
    refreshMonitoring()
  }

  /// A client switches the adapter off. Before the power goes, monitors lose what they have found, and devices that
  /// were only discovered are removed. (A blocked adapter does neither.)
  mutating func switchOff(for caller: PendingCall? = nil) {
    guard adapter.isPowered else { return }
    tell(monitors.losePower())
    for path in devices.keys.sorted() {
      guard let device = devices[path], device.isTemporary, device.link == nil, device.pendingConnect == nil else {
        continue
      }
      removeDevice(path)
    }
    powerOff(for: caller)
  }

  /// Links, scans and pending connections end. The kernel's lists stay and take effect again when power is back.
  ///
  /// - Parameter caller: is answered before the power is reported.
  mutating func powerOff(for caller: PendingCall? = nil) {
    guard adapter.isPowered else { return }
    if !kernel.isBlocked {
      adapter.powerTransition = .turningOff
      changed(adapterPath, \Adapter1.powerState)
      flushChanges()
      adapter.powerTransition = nil
    }
    adapter.isPowered = false
    for link in links.keys.sorted() {
      tell(.disconnect(configuration.controller, link, .remotePoweredOff))
      endLink(link, .localHostTerminated)
    }
    for path in devices.keys.sorted() {
      failConnect(path, .failed("le-connection-abort-by-local"))
    }
    failAddressConnections()
    // Sessions end without any message except the property change.
    discovery.endAll()
    refreshDiscovery()
    if let caller { reply(to: caller, .success(.none)) }
    let wasDiscoverable = adapter.isDiscoverable
    let wasConnectable = adapter.isConnectable
    // The kernel stays discoverable if that had no time limit.
    if adapter.discoverableTimeoutSeconds > 0, adapter.isDiscoverable { adapter.discoverableEnded() }
    kernel.scan = nil
    kernel.initiator = nil
    kernel.advertisingSets = []
    tellPower(false)
    changed(adapterPath, \Adapter1.powered, \.powerState)
    if adapter.isDiscoverable != wasDiscoverable { changed(adapterPath, \Adapter1.discoverable) }
    if adapter.isConnectable != wasConnectable { changed(adapterPath, \Adapter1.connectable) }
    outbox.append(.powered(false))
  }

  mutating func setBlocked(_ isBlocked: Bool) {
    guard kernel.isBlocked != isBlocked else { return }
    if isBlocked {
      kernel.isBlocked = true
      if isRunning { powerOff() } else { tellPower(false) }
    } else {
      kernel.isBlocked = false
      if isRunning { powerOn() }
    }
    changed(adapterPath, \Adapter1.powerState)
  }

  /// A controller that is unplugged takes the adapter and all its objects off the bus, and the kernel's lists with
  /// them.
  mutating func setPlugged(_ isPlugged: Bool) {
    guard kernel.isPlugged != isPlugged else { return }
    if isPlugged {
      kernel.isPlugged = true
      guard isRunning else { return }
      kernel.isPairable = agents.defaultAgent != nil
      if !kernel.isBlocked { tellPower(true) }
      startAdapter()
      adapter.pairableWasSet(kernel.isPairable, at: now)
      return
    }
    // There is no controller left to send anything to.
    kernel.powered = false
    for link in links.keys.sorted() { endLink(link, .connectionTimeout) }
    if isRunning {
      for path in devices.keys.sorted() { failConnect(path, .failed("le-connection-abort-by-local")) }
      failAddressConnections()
      tell(advertising.releases)
      tell(monitors.releases)
      monitors = Monitors()
      discovery.endAll()
      refreshDiscovery()
      // Pending changes must be sent while the devices are still on the bus.
      flushChanges()
      let wasPowered = adapter.isPowered
      adapter.isPowered = false
      if wasPowered {
        changed(adapterPath, \Adapter1.powered)
        outbox.append(.powered(false))
      }
      removeObjects()
      flushChanges()
      removed(adapterPath, [InterfaceName.properties, InterfaceName.adapter] + adapterServices)
    }
    closeAllChannels()
    devices = [:]
    discovery = Discovery(isDualMode: configuration.isDualMode)
    advertising = Advertising()
    monitors = Monitors()
    batteryProviders = BatteryProviders()
    server = GATTServer()
    adapter = AdapterState()
    kernel = Kernel()
    kernel.isPlugged = false
    isDefault = false
  }

  // MARK: Telling the controller, once

  /// Whether the adapter is on the bus.
  var isPresent: Bool { isRunning && kernel.isPlugged }

  /// The name that others hear.
  var adapterName: String { adapter.alias ?? adapter.name ?? configuration.name }

  func controllerWorks() -> Bool { kernel.powered && kernel.isPlugged }

  private mutating func tellPower(_ isOn: Bool) {
    guard kernel.powered != isOn else { return }
    kernel.powered = isOn
    if !isOn { kernel.lingering = [] }
    tell(.setPower(configuration.controller, isOn))
  }

  mutating func tellScan(_ parameters: ScanParameters?, again: Bool = false) {
    guard kernel.scan != parameters || again else { return }
    kernel.scan = parameters
    tell(.setScan(configuration.controller, parameters))
  }

  mutating func tellInitiator(_ parameters: InitiatorParameters?) {
    guard kernel.initiator != parameters else { return }
    kernel.initiator = parameters
    tell(.setInitiator(configuration.controller, parameters))
  }

  private mutating func clearAdvertisingSets() {
    for set in kernel.advertisingSets.sorted() { tell(.setAdvertising(configuration.controller, set: set, nil)) }
    kernel.advertisingSets = []
  }

  var ownAddress: OwnAddress {
    configuration.isPrivate ? .resolvable(configuration.identityKey) : .fixed(configuration.address)
  }
}
