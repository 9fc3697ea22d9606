import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// A bus connection that talks to bluetoothd, identified by its unique name.
package struct ClientIdentifier: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  package let name: String
  package init(_ name: String) { self.name = name }
  package var description: String { name }
  package static func < (left: Self, right: Self) -> Bool { left.name < right.name }
}

/// What bluetoothd of one machine, and the kernel below it, do with a radio: a pure state machine.
///
/// It is modelled on what bluetoothd 5.82 on Linux 6.12 was seen to do. Pairing simulates LE Secure Connections: the
/// messages, their order and their outcomes are real, the mathematics is not (see `SecurityManager`).
package struct BlueZModel: Sendable {
  package enum Event: Sendable {
    case message(from: ClientIdentifier, ClientMessage)
    case clientVanished(ClientIdentifier)
    case radio(RadioOutput.Event)
    /// The answer to `Effect.readRSSI`, in dBm, or `nil` if the link is gone or the controller does not say.
    case rssi(RSSIQuery, Int8?, isLinked: Bool)
    case channel(ChannelIdentifier, ChannelInput)
    /// From outside: the service manager, a person or the hardware.
    case control(Control)
    case timePassed
  }

  /// What happens to bluetoothd and its adapter from outside the bus.
  package enum Control: Sendable, Hashable {
    /// bluetoothd starts. No effect if it is running.
    case start
    /// bluetoothd is asked to stop (SIGTERM): it takes leave of its clients, and its links end.
    case stop
    /// bluetoothd dies at once (SIGKILL, a crash). The kernel goes on scanning and advertising.
    case kill
    /// The machine shuts down: bluetoothd and the kernel end. Only `storage` is left.
    case shutDown
    /// The machine loses its power: as `shutDown`, but nothing is sent any more.
    case cutPower
    /// The machine boots, and starts bluetoothd.
    case boot
    /// Some client switches the adapter.
    case setPowered(Bool)
    /// Some client removes every bonded device.
    case forgetPairings
    case setBlocked(Bool)
    /// The controller is unplugged (false) or plugged in (true), which clears the kernel's lists.
    case setPlugged(Bool)
  }

  package enum StopCause: String, Sendable, Hashable, Codable {
    case stopped, killed, crashed, shutDown
  }

  package enum Effect: Sendable, Hashable {
    /// To one client: a reply or a callback.
    case send(to: ClientIdentifier, DaemonMessage)
    /// To every client on the bus.
    case broadcast(Signal)
    /// An object has changed, and bluetoothd does not say so. Clients see it when they ask.
    case unannounced(Signal)
    case radio(RadioInput)
    /// Asks for the signal strength of a link at this machine. `Event.rssi` is the answer.
    case readRSSI(RSSIQuery, LinkIdentifier)
    case channel(ChannelEffect)
    /// bluetoothd has taken its name on the bus, with these objects.
    case started(ManagedObjects)
    /// bluetoothd has left the bus. Every open call has failed.
    case stopped(StopCause)
    case powered(Bool)
    /// Something from the radio or a client that bluetoothd only logs. It changed nothing else.
    case diagnostic(Diagnostic)
  }

  /// What is done with the sockets of AcquireNotify and AcquireWrite, and of L2CAP channels.
  package enum ChannelEffect: Sendable, Hashable {
    /// Makes a pair of sockets. One end is the answer to the client's call.
    case open(ChannelIdentifier, for: ClientIdentifier, CallIdentifier, mtu: UInt16)
    /// Sends one packet to the other end.
    case data(ChannelIdentifier, [UInt8])
    case close(ChannelIdentifier)
    /// As `open`, but for an L2CAP channel to a device, which loses no packet. `ChannelInput.taken` reports each packet
    /// that the socket has taken. A packet is read from the socket only after `read`. `close` takes effect after
    /// everything that was sent before it.
    case openCredit(ChannelIdentifier, for: ClientIdentifier, CallIdentifier, mtu: UInt16, device: ObjectPath)
    /// One more packet may be read.
    case read(ChannelIdentifier)
  }

  package struct RSSIQuery: Sendable, Hashable {
    let client: ClientIdentifier
    let call: CallIdentifier
  }

  /// What bluetoothd would write to its log.
  package enum Diagnostic: Sendable, Hashable {
    /// `count` is the number so far.
    case malformedAdvertisement(DeviceAddress, count: Int)
    case unknownNotificationHandle(device: ObjectPath, handle: AttributeHandle)
    case malformedPDU(device: ObjectPath)
    case encryptionFailed(device: ObjectPath)
    case pairingFailed(device: ObjectPath, reason: UInt8)
    case paired(device: ObjectPath)
    case radioRefused(String)
    case nothingToForget
  }

  package private(set) var configuration: BlueZConfiguration
  /// What is on disk: it survives restarts of bluetoothd and of the machine.
  package internal(set) var storage: BlueZStorage

  /// The effects of the event being handled.
  var outbox = Outbox()
  var now = Instant.zero
  /// When the next thing happens by itself. `nil` for an idle machine, however many devices it is waiting for.
  package internal(set) var nextDeadline: Instant?

  // The process, and the kernel and hardware below it.
  package internal(set) var isRunning = false
  /// When the service manager restarts a crashed bluetoothd.
  var restartDeadline: Instant?
  var kernel = Kernel()
  /// Whether this is bluetoothd's default adapter: the first that it finds and, when that one leaves, another one.
  var isDefault = false
  /// Whether another adapter of the machine is the default one.
  var hasDefaultSibling = false

  // bluetoothd's own state, lost when it ends.
  var adapter: AdapterState
  var devices: [ObjectPath: Device] = [:]
  var links: [LinkIdentifier: Link] = [:]
  var discovery: Discovery
  var server = GATTServer()
  var agents = Agents()
  /// Devices whose `Pair()` call waits until another device's `Pair()` call has ended, in order.
  var waitingPairs: [ObjectPath] = []
  var advertising = Advertising()
  var monitors = Monitors()
  var batteryProviders = BatteryProviders()
  var profiles = Profiles()
  var addressConnections = AddressConnections()
  var callbacks = Callbacks()
  var channels = AcquiredChannels()
  var creditChannels = CreditChannels()
  var malformedAdvertisementCount = 0
  private(set) var manners = MachineManners()

  package init(configuration: BlueZConfiguration, storage: BlueZStorage = BlueZStorage()) {
    self.configuration = configuration
    self.storage = storage
    discovery = Discovery(isDualMode: configuration.isDualMode)
    adapter = AdapterState()
  }

  /// Sets which of bluetoothd's known bugs are simulated.
  package mutating func setQuirks(_ quirks: BlueZConfiguration.Quirks) { configuration.quirks = quirks }

  /// Sets how a test makes the machine behave.
  package mutating func setManners(_ manners: MachineManners) { self.manners = manners }

  /// Handles everything that was due before `now`, then the event. Returns what to do, in order.
  package mutating func handle(_ event: Event, at now: Instant) -> [Effect] {
    self.now = max(now, self.now)
    expire()
    switch event {
    case .message(let client, let message): if isRunning { receive(message, from: client) }
    case .clientVanished(let client): if isRunning { forget(client) }
    case .radio(let event): receive(event)
    case .rssi(let query, let rssi, let isLinked):
      let failure = isLinked ? BlueZError.failed("the controller does not tell the signal's strength") : .notConnected
      reply(to: query.client, query.call, rssi.map { .success(.rssi($0)) } ?? .failure(failure))
    case .channel(let channel, let input): if isRunning { receive(input, through: channel) }
    case .control(let control): apply(control)
    case .timePassed: break
    }
    beginWaitingPairing()
    flushChanges()
    findDeadline()
    return outbox.takeEffects()
  }

  private mutating func receive(_ event: RadioOutput.Event) {
    switch event {
    case .advertisement(let report): if isRunning { receive(report) }
    case .connected(let parameters): linkUp(parameters)
    case .disconnected(let link, let reason): linkDown(link, reason)
    case .received(let link, let frame): receive(frame, on: link)
    // Data sent at the moment the link was lost is lost with it.
    case .refused("no such link"): break
    case .refused(let reason): outbox.append(.diagnostic(.radioRefused(reason)))
    }
  }

  private mutating func receive(_ message: ClientMessage, from client: ClientIdentifier) {
    switch message {
    case .call(let call, let path, let request): dispatch(request, path: path, from: client, call)
    case .valueChanged(let path, let value): applicationValueChanged(path, value, from: client)
    case .serviceRemoved(let root, let path): serviceRemoved(path, of: root, from: client)
    case .advertisementChanged(let path, let properties, let gone):
      advertisementChanged(path, properties, gone: gone, from: client)
    case .monitorAdded(let root, let path, let properties): monitorAdded(path, properties, below: root, of: client)
    case .monitorRemoved(let root, let path): if monitors.remove(path, below: root, of: client) { refreshMonitoring() }
    case .batteryAdded(let root, let path, let properties):
      batteryAdded(path, PropertyValues(properties), below: root, of: client)
    case .batteryChanged(let path, let properties, let gone):
      providedBatteryChanged(path, properties, gone: gone, of: client)
    case .batteryRemoved(let root, let path): batteryRemoved(path, below: root, of: client)
    case .answer(let callback, let result): callbackAnswered(callback, result, by: client)
    }
  }

  private mutating func apply(_ control: Control) {
    switch control {
    case .start: start()
    case .stop: stop(.stopped)
    case .kill: stop(.killed)
    case .shutDown: stop(.shutDown)
    case .cutPower: stop(.shutDown, isSilent: true)
    case .boot: if !isRunning { restartDeadline = now + configuration.timings.boot }
    case .setPowered(let isOn): if isOn { powerOn() } else { switchOff() }
    case .forgetPairings:
      let bonded = devices.filter { $0.value.bond != nil }.keys.sorted()
      if bonded.isEmpty { outbox.append(.diagnostic(.nothingToForget)) }
      for path in bonded { removeDevice(path) }
    case .setBlocked(let isBlocked): setBlocked(isBlocked)
    case .setPlugged(let isPlugged): setPlugged(isPlugged)
    }
  }

  /// A client left the bus. What it registered is removed at once. What the kernel was told on its behalf stays.
  private mutating func forget(_ client: ClientIdentifier) {
    endPairings(for: client)
    dropCallbacks(of: client)
    if discovery.forget(client) { refreshDiscovery() }
    forgetSubscriptions(of: client)
    forgetApplications(of: client)
    for set in advertising.sets(of: client) { endAdvertising(set) }
    if monitors.forget(client) { refreshMonitoring() }
    removeBatteries(batteryProviders.forget(client))
    let agent = agents.defaultAgent
    agents.forget(client)
    refreshPairable(since: agent)
    forgetProfiles(of: client)
    forgetListeners(of: client)
  }
}
