import BlueZ
import BusValue
import Radio
import TimeTypes

/// Adapter1, beside what the configuration says.
struct AdapterState: Sendable {
  var isPowered = false
  /// `PowerState` on its way from one to the other.
  var powerTransition: PowerState?
  var alias: String?
  var isDiscoverable = false
  var discoverableTimeoutSeconds: UInt32 = 180
  var discoverableDeadline: Instant?
  var pairableTimeoutSeconds: UInt32 = 0
  var pairableDeadline: Instant?

  mutating func setDiscoverable(_ isOn: Bool, at now: Instant) {
    isDiscoverable = isOn
    discoverableDeadline = isOn ? Self.end(after: discoverableTimeoutSeconds, at: now) : nil
  }

  mutating func setDiscoverableTimeout(seconds: UInt32, at now: Instant) {
    discoverableTimeoutSeconds = seconds
    if isDiscoverable { discoverableDeadline = Self.end(after: seconds, at: now) }
  }

  mutating func discoverableEnded() {
    isDiscoverable = false
    discoverableDeadline = nil
  }

  mutating func pairableWasSet(_ isOn: Bool, at now: Instant) {
    pairableDeadline = isOn ? Self.end(after: pairableTimeoutSeconds, at: now) : nil
  }

  mutating func setPairableTimeout(seconds: UInt32, isPairable: Bool, at now: Instant) {
    pairableTimeoutSeconds = seconds
    if isPairable { pairableDeadline = Self.end(after: seconds, at: now) }
  }

  /// No seconds mean no end.
  private static func end(after seconds: UInt32, at now: Instant) -> Instant? {
    seconds > 0 ? now + .seconds(Int64(seconds)) : nil
  }

  func add(to deadlines: inout Deadlines) {
    deadlines.add(discoverableDeadline, .discoverable)
    deadlines.add(pairableDeadline, .pairable)
  }
}

/// bluetoothd's start and end, and its adapter's power.
extension BlueZModel {
  mutating func start() {
    guard !isRunning else { return }
    isRunning = true
    restartDeadline = nil
    adapter = AdapterState()
    // Its name comes first; its objects are added one by one.
    effects.append(.started([:]))
    if isFirst { added(WellKnown.managerPath) }
    if kernel.isPlugged { startAdapter() }
  }

  /// What bluetoothd does with a controller it finds: takes over the kernel's links, clears its lists, loads devices,
  /// switches it on.
  private mutating func startAdapter() {
    adapter.alias = storage.alias
    server = GATTServer(configuration: configuration)
    loadDevices()
    tellScan(nil)
    tellInitiator(nil)
    clearAdvertisingSets()
    takeOverOrphans()
    clearKernelList()
    // One that was killed has left its controller on; one that has just come is on before it is told of.
    adapter.isPowered = kernel.powered
    if !kernel.isBlocked, !kernel.powered { adapter.powerTransition = .turningOn }
    if adapter.isPowered { effects.append(.powered(true)) }
    refreshInitiator()
    changes = []
    added(adapterPath)
    for path in devices.keys.sorted() { added(path) }
    if !kernel.isBlocked, !kernel.powered { powerOn() }
  }

  mutating func stop(_ cause: StopCause) {
    guard isRunning else {
      if cause == .shutDown { endKernel() }
      restartDeadline = nil
      return
    }
    switch cause {
    case .stopped: sayGoodBye()
    case .killed, .crashed: leaveToKernel()
    case .shutDown:
      for link in links.keys.sorted() { tell(.disconnect(configuration.controller, link, .remoteUserTerminated)) }
    }
    // The kernel's own discovery ends with whoever asked for it; its accept list and its advertisements do not.
    tellScan(nil)
    closeAllChannels()
    isRunning = false
    changes = []
    links = [:]
    devices = [:]
    discovery = Discovery()
    server = GATTServer()
    agents = Agents()
    advertising = Advertising()
    monitors = Monitors()
    callbacks = Callbacks()
    crashDeadline = nil
    // Whoever stops bluetoothd starts it again; a crash is the service manager's affair.
    restartDeadline = cause == .crashed ? configuration.timings.restartAfterCrash.map { now + $0 } : nil
    effects.append(.stopped(cause))
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

  /// It ends in good order: power goes off, its objects leave the bus, those whose objects it held hear Release.
  /// (Applications and their profiles do not.)
  private mutating func sayGoodBye() {
    powerOff()
    flushChanges()
    tellInitiator(nil)
    clearAdvertisingSets()
    if isFirst {
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

  /// All devices leave the bus, and stay on disk.
  private mutating func removeObjects() {
    for path in devices.keys.sorted() {
      unexport(path)
      devices[path] = nil
      removed(path, [InterfaceName.properties, InterfaceName.device])
    }
  }

  // MARK: Power

  mutating func powerOn() {
    guard !adapter.isPowered, kernel.isPlugged, !kernel.isBlocked else { return }
    tellPower(true)
    adapter.powerTransition = .turningOn
    changed(adapterPath, \Adapter1.powerState)
    flushChanges()
    adapter.powerTransition = nil
    adapter.isPowered = true
    changed(adapterPath, \Adapter1.powered, \.powerState)
    effects.append(.powered(true))
    refreshAdvertising()
    refreshInitiator()
    refreshMonitoring()
  }

  /// Links, scans and pending connections end; the kernel's lists stay and work again when power is back.
  mutating func powerOff() {
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
    // Sessions end without a word but the property's.
    discovery.endAll()
    refreshDiscovery()
    tell(monitors.losePower())
    adapter.discoverableEnded()
    kernel.scan = nil
    kernel.initiator = nil
    kernel.advertisingSets = []
    tellPower(false)
    changed(adapterPath, \Adapter1.powered, \.powerState, \.discoverable, \.connectable)
    effects.append(.powered(false))
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

  /// A controller that leaves takes the adapter and all its objects off the bus, and the kernel's lists with them.
  mutating func setPlugged(_ isPlugged: Bool) {
    guard kernel.isPlugged != isPlugged else { return }
    if isPlugged {
      kernel.isPlugged = true
      guard isRunning else { return }
      kernel.isPairable = agents.defaultAgent != nil
      if !kernel.isBlocked { tellPower(true) }
      startAdapter()
      return
    }
    // Nobody is there to be told anything.
    kernel.powered = false
    for link in links.keys.sorted() { endLink(link, .connectionTimeout) }
    if isRunning {
      for path in devices.keys.sorted() { failConnect(path, .failed("le-connection-abort-by-local")) }
      tell(advertising.releases)
      tell(monitors.releases)
      let wasPowered = adapter.isPowered
      adapter.isPowered = false
      if wasPowered {
        changed(adapterPath, \Adapter1.powered)
        effects.append(.powered(false))
      }
      removeObjects()
      flushChanges()
      removed(adapterPath, [InterfaceName.properties, InterfaceName.adapter] + adapterServices)
    }
    closeAllChannels()
    devices = [:]
    discovery = Discovery()
    advertising = Advertising()
    monitors = Monitors()
    server = GATTServer()
    adapter = AdapterState()
    kernel = Kernel()
    kernel.isPlugged = false
  }

  // MARK: What the controller is told, once

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

/// Adapter1's properties that clients may set.
extension BlueZModel {
  /// - Parameter assigned: the one that is set.
  mutating func setAdapterProperty(
    _ assigned: PropertyValues<Adapter1>
  ) throws(PropertyError) -> Result<Reply, BlueZError>? {
    if let isOn = try assigned.read(\.powered) {
      if isOn, kernel.isBlocked { return .failure(.failed("Failed")) }
      if isOn { powerOn() } else { powerOff() }
    } else if let alias = try assigned.read(\.alias) {
      guard alias.utf8.count <= 248 else { return .failure(.invalidArguments("Invalid arguments in method call")) }
      adapter.alias = alias.isEmpty ? nil : alias
      storage.alias = adapter.alias
      changed(adapterPath, \Adapter1.alias)
    } else if let isOn = try assigned.read(\.discoverable) {
      guard adapter.isPowered || !isOn else { return .failure(.failed("Not Powered")) }
      adapter.setDiscoverable(isOn, at: now)
      changed(adapterPath, \Adapter1.discoverable, \.connectable)
    } else if let seconds = try assigned.read(\.discoverableTimeoutSeconds) {
      adapter.setDiscoverableTimeout(seconds: seconds, at: now)
      changed(adapterPath, \Adapter1.discoverableTimeoutSeconds)
    } else if let isOn = try assigned.read(\.pairable) {
      kernel.isPairable = isOn
      adapter.pairableWasSet(isOn, at: now)
      changed(adapterPath, \Adapter1.pairable)
    } else if let seconds = try assigned.read(\.pairableTimeoutSeconds) {
      adapter.setPairableTimeout(seconds: seconds, isPairable: kernel.isPairable, at: now)
      changed(adapterPath, \Adapter1.pairableTimeoutSeconds)
    } else {
      return nil
    }
    return .success(.none)
  }
}
