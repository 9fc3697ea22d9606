import BlueZ
import BluetoothTypes
import BusValue
import Logging
import SystemBus

/// The one connection of a `BlueZClient`. It lives on the bus's thread.
actor BlueZClientSession {
  private nonisolated let bus: Bus
  private let logger: Logger
  private let onMessage: @Sendable (DaemonMessage) -> Void
  private let onBusLost: @Sendable () -> Void
  private let onLooked: @Sendable () -> Void
  private var hasLooked = false
  private var isClosed = false

  /// The unique name of bluetoothd, while it is known to be there.
  private var owner: String?
  /// Grows with each bluetoothd, so that a reply of an earlier one can be recognised.
  private var generation: UInt64 = 0
  /// The objects have been delivered. Signals from here on are news.
  private var hasAppeared = false
  /// Whether bluetoothd serves the simulated controller's interface, or `nil` before that was tried.
  private var isSimulated: Bool?
  /// Addresses of devices. A device's path need not contain its address.
  private var addresses: [ObjectPath: DeviceAddress] = [:]
  private var adapterAddresses: [ObjectPath: DeviceAddress] = [:]
  private let channels = ChannelSockets()

  private var exports = ExportedObjects()
  private var openCallbacks: [CallbackIdentifier: IncomingCall] = [:]
  private var lastCallback: UInt64 = 0

  nonisolated var unownedExecutor: UnownedSerialExecutor { bus.unownedExecutor }

  init(
    bus: Bus, logger: Logger, onMessage: @escaping @Sendable (DaemonMessage) -> Void,
    onBusLost: @escaping @Sendable () -> Void, onLooked: @escaping @Sendable () -> Void
  ) {
    self.bus = bus
    self.logger = logger
    self.onMessage = onMessage
    self.onBusLost = onBusLost
    self.onLooked = onLooked
  }

  nonisolated func start() throws(BusError) {
    try bus.start(
      BusHandlers(
        onCall: { _, call in self.assumeIsolated { $0.receive(call) } },
        onSignal: { _, signal in self.assumeIsolated { $0.receive(signal) } },
        onClose: { _, _ in self.assumeIsolated { $0.busEnded() } }))
    bus.enqueue { bus in
      // The bus handles these before it answers who owns the name, and so before the objects are requested.
      for (interface, member) in [
        (BusName.objectManager, String?.none), (BusName.properties, "PropertiesChanged"),
        (InterfaceName.device, "Disconnected"),
      ] {
        bus.addMatch(MatchRule(sender: WellKnown.busName, interface: interface, member: member))
      }
      bus.watchOwner(of: WellKnown.busName) { _, owner in self.assumeIsolated { $0.ownerChanged(owner) } }
    }
  }

  nonisolated func send(_ message: ClientMessage) {
    bus.enqueue { _ in self.assumeIsolated { $0.take(message) } }
  }

  nonisolated func close() {
    bus.enqueue { _ in self.assumeIsolated { $0.isClosed = true } }
    bus.close()
  }

  private func deliver(_ message: DaemonMessage) {
    if !isClosed { onMessage(message) }
  }

  // MARK: bluetoothd comes and goes

  private func ownerChanged(_ newOwner: String?) {
    forgetOwner()
    guard let newOwner, !isClosed else { return looked() }
    owner = newOwner
    let generation = generation
    let call = MethodCall(
      to: newOwner, path: .root, interface: BusName.objectManager, member: "GetManagedObjects")
    bus.assumeIsolated { bus in
      bus.call(call) { result in self.assumeIsolated { $0.receiveObjects(result, generation) } }
    }
  }

  private func receiveObjects(_ result: Result<[Value], BusError>, _ generation: UInt64) {
    guard generation == self.generation else { return }
    defer { looked() }
    switch result {
    case .success(let values):
      guard let objects = ObjectCoding.objects(values.first) else {
        return logger.error("bluetoothd's objects are malformed; it is taken to be away")
      }
      hasAppeared = true
      addresses.reserveCapacity(objects.count)
      for (path, interfaces) in objects { noteAddress(path, interfaces) }
      deliver(.appeared(objects))
    case .failure(let error):
      // The bus or bluetoothd went away in the meantime. That is not an error here: it has an event of its own.
      let departures = [BusError.Name.disconnected, BusError.Name.noReply, BusError.Name.serviceUnknown]
      let level: Logger.Level = departures.contains(error.name) ? .info : .error
      logger.log(
        level: level, "bluetoothd's objects can't be read; it is taken to be away", metadata: ["error": "\(error)"])
    }
  }

  /// It is known whether bluetoothd is there.
  private func looked() {
    guard !hasLooked else { return }
    hasLooked = true
    onLooked()
  }

  private func forgetOwner() {
    generation += 1
    let wasThere = hasAppeared
    owner = nil
    hasAppeared = false
    isSimulated = nil
    addresses = [:]
    adapterAddresses = [:]
    channels.stopListening()
    exports = ExportedObjects()
    openCallbacks = [:]
    if wasThere { deliver(.vanished) }
  }

  private func busEnded() {
    guard !isClosed else { return }
    logger.error("the bus has ended")
    forgetOwner()
    isClosed = true
    onBusLost()
  }

  private func noteAddress(_ path: ObjectPath, _ interfaces: Interfaces) {
    if let adapter = PropertyValues<Adapter1>(interfaces), let text = adapter.address {
      adapterAddresses[path] = DeviceAddress(text, kind: adapter.addressType ?? .public)
    }
    guard let device = PropertyValues<Device1>(interfaces), device.address != nil else { return }
    if addresses[path] != nil {
      addresses[path] = device.deviceAddress
    } else if let address = device.deviceAddress {
      addresses[path.compactCopy] = address
    }
  }

  // MARK: Messages from the client

  private func take(_ message: ClientMessage) {
    guard !isClosed else { return }
    switch message {
    case .call(let identifier, let path, let request): call(identifier, path, request)
    case .valueChanged(let path, let value):
      guard let owner, exports.setValue(value, at: path) else { return }
      // Sent to bluetoothd alone, because a value for one central's subscription should not be broadcast on this
      // machine.
      var changed = PropertyValues<GattCharacteristic1>()
      changed.value = value
      tell(owner, path, GattCharacteristic1.interface, changed.all)
    case .serviceRemoved(let root, let path): remove(path, InterfaceName.gattService, below: root)
    case .advertisementChanged(let path, let properties, let gone):
      guard let owner, exports.change(properties, gone: gone, ofAdvertisement: path) else { return }
      tell(owner, path, InterfaceName.advertisement, properties, gone: gone)
    case .monitorAdded(let root, let path, let properties):
      add(path, InterfaceName.advertisementMonitor, properties, below: root)
    case .monitorRemoved(let root, let path): remove(path, InterfaceName.advertisementMonitor, below: root)
    case .batteryAdded(let root, let path, let properties):
      add(path, InterfaceName.batteryProvider, properties, below: root)
    case .batteryRemoved(let root, let path): remove(path, InterfaceName.batteryProvider, below: root)
    case .batteryChanged(let path, let properties, let gone):
      if let owner { tell(owner, path, InterfaceName.batteryProvider, properties, gone: gone) }
    case .answer(let identifier, let result):
      guard let open = openCallbacks.removeValue(forKey: identifier) else { return }
      let values = result.map { CallbackCoding.values($0) }.mapError { BusError($0) }
      bus.assumeIsolated { $0.reply(to: open, with: values) }
    }
  }

  private func add(_ path: ObjectPath, _ interface: String, _ properties: Properties, below root: ObjectPath) {
    let interfaces = [interface: properties]
    guard let owner, exports.change(path, to: interfaces, below: root) else { return }
    tell(owner, root, BusName.objectManager, "InterfacesAdded", [.path(path), ObjectCoding.value(interfaces)])
  }

  private func remove(_ path: ObjectPath, _ interface: String, below root: ObjectPath) {
    guard let owner, exports.change(path, to: nil, below: root) else { return }
    tell(owner, root, BusName.objectManager, "InterfacesRemoved", [.path(path), .strings([interface])])
  }

  private func tell(
    _ owner: String, _ path: ObjectPath, _ interface: String, _ changed: Properties, gone: [String] = []
  ) {
    tell(
      owner, path, BusName.properties, "PropertiesChanged",
      [.string(interface), .properties(changed), .strings(gone)])
  }

  private func tell(
    _ owner: String, _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [Value]
  ) {
    let signal = OutgoingSignal(
      path: path, interface: interface, member: member, arguments: arguments, destination: owner)
    bus.assumeIsolated { bus in
      do throws(BusError) {
        try bus.emit(signal)
      } catch {
        self.assumeIsolated { $0.logger.error("a change was not sent", metadata: ["error": "\(error)"]) }
      }
    }
  }

  private func call(_ identifier: CallIdentifier, _ path: ObjectPath, _ request: Request) {
    guard let owner, hasAppeared else { return }
    if request.isOfController, isSimulated == false { return askController(identifier, path, request) }
    if let refusal = exports.add(request) {
      return deliver(.reply(identifier, .failure(refusal)))
    }
    // A descriptor's path ends in descXXXX (BlueZ, doc/org.bluez.GattDescriptor.rst).
    let coded = RequestCoding.call(request, onDescriptor: path.remoteAttribute?.kind == .descriptor)
    var call = MethodCall(
      to: owner, path: path, interface: coded.interface, member: coded.member, arguments: coded.arguments)
    call.acceptsFileDescriptors = request.returnsDescriptor
    let generation = generation
    bus.assumeIsolated { bus in
      bus.call(call) { result in
        self.assumeIsolated { $0.finish(identifier, path, request, result, generation) }
      }
    }
  }

  private func finish(
    _ identifier: CallIdentifier, _ path: ObjectPath, _ request: Request, _ result: Result<[Value], BusError>,
    _ generation: UInt64
  ) {
    // A reply that arrives after its bluetoothd has gone is ignored: the call has failed with `vanished`.
    guard generation == self.generation else {
      for value in (try? result.get()) ?? [] { value.closeDescriptors() }
      return
    }
    switch result {
    case .success(let values):
      exports.finish(request, succeeded: true)
      if request.isOfController { isSimulated = true }
      guard let reply = ReplyCoding.reply(values, to: request) else {
        for value in values { value.closeDescriptors() }
        return deliver(.reply(identifier, .failure(.failed("bluetoothd returned what the method doesn't"))))
      }
      deliver(.reply(identifier, .success(reply)))
    case .failure(let error):
      exports.finish(request, succeeded: false)
      if request.isOfController, isSimulated == nil, Self.saysUnknown(error) {
        isSimulated = false
        return askController(identifier, path, request)
      }
      // The bus is gone, and the client is about to be told. Until then the call has no result.
      if error.name == BusError.Name.disconnected { return }
      deliver(.reply(identifier, .failure(BlueZError(error))))
    }
  }

  private static func saysUnknown(_ error: BusError) -> Bool {
    [BusError.Name.unknownMethod, BusError.Name.unknownInterface].contains(error.name)
  }

  /// Asks the controller or the kernel, because bluetoothd has no such method.
  private func askController(_ identifier: CallIdentifier, _ path: ObjectPath, _ request: Request) {
    if request == .readConnectionRSSI { return readControllerRSSI(identifier, path) }
    let generation = generation
    channels.handle(request, path, address: addresses[path], adapterAddress: adapterAddress(of: path)) { [bus] result in
      bus.enqueue { _ in
        self.assumeIsolated { session in
          guard generation == session.generation else { return }
          session.deliver(.reply(identifier, result.map { session.naming($0) }))
        }
      }
    }
  }

  /// A device that opened a channel is known to the kernel by its address. bluetoothd's path for it may contain another.
  private func naming(_ reply: Reply) -> Reply {
    guard case .creditChannel(let channel, let mtu, let device) = reply, addresses[device] == nil,
      let address = device.deviceAddress(kind: .public),
      let path = addresses.first(where: { $0.value.bits == address.bits })?.key
    else { return reply }
    return .creditChannel(channel, mtu: mtu, device: path)
  }

  /// The address of the adapter at a path, or above it.
  private func adapterAddress(of path: ObjectPath) -> DeviceAddress? {
    adapterAddresses[path] ?? path.parent.flatMap { adapterAddresses[$0] }
  }

  private func readControllerRSSI(_ identifier: CallIdentifier, _ path: ObjectPath) {
    let generation = generation
    ControllerSignalStrength.read(devicePath: path, address: addresses[path]) { [bus] result in
      bus.enqueue { _ in
        self.assumeIsolated { session in
          guard generation == session.generation else { return }
          session.deliver(.reply(identifier, result.map { .rssi($0) }))
        }
      }
    }
  }

  // MARK: Messages from the bus

  private func receive(_ signal: IncomingSignal) {
    guard signal.sender == owner else {
      return logger.debug("a signal of another than bluetoothd is ignored", metadata: ["sender": "\(signal.sender)"])
    }
    // Until bluetoothd's objects are known, signals are ignored, because the objects will contain the same.
    guard hasAppeared, let change = ObjectCoding.signal(signal) else { return }
    switch change {
    case .interfacesAdded(let path, let interfaces): noteAddress(path, interfaces)
    case .propertiesChanged(let path, let interface, let changed, _): noteAddress(path, [interface: changed])
    case .interfacesRemoved(let path, let removed) where removed.contains(InterfaceName.device):
      addresses[path] = nil
    default: break
    }
    deliver(.signal(change))
  }

  private func receive(_ call: IncomingCall) {
    let result: Result<[Value], BusError>
    do throws(BusError) {
      guard call.sender == owner else {
        throw BusError(name: BusError.Name.accessDenied, message: "only bluetoothd may call this object")
      }
      if let values = try exports.answer(call) {
        result = .success(values)
      } else {
        return try receiveCallback(call)
      }
    } catch {
      result = .failure(error)
    }
    bus.assumeIsolated { $0.reply(to: call, with: result) }
  }

  private func receiveCallback(_ call: IncomingCall) throws(BusError) {
    let callback = try exports.callback(call)
    lastCallback += 1
    let identifier = CallbackIdentifier(lastCallback)
    openCallbacks[identifier] = call
    exports.released(call.path, by: callback)
    deliver(.callback(identifier, path: call.path, callback))
  }
}
