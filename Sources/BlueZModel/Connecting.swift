import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// `Device1.Connect()` and `Disconnect()`, and what the beginning and end of a link do.
extension BlueZModel {
  mutating func connect(_ path: ObjectPath, _ pending: PendingCall) {
    guard adapter.isPowered else { return reply(to: pending, .failure(.failed("Input/output error"))) }
    guard let device = devices[path] else { return reply(to: pending, .failure(.unknownObject(path))) }
    guard device.pendingConnect == nil, device.pairCall == nil else {
      return reply(to: pending, .failure(.inProgress))
    }
    devices[path]?.rearmParked()
    devices[path]?.isTemporary = false
    if let link = device.link {
      adopt(link)
      refreshInitiator()
      return reply(to: pending, .success(.none))
    }
    devices[path]?.pendingConnect = PendingConnect(caller: pending, deadline: now + configuration.timings.connect)
    armIfWanted(path)
    refreshInitiator()
  }

  /// Fails a pending `Connect()` or `Pair()`. A device without a bond becomes temporary again, and is removed soon.
  ///
  /// - Parameters:
  ///   - error: of `Connect()`.
  ///   - pairingError: of `Pair()`, which has errors of its own (src/device.c, new_authentication_return).
  mutating func failConnect(
    _ path: ObjectPath, _ error: BlueZError, pairingError: BlueZError = .authenticationCanceled
  ) {
    guard let device = devices[path], device.pairCall != nil || device.pendingConnect != nil else { return }
    devices[path]?.pendingConnect = nil
    devices[path]?.pairCall = nil
    // A blocked device stays on the bus, unless a pairing has failed.
    if !device.isBlocked || device.pairCall != nil { makeTemporaryIfUnwanted(path) }
    if devices[path]?.isTemporary == true { devices[path]?.vanishesAt = now + configuration.timings.failedDevice }
    if let call = device.pendingConnect?.caller { reply(to: call, .failure(error)) }
    if let call = device.pairCall { reply(to: call, .failure(pairingError)) }
    refreshInitiator()
  }

  /// A device that is not connected is disconnected and disarmed as well, whether the adapter is on or not.
  mutating func disconnect(_ path: ObjectPath, _ pending: PendingCall) {
    guard devices[path] != nil else { return reply(to: pending, .failure(.unknownObject(path))) }
    if devices[path]?.isToBeParked == true {
      disarm(path)
      devices[path]?.isAutoConnectParked = true
    }
    endPairing(of: path)
    if devices[path]?.link == nil {
      failConnect(path, .failed("br-connection-canceled"))
      refreshInitiator()
      return reply(to: pending, .success(.none))
    }
    devices[path]?.disconnectCalls.append(pending)
    scheduleDisconnection(of: path)
  }

  mutating func scheduleDisconnection(of path: ObjectPath) {
    guard devices[path]?.disconnectDeadline == nil else { return }
    devices[path]?.disconnectDeadline = now + configuration.timings.disconnect
  }

  mutating func disconnectNow(_ path: ObjectPath) {
    devices[path]?.disconnectDeadline = nil
    guard let link = devices[path]?.link else { return }
    endLinkLocally(link, .remoteUserTerminated)
  }

  /// This side ends a link.
  mutating func endLinkLocally(_ link: LinkIdentifier, _ reason: DisconnectReason) {
    tell(.disconnect(configuration.controller, link, reason))
    endLink(link, .localHostTerminated)
  }

  mutating func linkUp(_ parameters: LinkParameters) {
    if parameters.role == .central { kernel.initiator = nil }
    guard isRunning, kernel.isPlugged else {
      return kernel.hold(parameters, until: now + configuration.timings.orphanedLink)
    }
    if parameters.role == .peripheral { advertising.stop(at: now) }
    let known = device(onAir: parameters.peerAddress)
    let path = known ?? makeDevice(parameters.peerAddress)
    guard devices[path]?.link == nil, devices[path]?.isBlocked != true else {
      tell(.disconnect(configuration.controller, parameters.link, .remoteUserTerminated))
      refuseBlocked(path)
      return refreshInitiator()
    }
    var link = Link(parameters, device: path)
    link.isHeld = devices[path]?.bond != nil
    links[parameters.link] = link
    if parameters.role == .central { entryServed(path) }
    devices[path]?.link = parameters.link
    devices[path]?.lastSeen = now
    devices[path]?.vanishesAt = nil
    if known == nil { added(path) } else { changed(path, \Device1.connected) }
    refreshInitiator()
    askForFeatures(parameters.link)
  }

  /// A client asked for a link to a blocked device. The link came up and was ended at once, so the call fails. `Pair()`
  /// fails later, because the kernel's pairing command ends only by its timeout.
  private mutating func refuseBlocked(_ path: ObjectPath) {
    guard let device = devices[path], device.isBlocked else { return }
    failAddressConnection(device.address)
    guard device.pairCall != nil else { return failConnect(path, .failed("le-connection-abort-by-local")) }
    devices[path]?.pendingConnect?.isRefused = true
    devices[path]?.pendingConnect?.deadline = now + configuration.timings.refusedPairing
  }

  /// A pending `Connect()`, or the connection of a pending `Pair()`, has had its time.
  mutating func connectTimedOut(_ path: ObjectPath) {
    failConnect(path, .failed("le-connection-abort-by-local"), pairingError: .authenticationTimeout)
  }

  /// The controllers know each other's features, two connection events after the link came up. Only now does the kernel
  /// have the link's channels.
  mutating func featuresAreKnown(_ identifier: LinkIdentifier) {
    guard let link = links[identifier], !link.isAttached else { return }
    links[identifier]?.isAttached = true
    links[identifier]?.earlyFrames = []
    linkShowsMTU(link.device)
    attach(identifier)
    if link.isHeld {
      startEncryption(identifier)
    } else {
      connected(identifier)
    }
    for frame in link.earlyFrames { receive(frame, on: identifier) }
  }

  /// The attribute protocol works on the link, so pending `Connect()` calls are answered.
  mutating func connected(_ identifier: LinkIdentifier) {
    guard let path = links[identifier]?.device, let device = devices[path] else { return }
    let caller = device.pendingConnect?.caller
    devices[path]?.pendingConnect = nil
    if let caller { reply(to: caller, .success(.none)) }
    addressConnected(path)
    if device.pairCall != nil, device.bond == nil, links[identifier]?.pairing == nil, !waitingPairs.contains(path) {
      startPairing(identifier)
    }
  }

  mutating func linkDown(_ identifier: LinkIdentifier, _ reason: DisconnectReason) {
    kernel.orphans[identifier] = nil
    orphanEnded(identifier, reason)
  }

  /// Everything that depends on a link ends with it. The device's own state stays.
  mutating func endLink(_ identifier: LinkIdentifier, _ reason: DisconnectReason) {
    guard let link = links[identifier] else { return }
    let path = link.device
    for call in links[identifier]?.commands.takeAll() ?? [] { reply(to: call, .success(.none)) }
    links[identifier] = nil
    kernel.orphans[identifier] = nil
    endPairing(link)
    endCreditChannels(of: identifier)
    if link.role == .peripheral { refreshAdvertising() }
    guard let device = devices[path] else {
      endServing(link)
      return failTransactions(of: link)
    }
    let wasResolved = device.isResolved
    devices[path]?.link = nil
    devices[path]?.isResolved = false
    devices[path]?.lastSeen = now
    devices[path]?.disconnectDeadline = nil
    devices[path]?.disconnectCalls = []
    devices[path]?.removalCalls = []
    if wasResolved { changed(path, \Device1.servicesResolved) }
    if device.isPairedForLink {
      devices[path]?.isPairedForLink = false
      changed(path, \Device1.paired)
    }
    changed(path, \Device1.connected)
    // Only when the loss is told do applications hear that a subscriber has left (seen three times on bluetoothd).
    endServing(link)
    linkShowsMTU(path)
    failTransactions(of: link)
    endBattery(of: path)
    closeChannels(of: path)
    devices[path]?.loseSessionsLink()
    failAddressConnection(device.address)
    // The link dropped while Connect() waited for it to be usable.
    if device.pendingConnect != nil {
      failConnect(
        path, .failed(reason == .localHostTerminated ? "br-connection-canceled" : "le-connection-abort-by-local"))
    }
    finishPair(path)
    for call in device.disconnectCalls { reply(to: call, .success(.none)) }
    if device.bond == nil {
      // Seen on bluetoothd: after a loss it does not reconnect to an unbonded peer.
      disarm(path)
      if !device.isBlocked { makeTemporaryIfUnwanted(path) }
    }
    if let caller = device.removalCalls.first {
      for call in device.removalCalls.dropFirst() { reply(to: call, .success(.none)) }
      return removeDevice(path, for: caller)
    }
    refreshInitiator()
  }

  private mutating func makeTemporaryIfUnwanted(_ path: ObjectPath) {
    guard let device = devices[path], device.bond == nil, !device.isTrusted, device.link == nil else { return }
    devices[path]?.isTemporary = true
    devices[path]?.lastSeen = now
    disarm(path)
  }
}
