import BlueZ
import BusValue

/// Method calls, by the object they are made on.
extension BlueZModel {
  mutating func dispatch(_ request: Request, path: ObjectPath, from client: ClientIdentifier, _ call: CallIdentifier) {
    let pending = PendingCall(client: client, call: call)
    switch request {
    case .getManagedObjects:
      return reply(to: pending, .success(.objects(managedObjects)))
    case .getProperty(let interface, let name):
      return reply(to: pending, property(path, interface, name))
    case .getAllProperties(let interface):
      return reply(to: pending, allProperties(path, interface))
    case .setProperty(let interface, let name, let value):
      return setProperty(path, interface, name, value, pending)
    default: break
    }
    if path == WellKnown.managerPath {
      let before = agents.defaultAgent
      let answer = agents.answer(request, from: client)
      refreshPairable(since: before)
      reply(
        to: pending,
        answer ?? answerProfile(request, from: client) ?? .failure(.unknownMethod("no such method here")))
    } else if path == adapterPath, kernel.isPlugged {
      handleAdapterCall(request, pending)
    } else if devices[path] != nil {
      handleDeviceCall(request, path, pending)
    } else if remoteAttribute(path) != nil {
      handleAttributeCall(request, path, pending)
    } else {
      reply(to: pending, .failure(.unknownObject(path)))
    }
  }

  private mutating func handleAdapterCall(_ request: Request, _ pending: PendingCall) {
    switch request {
    case .startDiscovery, .stopDiscovery, .setDiscoveryFilter: discover(request, pending)
    case .getDiscoveryFilters:
      reply(to: pending, .success(.strings(DiscoveryFilter.memberNames)))
    case .removeDevice(let device):
      forgetDevice(device, pending)
    case .connectDevice(let members) where configuration.isExperimental: connectDevice(members, pending)
    case .registerApplication(let root, let objects):
      reply(to: pending, registerApplication(root, objects, from: pending.client))
    case .unregisterApplication(let root):
      reply(to: pending, unregisterApplication(root, from: pending.client))
    case .registerAdvertisement(let path, let properties):
      reply(to: pending, registerAdvertisement(path, properties, from: pending.client))
    case .unregisterAdvertisement(let path):
      reply(to: pending, unregisterAdvertisement(path, from: pending.client))
    case .registerMonitor(let root, let objects) where configuration.isExperimental:
      registerMonitor(root, objects, pending)
    case .unregisterMonitor(let root) where configuration.isExperimental:
      reply(to: pending, unregisterMonitor(root, from: pending.client))
    case .registerBatteryProvider(let root):
      reply(to: pending, batteryProviders.register(root, of: pending.client).map { .failure($0) } ?? .success(.none))
    case .unregisterBatteryProvider(let root): unregisterBatteryProvider(root, pending)
    case .listenForChannels(let psm, let requiresEncryption): listen(psm, requiresEncryption, pending)
    case .acceptChannel(let psm): acceptChannel(psm, pending)
    case .stopListening(let psm): stopListening(psm, pending)
    default: reply(to: pending, .failure(.unknownMethod("no such method on an adapter")))
    }
  }

  private mutating func handleDeviceCall(_ request: Request, _ path: ObjectPath, _ pending: PendingCall) {
    switch request {
    case .connect: connect(path, pending)
    case .disconnect: disconnect(path, pending)
    case .pair: pair(path, pending)
    case .cancelPairing: reply(to: pending, cancelPairing(path))
    case .connectProfile: connectProfile(path, pending)
    // Other kinds of profiles are not simulated, so there is none to disconnect.
    case .disconnectProfile:
      reply(to: pending, .failure(.invalidArguments("Invalid arguments in method call")))
    case .getServiceRecords where configuration.isExperimental:
      reply(to: pending, .failure(serviceRecords(of: path)))
    case .readConnectionRSSI:
      guard let link = devices[path]?.link else { return reply(to: pending, .failure(.notConnected)) }
      outbox.append(.readRSSI(RSSIQuery(client: pending.client, call: pending.call), link))
    case .openChannel(let psm): openChannel(psm, to: path, pending)
    default: reply(to: pending, .failure(.unknownMethod("no such method on a device")))
    }
  }

  /// Other kinds of profiles are not simulated: a search for them finds nothing. The device is wanted all the same
  /// (src/device.c, connect_profiles).
  private mutating func connectProfile(_ path: ObjectPath, _ pending: PendingCall) {
    guard devices[path]?.pendingConnect?.caller == nil, devices[path]?.bondedCall == nil else {
      return reply(to: pending, .failure(BlueZError(.inProgress, "br-connection-busy")))
    }
    guard adapter.isPowered else {
      return reply(to: pending, .failure(BlueZError(.notReady, "br-connection-adapter-not-powered")))
    }
    devices[path]?.isTemporary = false
    reply(to: pending, .failure(.failed("br-connection-sdp-search")))
  }

  private mutating func handleAttributeCall(_ request: Request, _ path: ObjectPath, _ pending: PendingCall) {
    guard let (device, attribute) = remoteAttribute(path) else {
      return reply(to: pending, .failure(.unknownObject(path)))
    }
    switch (request, attribute) {
    case (.readValue(let offset), .characteristic(let characteristic, _)):
      read(characteristic.valueHandle, path, of: device, offset: offset, pending)
    case (.readValue(let offset), .descriptor(let descriptor, _, _)):
      read(descriptor.handle, path, of: device, offset: offset, pending)
    case (.writeValue(let value, let options), .characteristic(let characteristic, _)):
      write(value, options, characteristic, path, of: device, pending)
    case (.writeValue(let value, let options), .descriptor(let descriptor, _, _)):
      write(value, options, descriptor, path, of: device, pending)
    case (.startNotify, .characteristic(let characteristic, _)):
      startNotify(characteristic, path, of: device, pending)
    case (.stopNotify, .characteristic(let characteristic, _)):
      stopNotify(characteristic, path, of: device, pending)
    case (.acquireNotify, .characteristic(let characteristic, _)):
      acquireNotify(characteristic, path, of: device, pending)
    case (.acquireWrite, .characteristic(let characteristic, _)):
      acquireWrite(characteristic, path, of: device, pending)
    default: reply(to: pending, .failure(.unknownMethod("no such method on this attribute")))
    }
  }

  // MARK: Properties

  private func property(_ path: ObjectPath, _ interface: String, _ name: String) -> Result<Reply, BlueZError> {
    guard let interfaces = interfaces(of: path) else { return .failure(.unknownObject(path)) }
    guard let properties = interfaces[interface] else { return .failure(.unknownInterface(interface)) }
    guard let value = properties[name] else { return .failure(.unknownProperty(name)) }
    return .success(.value(value))
  }

  private func allProperties(_ path: ObjectPath, _ interface: String) -> Result<Reply, BlueZError> {
    guard let interfaces = interfaces(of: path) else { return .failure(.unknownObject(path)) }
    guard let properties = interfaces[interface] else { return .failure(.unknownInterface(interface)) }
    return .success(.properties(properties))
  }

  private mutating func setProperty(
    _ path: ObjectPath, _ interface: String, _ name: String, _ value: Value, _ pending: PendingCall
  ) {
    guard let interfaces = interfaces(of: path) else { return reply(to: pending, .failure(.unknownObject(path))) }
    guard let properties = interfaces[interface] else {
      return reply(to: pending, .failure(.unknownInterface(interface)))
    }
    guard properties[name] != nil || Self.isReadOnly(interface, name) else {
      return reply(to: pending, .failure(.noSuchProperty(name)))
    }
    let assigned = [name: value]
    do {
      switch interface {
      case Adapter1.interface: if try setAdapterProperty(PropertyValues(assigned), for: pending) { return }
      case Device1.interface: if try setDeviceProperty(path, PropertyValues(assigned), for: pending) { return }
      default: break
      }
      reply(to: pending, .failure(.propertyReadOnly(name)))
    } catch {
      reply(to: pending, .failure(.invalidSignature(name)))
    }
  }

  /// Whether bluetoothd knows this property and nobody may set it. bluetoothd gives this error even for an object that
  /// lacks the property.
  private static func isReadOnly(_ interface: String, _ name: String) -> Bool {
    InterfaceTables.all[interface]?.contains { $0.name == name && $0.use != .writable } == true
  }

  /// Answers the call, unless the property can't be set. A value that the property has already is no change.
  ///
  /// - Parameter assigned: the property that is set.
  /// - Returns: whether the call was answered.
  private mutating func setDeviceProperty(
    _ path: ObjectPath, _ assigned: PropertyValues<Device1>, for caller: PendingCall
  ) throws(PropertyError) -> Bool {
    if let isTrusted = try assigned.read(\.trusted) {
      if devices[path]?.isTrusted != isTrusted {
        devices[path]?.isTrusted = isTrusted
        changed(path, \Device1.trusted)
      }
    } else if let isBlocked = try assigned.read(\.blocked) {
      return setBlocked(path, isBlocked, for: caller)
    } else if let alias = try assigned.read(\.alias) {
      let new = alias.isEmpty ? nil : alias
      if devices[path]?.alias != new {
        devices[path]?.alias = new
        changed(path, \Device1.alias)
      }
    } else {
      return false
    }
    store(path)
    reply(to: caller, .success(.none))
    return true
  }

  /// The caller is answered first. Then the link ends.
  private mutating func setBlocked(_ path: ObjectPath, _ isBlocked: Bool, for caller: PendingCall) -> Bool {
    let isNew = devices[path]?.isBlocked != isBlocked
    if isNew {
      devices[path]?.isBlocked = isBlocked
      if isBlocked { devices[path]?.isTemporary = false }
      changed(path, \Device1.blocked)
      store(path)
    }
    reply(to: caller, .success(.none))
    if isNew, isBlocked {
      disconnectNow(path)
      refreshInitiator()
    }
    return true
  }
}

extension BlueZError {
  // In libgdbus' words, which name different errors for reading and setting a property.
  static func unknownInterface(_ name: String) -> BlueZError {
    BlueZError(.invalidArgs, "No such interface '\(name)'")
  }
  static func noSuchProperty(_ name: String) -> BlueZError {
    BlueZError(.unknownProperty, "No such property '\(name)'")
  }
  static func unknownProperty(_ name: String) -> BlueZError {
    BlueZError(.invalidArgs, "No such property '\(name)'")
  }
  static func invalidSignature(_ name: String) -> BlueZError {
    BlueZError(
      name: "org.freedesktop.DBus.Error.InvalidSignature", message: "Invalid signature for '\(name)'")
  }
  static func propertyReadOnly(_ name: String) -> BlueZError {
    BlueZError(
      name: "org.freedesktop.DBus.Error.PropertyReadOnly", message: "Property '\(name)' is not writable")
  }
}
