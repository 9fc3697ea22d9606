import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import TimeTypes

/// Handling of what bluetoothd says.
extension BluetoothSystem {
  mutating func receive(_ message: DaemonMessage) {
    switch message {
    case .appeared(let objects): bluetoothdAppeared(objects)
    case .vanished: bluetoothdVanished()
    case .reply(let identifier, let result):
      if let pending = calls.take(identifier) { completed(pending, result) }
    // Until bluetoothd's objects have been read, a signal is about a removed object, or the objects will repeat it.
    case .signal where !bluez.isPresent: break
    case .signal(.interfacesAdded(let path, let interfaces)): added(path, interfaces, isNews: true)
    case .signal(.interfacesRemoved(let path, let names)): removed(path, names)
    case .signal(.propertiesChanged(let path, let interface, let changed, let invalidated)):
      propertiesChanged(path, interface, changed, invalidated)
    case .signal(.disconnected(let path, let reason, _)): linkEnded(path, reason)
    case .callback(let identifier, let path, let callback): receive(callback, path, identifier)
    }
  }

  private mutating func bluetoothdAppeared(_ objects: ManagedObjects) {
    if bluez.isPresent { bluetoothdVanished() }
    bluez.stateBefore = bluez.state
    bluez.isPresent = true
    bluez.wasEverPresent = true
    bluez.adapterAwaitedUntil = now + BlueZMirror.adapterPatience
    adopt(objects)
    noteMissingAdapter(objects)
    journal(.bluetoothState, [.state: String(describing: bluez.state), .because: "bluetoothd appeared"])
  }

  /// bluetoothd's objects were read, and nothing was known of them.
  private mutating func adopt(_ objects: ManagedObjects) {
    for path in objects.keys.sorted(by: { $0.text.utf8.count == $1.text.utf8.count ? $0 < $1 : $0.text < $1.text }) {
      added(path, objects[path] ?? [:], isNews: false)
    }
    // It is unknown how long these links have been up.
    for path in bluez.devices.connected { bluez.devices[path]?.linkCameUp(unixSeconds: nil) }
    changedEverything()
    probeAdoptedLinks()
    endWhatWasToEnd()
  }

  /// The adapter in use is gone. Another one may have been there all the time, and bluetoothd announces it only once.
  mutating func adoptOtherAdapter(_ result: Result<Reply, BlueZError>) {
    guard bluez.adapter == nil, case .success(.objects(let objects)) = result else { return }
    adopt(objects)
    guard bluez.adapter != nil else { return }
    journal(.bluetoothState, [.state: String(describing: bluez.state), .because: "another adapter"])
  }

  private mutating func bluetoothdVanished() {
    guard bluez.isPresent else { return }
    bluez.isPresent = false
    bluez.forgetObjects()
    forgetAsked()
    _ = calls.forgetAll()
    calls.dropGivenUp()
    pairing.agentIsGone()
    journal(.bluetoothState, [.state: String(describing: bluez.state), .because: "bluetoothd vanished"])
  }

  /// Forgets everything that was asked of bluetoothd or its adapter, because none of it holds any longer.
  private mutating func forgetAsked() {
    // The agent belongs to bluetoothd itself and does not depend on the adapter.
    let open = calls.forgetAll { $0 == .registerAgent }
    changedEverything()
    attempts = PeerTable()
    profile = AcceptListProfile()
    discovery = Discovery()
    sessions = NotifySessions()
    publishing.forgetAll()
    renewals = PeerTable()
    publishedChannels.forgetAsked()
    forgetPairings()
    uncheckedDatabases = []
    leftLinks = []
    newServices = [:]
    healings = PeerTable()
    links = PeerTable()
    capacities = PeerTable()
    rereading = Rereading()
    abandonedReads = AbandonedReads()
    for pending in open {
      strays.add(pending)
      switch pending {
      case .operation(let peer): failCurrentOperation(peer, .peripheralGone)
      case .openChannel(let opening): finish(opening.item, opening.peer, .failed(.peripheralGone))
      default: break
      }
    }
    endSignalReadings()
    expireAllRemoteRequests()
  }

  /// Ends the wait for the adapter once it works, is off on purpose, or has had its time.
  mutating func settleAdapter() {
    guard let until = bluez.adapterAwaitedUntil else { return }
    let isOffOnPurpose = bluez.adapter != nil && (!settings.bluetoothOn || bluez.powerState == .blocked)
    guard bluez.isPowered || isOffOnPurpose || until <= now else { return }
    bluez.adapterAwaitedUntil = nil
    if !bluez.isPowered {
      journal(.bluetoothState, [.state: String(describing: bluez.state), .because: "the adapter is not on"])
    }
  }

  /// Without this journal entry, a user who configured a missing adapter would wait for it and see no reason.
  private mutating func noteMissingAdapter(_ objects: ManagedObjects) {
    guard bluez.adapter == nil, configuration.adapter != .first else { return }
    let present = objects.keys.filter { objects[$0]?[InterfaceName.adapter] != nil }.map { String($0.lastComponent) }
    journal(
      .adapterMissing,
      [.wanted: configuration.adapter.description, .present: present.sorted().joined(separator: " ")])
  }

  // MARK: Objects

  /// - Parameter isNews: the object has just appeared, and was not there already when bluetoothd's objects were read.
  private mutating func added(_ path: ObjectPath, _ interfaces: Interfaces, isNews: Bool) {
    if let properties = interfaces[InterfaceName.adapter] { adapterAdded(path, properties) }
    // bluetoothd announces an adapter before the objects below it.
    guard let adapter = bluez.adapter, path.isWithin(adapter) else { return }
    if let properties = interfaces[InterfaceName.device] { deviceAdded(path, properties, isNews: isNews) }
    for (interface, kind) in BlueZMirror.attributeKinds {
      guard let properties = interfaces[interface] else { continue }
      bluez.addAttribute(path, kind, properties, limit: configuration.mirrorAttributeLimit)
      if let owner = bluez.owners[path], let device = bluez.devices[owner.device],
        let attribute = device.attributes[owner.handle]
      {
        attributeAdded(device.peer, attribute)
        serviceAppeared(attribute, on: device)
        if kind == .service, let uuid = attribute.uuid { healings[device.peer]?.bringsBack(uuid) }
      }
      if let owner = bluez.owners[path], let peer = bluez.devices[owner.device]?.peer,
        kind == .service || healings[peer] != nil
      {
        uncheckedDatabases.insert(peer)
      }
    }
  }

  private mutating func adapterAdded(_ path: ObjectPath, _ properties: Properties) {
    guard bluez.adapter == nil, configuration.adapter.matches(path, properties) else { return }
    bluez.adapter = path
    bluez.hadAdapter = true
    let values = PropertyValues<Adapter1>(properties)
    bluez.isPowered = values.powered ?? false
    bluez.powerState = values.powerState
    bluez.isDiscovering = values.discovering ?? false
    for end in strays.takeEnds() { call(path, end, for: .ignored) }
    if values.pairable == false { setAdapter(\.pairable, true) }
    if bluez.isPowered != settings.bluetoothOn { setAdapter(\.powered, settings.bluetoothOn) }
  }

  private mutating func setAdapter(_ property: KeyPath<Adapter1, Property<Bool>>, _ value: Bool) {
    guard let adapter = bluez.adapter else { return }
    call(adapter, .set(property, to: value), for: .ignored)
  }

  private mutating func deviceAdded(_ path: ObjectPath, _ properties: Properties, isNews: Bool) {
    let values = PropertyValues<Device1>(properties)
    guard let address = values.deviceAddress else { return }
    // bluetoothd has just made the object from an advertisement, so all services that it lists are advertised: none was
    // found over a link.
    let isFirstSighting = isNews && values.has(\.rssi) && values.connected != true && bluez.devices[path] == nil
    let peer = identifier(for: address)
    // A device that an app has asked for is always admitted, however many others there are.
    guard
      bluez.devices[path] != nil || bluez.devices.count < configuration.deviceLimit || peers[peer] != nil
        || isWanted(peer)
    else {
      bluez.refused += 1
      if bluez.refused & (bluez.refused - 1) == 0 {
        journal(.bluetoothCrowded, [.devices: String(bluez.devices.count), .refused: String(bluez.refused)])
      }
      return
    }
    if let old = bluez.devices[path], old.peer != peer, bluez.devicePaths[old.peer] == path {
      bluez.devicePaths[old.peer] = nil
    }
    let old = bluez.devices[path]
    let known = old?.peer == peer ? old : nil
    let path = old?.path ?? path.compactCopy
    var device = Device(
      path: path, peer: peer, properties: properties, attributes: old?.attributes ?? [:],
      gapName: known == nil ? peers[peer]?.gapName : known?.gapName,
      found: isFirstSighting ? [] : known?.found ?? Set(peers[peer]?.foundServices ?? []))
    if device.isConnected {
      device.linkCameUp(unixSeconds: old?.isConnected == true ? old?.connectedUnixSeconds : unixSeconds)
    }
    bluez.devices[path] = device
    bluez.devicePaths[peer] = path
    if peers[peer] == nil, isWanted(peer) { _ = keepPeer(peer, wasRequested: true) }
    if device.isConnected, old?.isConnected != true { capacityOfNewLink(peer) }
    uncheckedDatabases.insert(peer)
    noteNames(of: peer)
    if values.has(\.rssi) { sighted(peer) }
  }

  private mutating func removed(_ path: ObjectPath, _ names: [String]) {
    if names.contains(InterfaceName.adapter), path == bluez.adapter {
      bluez.forgetObjects()
      forgetAsked()
      journal(.bluetoothState, [.state: String(describing: bluez.state), .because: "adapter removed"])
      call(.root, .getManagedObjects, for: .otherAdapter)
      return
    }
    if names.contains(InterfaceName.device), let device = bluez.devices.removeValue(forKey: path) {
      for attribute in device.attributes.values {
        bluez.owners[attribute.path] = nil
        sessions.hasEnded(attribute.path)
      }
      if bluez.devicePaths[device.peer] == path { bluez.devicePaths[device.peer] = nil }
      disarm(device.peer)
      forgetDevice(path, device.peer)
    }
    if names.contains(where: { name in BlueZMirror.attributeKinds.contains { $0.interface == name } }) {
      sessions.hasEnded(path)
      if let (device, attribute) = bluez.removeAttribute(path) {
        uncheckedDatabases.insert(device.peer)
        serviceDisappeared(attribute, from: device)
        attributeRemoved(device.peer, attribute)
      }
    }
  }

  /// Forgets what is only known about a device while bluetoothd shows it.
  private mutating func forgetDevice(_ path: ObjectPath, _ peer: PeerIdentifier) {
    rereading.answered(path)
    _ = abandonedReads.linkEnded(of: path)
    publishing.mark.forgetVisit(of: peer)
    renewals[peer] = nil
    noteEnded(peer)
    guard !isWanted(peer) else { return }
    releasePeer(peer)
    if links[peer]?.hasHistory == false { links[peer] = nil }
    if healings[peer]?.removesDevice != true { healings[peer] = nil }
    if attempts[peer]?.isConnecting != true { attempts[peer] = nil }
  }

  private mutating func propertiesChanged(
    _ path: ObjectPath, _ interface: String, _ changed: Properties, _ invalidated: [String]
  ) {
    switch interface {
    case InterfaceName.adapter where path == bluez.adapter:
      let values = PropertyValues<Adapter1>(changed)
      if let powered = values.powered, powered != bluez.isPowered {
        bluez.isPowered = powered
        if powered { profile.disarmAll() } else { discovery = Discovery() }
        changedEverything()
        journal(.bluetoothState, [.state: String(describing: bluez.state), .because: "Powered"])
      }
      if let isDiscovering = values.discovering {
        bluez.isDiscovering = isDiscovering
        if !isDiscovering { discovery.hasEnded() }
      }
      if values.pairable == false, pairing.takeLossOfPairable() {
        // bluetoothd switches `Pairable` off with its last agent, and does not switch it on again for an agent that
        // registers at once. Pairings would then succeed but leave no bond (seen with 5.82).
        setAdapter(\.pairable, true)
      }
      if values.powerState == .off, bluez.powerState == .blocked, settings.bluetoothOn {
        // rfkill was lifted: ask for power once, not repeatedly.
        setAdapter(\.powered, true)
      }
      do {
        if let state = try values.read(\.powerState) { bluez.powerState = state }
      } catch  where error.found == error.wanted {
        // An unknown word is a state of its own, different from all known ones.
        bluez.powerState = nil
      } catch {}
    case InterfaceName.device: deviceChanged(path, changed, invalidated)
    case InterfaceName.gattCharacteristic, InterfaceName.gattService, InterfaceName.gattDescriptor:
      guard let owner = bluez.owners[path] else { return }
      if changed.keys.contains(where: { $0 != GattCharacteristic1.name(\.value) }) {
        bluez.devices[owner.device]?.attributes[owner.handle]?.update(changed)
        if interface == InterfaceName.gattCharacteristic {
          bluez.devices[owner.device]?.linkShows(mtu: PropertyValues<GattCharacteristic1>(changed).mtu)
        }
      }
      if interface == InterfaceName.gattCharacteristic, let value = PropertyValues<GattCharacteristic1>(changed).value {
        livedUnheard(owner.device)
        valueArrived(path, value)
      }
    default: break
    }
  }

  mutating func deviceChanged(_ path: ObjectPath, _ changed: Properties, _ invalidated: [String]) {
    guard let old = bluez.devices[path] else { return }
    var device = old
    device.update(changed, invalidated: invalidated)
    if !device.isConnected { device.isDisconnecting = false }
    if device.isConnected, !old.isConnected { device.linkCameUp(unixSeconds: unixSeconds) }
    bluez.devices[path] = device
    if device.address != old.address, let address = device.address { readdress(path, old.peer, address) }
    guard let peer = bluez.devices[path]?.peer else { return }
    if device.name != old.name || device.gapName != old.gapName || device.found != old.found { noteNames(of: peer) }
    if device.isBonded != old.isBonded || device.uuids != old.uuids {
      // Only a registration made after pairing, and with these services, arms the device.
      disarm(peer)
      if device.isBonded != old.isBonded { noteBond(peer, isBonded: device.isBonded) }
      bondChanged(peer, isBonded: device.isBonded)
    }
    if device.isConnected != old.isConnected {
      linkChanged(
        peer, isUp: device.isConnected, wasResolved: old.isResolved || device.isResolved, wasEnded: old.isDisconnecting)
    }
    if device.isResolved != old.isResolved {
      uncheckedDatabases.insert(peer)
      if device.isResolved {
        healthOfResolvedLink(peer)
        renewNotifications(of: peer)
        livedUnheard(path)
      }
    }
    if !Device.advertised.isDisjoint(with: changed.keys) {
      sighted(peer)
    } else if !device.isConnected, !Device.alsoAdvertised.isDisjoint(with: changed.keys) {
      // A scan response that was lost at first comes with a signal that is as strong as before.
      reportSighting(peer)
    }
  }

  private mutating func linkChanged(_ peer: PeerIdentifier, isUp: Bool, wasResolved: Bool, wasEnded: Bool) {
    if isUp {
      healthOfNewLink(peer)
      capacityOfNewLink(peer)
      attempts[peer]?.linkCameUp()
      notificationsOfNewLink(peer)
      visitBegan(peer)
    } else {
      deliverHeldValues(of: peer)
      noteEnded(peer)
      leftLinkHasEnded(peer, wasAskedToEnd: wasEnded)
      capacities[peer] = nil
      renewals[peer] = nil
      for other in Array(renewals.keys) { renewals[other]?.countsAnew() }
      attempts[peer]?.linkWentDown()
      healthOfLostLink(peer, wasResolved: wasResolved, wasEnded: wasEnded)
      notificationsOfLostLink(peer)
      failRemoteRequests(from: peer)
      visitEnded(peer)
    }
  }

  /// After bonding, a device is known by its identity address. Its object path stays the same.
  private mutating func readdress(_ path: ObjectPath, _ old: PeerIdentifier, _ address: DeviceAddress) {
    if let known = identifiers[address], known != old, peers[known] != nil, peers[old]?.wasRequested != true {
      bluez.devices[path]?.peer = known
      bluez.devicePaths[old] = nil
      bluez.devicePaths[known] = path
      return
    }
    identifiers.note(old, at: address)
    if var record = peers[old] {
      record.address = address
      peers[old] = record
      persist(.peer(record))
    }
    disarm(old)
  }

  // MARK: Peers

  /// Stores how the peer is called, and which of its services it does not advertise.
  private mutating func noteNames(of peer: PeerIdentifier) {
    guard let device = bluez.device(peer) else { return }
    if let name = device.storedName { identifiers.note(name: name, of: peer) }
    guard let record = peers[peer] else { return }
    var noted = record
    if let name = device.storedName { (noted.name, noted.gapName) = (name, device.storedGAPName) }
    noted.foundServices = device.storedFound
    guard noted != record else { return }
    peers[peer] = noted
    persist(.peer(noted))
    guard noted.name != record.name, let name = noted.name else { return }
    for key in sortedManagers(.central) where held[key, peer]?.isConnected == true {
      tell(key, .nameChanged(peer, name))
    }
  }
}
