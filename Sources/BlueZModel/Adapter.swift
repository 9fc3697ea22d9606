import BlueZ
import BusValue
import Radio
import TimeTypes

/// Adapter1, beside what the configuration says.
struct AdapterState: Sendable {
  var isPowered = false
  /// `PowerState` on its way from one to the other.
  var powerTransition: String?
  var alias: String?
  var isDiscoverable = false
  var discoverableTimeoutSeconds: UInt32 = 180
  var discoverableDeadline: Instant?
  var pairableTimeoutSeconds: UInt32 = 0
  var pairableDeadline: Instant?

  init(configuration: BlueZConfiguration) {}
}

/// bluetoothd's start and end, and its adapter's power.
extension BlueZModel {
  mutating func start() {
    guard !isRunning else { return }
    isRunning = true
    restartDeadline = nil
    adapter = AdapterState(configuration: configuration)
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
    if !kernel.isBlocked, !kernel.powered { adapter.powerTransition = "off-enabling" }
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
    discovery = DiscoveryState()
    server = GATTServer()
    agents = AgentState()
    advertising = AdvertisingState()
    monitoring = MonitoringState()
    callbacks = CallbackState()
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
      releaseAgents()
    }
    guard kernel.isPlugged else { return }
    removed(adapterPath, adapterServices)
    removeObjects()
    releaseAdvertisements()
    releaseMonitors()
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
    adapter.powerTransition = "off-enabling"
    changed(adapterPath, InterfaceName.adapter, "PowerState")
    flushChanges()
    adapter.powerTransition = nil
    adapter.isPowered = true
    changed(adapterPath, InterfaceName.adapter, "Powered", "PowerState")
    effects.append(.powered(true))
    refreshAdvertising()
    refreshInitiator()
    refreshMonitoring()
  }

  /// A client switches it off. Before the power goes, what monitors have found is lost and who was only found is gone. (Where
  /// the adapter is blocked neither is so.)
  private mutating func switchOff() {
    guard adapter.isPowered else { return }
    monitoringLosesPower()
    for path in devices.keys.sorted() {
      guard let device = devices[path], device.isTemporary, device.link == nil, device.pendingConnect == nil else {
        continue
      }
      removeDevice(path)
    }
    powerOff()
  }

  /// Links, scans and pending connections end; the kernel's lists stay and work again when power is back.
  mutating func powerOff() {
    guard adapter.isPowered else { return }
    if !kernel.isBlocked {
      adapter.powerTransition = "on-disabling"
      changed(adapterPath, InterfaceName.adapter, "PowerState")
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
    endDiscovery()
    adapter.isDiscoverable = false
    adapter.discoverableDeadline = nil
    kernel.scan = nil
    kernel.initiator = nil
    kernel.advertisingSets = []
    tellPower(false)
    changed(adapterPath, InterfaceName.adapter, "Powered", "PowerState", "Discoverable", "Connectable")
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
    changed(adapterPath, InterfaceName.adapter, "PowerState")
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
      releaseAdvertisements()
      releaseMonitors()
      let wasPowered = adapter.isPowered
      adapter.isPowered = false
      if wasPowered {
        changed(adapterPath, InterfaceName.adapter, "Powered")
        effects.append(.powered(false))
      }
      removeObjects()
      flushChanges()
      removed(adapterPath, [InterfaceName.properties, InterfaceName.adapter] + adapterServices)
    }
    closeAllChannels()
    devices = [:]
    discovery = DiscoveryState()
    advertising = AdvertisingState()
    monitoring = MonitoringState()
    server = GATTServer()
    adapter = AdapterState(configuration: configuration)
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
  mutating func setAdapterProperty(_ name: String, _ value: Value) -> Result<Reply, BlueZError> {
    switch (name, value) {
    case ("Powered", .bool(let isOn)):
      if isOn, kernel.isBlocked { return .failure(.failed("Failed")) }
      if isOn { powerOn() } else { switchOff() }
    case ("Alias", .string(let alias)):
      guard alias.utf8.count <= 248 else { return .failure(.invalidArguments("Invalid arguments in method call")) }
      adapter.alias = alias.isEmpty ? nil : alias
      storage.alias = adapter.alias
      changed(adapterPath, InterfaceName.adapter, "Alias")
    case ("Discoverable", .bool(let isOn)):
      guard adapter.isPowered || !isOn else { return .failure(.failed("Not Powered")) }
      adapter.isDiscoverable = isOn
      adapter.discoverableDeadline =
        isOn && adapter.discoverableTimeoutSeconds > 0 ? now + .seconds(Int64(adapter.discoverableTimeoutSeconds)) : nil
      changed(adapterPath, InterfaceName.adapter, "Discoverable", "Connectable")
    case ("DiscoverableTimeout", .uint32(let seconds)):
      adapter.discoverableTimeoutSeconds = seconds
      if adapter.isDiscoverable { adapter.discoverableDeadline = seconds > 0 ? now + .seconds(Int64(seconds)) : nil }
      changed(adapterPath, InterfaceName.adapter, "DiscoverableTimeout")
    case ("Pairable", .bool(let isOn)):
      kernel.isPairable = isOn
      adapter.pairableDeadline =
        isOn && adapter.pairableTimeoutSeconds > 0 ? now + .seconds(Int64(adapter.pairableTimeoutSeconds)) : nil
      changed(adapterPath, InterfaceName.adapter, "Pairable")
    case ("PairableTimeout", .uint32(let seconds)):
      adapter.pairableTimeoutSeconds = seconds
      if kernel.isPairable { adapter.pairableDeadline = seconds > 0 ? now + .seconds(Int64(seconds)) : nil }
      changed(adapterPath, InterfaceName.adapter, "PairableTimeout")
    case ("Powered", _), ("Alias", _), ("Discoverable", _), ("DiscoverableTimeout", _), ("Pairable", _),
      ("PairableTimeout", _):
      return .failure(.invalidSignature(name))
    default: return .failure(.propertyReadOnly(name))
    }
    return .success(.none)
  }
}
