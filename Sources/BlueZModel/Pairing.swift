import BlueZ
import BluetoothTypes
import BusValue
import Radio
import TimeTypes

/// Pairing: by `Device1.Pair()`, or because a peer requires security for an attribute.
extension BlueZModel {
  mutating func pair(_ path: ObjectPath, _ pending: PendingCall) {
    guard let device = devices[path] else { return reply(to: pending, .failure(.unknownObject(path))) }
    guard !device.isPaired else { return reply(to: pending, .failure(.alreadyExists)) }
    guard adapter.isPowered else {
      return reply(to: pending, .failure(.authenticationFailed("Authentication Failed")))
    }
    guard device.pairCall == nil, device.bondedCall == nil, device.pendingConnect == nil,
      device.link.flatMap({ links[$0]?.pairing }) == nil
    else { return reply(to: pending, .failure(.inProgress)) }
    devices[path]?.pairCall = pending
    devices[path]?.isTemporary = false
    devices[path]?.rearmParked()
    waitingPairs.append(path)
    beginWaitingPairing()
  }

  /// bluetoothd gives the kernel one command at a time, and a pairing is one command from its beginning to its end. So
  /// `Pair()` of another device waits (src/shared/mgmt.c, can_write_data).
  mutating func beginWaitingPairing() {
    while let path = waitingPairs.first {
      if devices[path]?.pairCall != nil {
        guard !devices.values.contains(where: { $0.pairCall != nil && !waitingPairs.contains($0.path) }) else { return }
      }
      waitingPairs.removeFirst()
      guard let device = devices[path], device.pairCall != nil else { continue }
      if let link = device.link {
        startPairing(link)
      } else {
        devices[path]?.pendingConnect = PendingConnect(caller: nil, deadline: now + configuration.timings.pairing)
        refreshInitiator()
      }
    }
  }

  mutating func cancelPairing(_ path: ObjectPath) -> Result<Reply, BlueZError> {
    guard let device = devices[path], device.pairCall != nil else { return .failure(.doesNotExist) }
    if let link = device.link, links[link]?.pairing != nil || !waitingPairs.contains(path) {
      failPairing(link, SecurityManager.Failure.unspecified, .authenticationCanceled, tellsPeer: true)
    } else {
      failConnect(path, .authenticationCanceled)
    }
    return .success(.none)
  }

  /// A client ends the link that is being paired, or has called `Pair()` and left the bus (src/device.c,
  /// bonding_request_cancel).
  mutating func endPairing(of path: ObjectPath) {
    if devices[path]?.pairCall != nil { _ = cancelPairing(path) }
  }

  mutating func endPairings(for client: ClientIdentifier) {
    for path in devices.keys.sorted() where devices[path]?.pairCall?.client == client { endPairing(of: path) }
  }

  /// Begins pairing as the central. A peripheral asks the central to begin.
  mutating func startPairing(_ identifier: LinkIdentifier) {
    guard let link = links[identifier], link.pairing == nil else { return }
    let agent = agents.agent(for: devices[link.device]?.pairCall?.client)
    links[identifier]?.pairingDeadline = now + configuration.timings.transaction
    guard link.role == .central else {
      return send(Channel.security, [SecurityManager.securityRequest, SecurityManager.authentication], on: identifier)
    }
    let capability = (agent?.capability ?? .noInputNoOutput).ioCapability
    let number = drawBytes(16)
    let pairing = Pairing(
      isInitiator: true, capability: capability, agent: agent, wantsBond: kernel.isPairable, ownNumber: number)
    links[identifier]?.pairing = pairing
    send(Channel.security, pairing.features(SecurityManager.pairingRequest), on: identifier)
  }

  mutating func receiveSecurity(_ payload: [UInt8], on identifier: LinkIdentifier) {
    guard let link = links[identifier], let opcode = payload.first else { return }
    let body = Array(payload.dropFirst())
    switch (opcode, body.count) {
    case (SecurityManager.securityRequest, 1) where link.role == .central: securityRequested(identifier)
    case (SecurityManager.pairingRequest, 6) where link.role == .peripheral:
      pairingRequested(body[0], bonds: body[2] & SecurityManager.bonding != 0, on: identifier)
    case (SecurityManager.pairingResponse, 6):
      guard let pairing = link.pairing, pairing.isInitiator, pairing.peerCapability == nil else { return }
      links[identifier]?.pairing?.peerCapability = body[0]
      links[identifier]?.pairing?.peerWantsBond = body[2] & SecurityManager.bonding != 0
      send(Channel.security, [SecurityManager.pairingRandom] + pairing.ownNumber, on: identifier)
    case (SecurityManager.pairingRandom, 16): numberArrived(body, on: identifier)
    case (SecurityManager.pairingConfirm, 16): roundArrived(body[0], on: identifier)
    case (SecurityManager.keyCheck, 16): checkArrived(body, on: identifier)
    case (SecurityManager.pairingFailed, 1):
      guard link.pairing != nil || link.pairingDeadline != nil || link.isHeld else { return }
      failPairing(identifier, body[0], .authenticationFailed("Authentication Failed"), tellsPeer: false)
    case (SecurityManager.identityInformation, 16):
      guard link.isEncrypted else { return }
      links[identifier]?.pairing?.peerIdentityKey = IdentityResolvingKey(littleEndian: body)
    case (SecurityManager.identityAddress, 7):
      guard link.isEncrypted, let pairing = link.pairing else { return }
      if pairing.isInitiator { distributeKeys(identifier) }
      let bits = body.dropFirst().reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      paired(identifier, DeviceAddress(bits: bits, kind: body[0] == 0 ? .public : .random))
    default: outbox.append(.diagnostic(.malformedPDU(device: link.device)))
    }
  }

  /// The peripheral wants a secure link.
  private mutating func securityRequested(_ identifier: LinkIdentifier) {
    guard let link = links[identifier], !link.isEncrypted, link.pairing == nil, !link.isEncrypting else { return }
    if devices[link.device]?.bond != nil { return startEncryption(identifier) }
    guard kernel.isPairable, agents.defaultAgent != nil else {
      return refusePairing(identifier, SecurityManager.Failure.requirements)
    }
    startPairing(identifier)
  }

  private mutating func pairingRequested(_ capability: UInt8, bonds: Bool, on identifier: LinkIdentifier) {
    guard let link = links[identifier], link.pairing == nil else { return }
    // The kernel refuses bonds only. A pairing without a bond goes on until a user has to be asked.
    guard manners.pairs, kernel.isPairable || !bonds else {
      return refusePairing(identifier, SecurityManager.Failure.notSupported)
    }
    let agent = agents.agent(for: devices[link.device]?.pairCall?.client)
    var pairing = Pairing(
      isInitiator: false, capability: (agent?.capability ?? .noInputNoOutput).ioCapability, agent: agent,
      wantsBond: kernel.isPairable, ownNumber: drawBytes(16))
    pairing.peerCapability = capability
    pairing.peerWantsBond = bonds
    links[identifier]?.pairing = pairing
    links[identifier]?.pairingDeadline = now + configuration.timings.transaction
    send(Channel.security, pairing.features(SecurityManager.pairingResponse), on: identifier)
  }

  private mutating func refusePairing(_ identifier: LinkIdentifier, _ reason: UInt8) {
    guard let device = links[identifier]?.device else { return }
    outbox.append(.diagnostic(.pairingFailed(device: device, reason: reason)))
    send(Channel.security, [SecurityManager.pairingFailed, reason], on: identifier)
  }

  private mutating func numberArrived(_ number: [UInt8], on identifier: LinkIdentifier) {
    guard let link = links[identifier], let key = links[identifier]?.pairing?.take(number: number),
      let pairing = links[identifier]?.pairing
    else { return }
    if !pairing.isInitiator {
      send(Channel.security, [SecurityManager.pairingRandom] + pairing.ownNumber, on: identifier)
      // [General] JustWorksRepairing = never: a bonded peer does not get another bond unasked (src/device.c,
      // device_confirm_passkey).
      if devices[link.device]?.isPaired == true, pairing.method == .justWorks { return userSaidNo(identifier) }
    }
    // Without an agent bluetoothd refuses, also where nobody would be asked (src/device.c, new_auth).
    guard let agent = pairing.agent else { return userSaidNo(identifier) }
    var isAsked = true
    switch pairing.method {
    case .comparison:
      isAsked = askAgent(
        agent, .requestConfirmation(device: link.device, passkey: SecurityManager.comparison(key)), on: identifier)
    case .showsPasskey:
      let passkey = drawBytes(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) } % 1_000_000
      callWithoutAnswer(
        agent.client, agent.path, .displayPasskey(device: link.device, passkey: passkey, entered: 0))
      passkeyIsKnown(passkey, on: identifier)
    case .entersPasskey: isAsked = askAgent(agent, .requestPasskey(device: link.device), on: identifier)
    // A user who did not begin the pairing is asked.
    case .justWorks where devices[link.device]?.pairCall == nil:
      isAsked = askAgent(agent, .requestAuthorization(device: link.device), on: identifier)
    case .justWorks: confirmPairing(identifier)
    }
    if !isAsked { userSaidNo(identifier) }
  }

  private mutating func passkeyIsKnown(_ passkey: UInt32, on identifier: LinkIdentifier) {
    guard let pairing = links[identifier]?.pairing else { return }
    links[identifier]?.pairing?.passkey = passkey
    if pairing.isInitiator {
      send(Channel.security, SecurityManager.round(0), on: identifier)
    } else if pairing.isRoundWaiting {
      roundArrived(0, on: identifier)
    }
  }

  private mutating func roundArrived(_ round: UInt8, on identifier: LinkIdentifier) {
    guard let next = links[identifier]?.pairing?.take(round: round) else { return }
    if let round = next.says { send(Channel.security, SecurityManager.round(round), on: identifier) }
    if next.isLast { confirmPairing(identifier) }
  }

  mutating func agentAnswered(_ identifier: LinkIdentifier, _ result: Result<CallbackReply, BlueZError>) {
    guard let pairing = links[identifier]?.pairing else { return }
    switch result {
    case .success(.passkey(let passkey)) where pairing.method == .entersPasskey && passkey < 1_000_000:
      passkeyIsKnown(passkey, on: identifier)
    case .success where pairing.method != .entersPasskey: confirmPairing(identifier)
    default: userSaidNo(identifier)
    }
  }

  private mutating func userSaidNo(_ identifier: LinkIdentifier) {
    // If an attribute needed the pairing, and no client called `Pair()`, the side that receives the refusal ends the
    // link.
    let isCalledFor = links[identifier].map { devices[$0.device]?.pairCall != nil } ?? false
    failPairing(
      identifier, SecurityManager.Failure.comparison, .authenticationFailed("Authentication Failed"), tellsPeer: true,
      endsLink: isCalledFor)
  }

  private mutating func confirmPairing(_ identifier: LinkIdentifier) {
    guard let check = links[identifier]?.pairing?.confirm() else { return }
    send(Channel.security, [SecurityManager.keyCheck] + check, on: identifier)
    if links[identifier]?.pairing?.mayEncrypt == true { startEncryption(identifier) }
  }

  private mutating func checkArrived(_ check: [UInt8], on identifier: LinkIdentifier) {
    switch links[identifier]?.pairing?.take(check: check) {
    case true?: if links[identifier]?.pairing?.mayEncrypt == true { startEncryption(identifier) }
    case false?:
      failPairing(
        identifier, SecurityManager.Failure.keyCheck, .authenticationFailed("Authentication Failed"), tellsPeer: true)
    case nil: break
    }
  }

  /// Both sides send their identities over the encrypted link.
  mutating func distributeKeys(_ identifier: LinkIdentifier) {
    if configuration.isPrivate {
      send(
        Channel.security, [SecurityManager.identityInformation] + configuration.identityKey.littleEndianBytes,
        on: identifier)
    }
    let address = configuration.address
    let bytes = (0..<6).map { UInt8(truncatingIfNeeded: address.bits >> (8 * UInt64($0))) }
    send(
      Channel.security, [SecurityManager.identityAddress, address.kind == .public ? 0 : 1] + bytes, on: identifier)
  }

  /// The keys are exchanged. The device's path stays as it was, and its address becomes the identity. If one side wants
  /// no bond, the keys last as long as the link.
  private mutating func paired(_ identifier: LinkIdentifier, _ identity: DeviceAddress) {
    guard let link = links[identifier], let pairing = link.pairing, let key = pairing.longTermKey,
      var device = devices[link.device]
    else { return }
    links[identifier]?.pairing = nil
    links[identifier]?.pairingDeadline = nil
    for other in devices.values.filter({ $0.address == identity && $0.path != device.path }).map(\.path).sorted() {
      removeDevice(other)
    }
    let address = pairing.peerIdentityKey == nil ? device.address : identity
    if device.address != address {
      storage.forget(device.address)
      device.address = address
      changed(device.path, \Device1.address, \.addressType)
    }
    if pairing.makesBond {
      device.bond = Bond(longTermKey: key, identityKey: pairing.peerIdentityKey, identityAddress: address)
      device.bond?.isAuthenticated = pairing.isAuthenticated
      device.isTemporary = false
    } else {
      device.isPairedForLink = true
      links[identifier]?.isAuthenticated = pairing.isAuthenticated
    }
    device.bondedCall = device.pairCall
    device.pairCall = nil
    device.isPairedUntold = !device.isResolved
    devices[device.path] = device
    if pairing.makesBond { changed(device.path, \Device1.bonded) }
    if device.isResolved { changed(device.path, \Device1.paired) } else { flushChanges() }
    armIfWanted(device.path)
    store(device.path)
    outbox.append(.diagnostic(.paired(device: device.path)))
    if device.isResolved { finishPair(device.path) }
  }

  mutating func pairingTimedOut(_ identifier: LinkIdentifier) {
    failPairing(
      identifier, SecurityManager.Failure.unspecified, .authenticationFailed("Authentication Failed"),
      tellsPeer: true)
  }

  /// A failed pairing ends the link: the side that receives the failure during the pairing ends it. If both sides
  /// refuse at once, neither does. A request that waited for the pairing is never answered. (Seen with reads.)
  private mutating func failPairing(
    _ identifier: LinkIdentifier, _ reason: UInt8, _ error: BlueZError, tellsPeer: Bool, endsLink: Bool = true
  ) {
    guard let link = links[identifier] else { return }
    if tellsPeer { send(Channel.security, [SecurityManager.pairingFailed, reason], on: identifier) }
    outbox.append(.diagnostic(.pairingFailed(device: link.device, reason: reason)))
    links[identifier]?.pairing = nil
    links[identifier]?.pairingDeadline = nil
    cancelAgents(of: identifier)
    if let call = devices[link.device]?.pairCall {
      devices[link.device]?.pairCall = nil
      reply(to: call, .failure(error))
    }
    links[identifier]?.client.giveUpOnSecurity()
    refuseInsecureChannels(on: identifier)
    guard endsLink else { return startNextTransaction(identifier) }
    tell(.disconnect(configuration.controller, identifier, .authenticationFailure))
    endLink(identifier, .authenticationFailure)
  }

  /// The link of a pairing is gone, whoever ended it: bluetoothd hears of that before the pairing fails (src/adapter.c,
  /// dev_disconnected).
  mutating func endPairing(_ link: Link) {
    cancelAgents(of: link.identifier)
    guard let call = devices[link.device]?.pairCall, devices[link.device]?.pendingConnect == nil else { return }
    devices[link.device]?.pairCall = nil
    reply(to: call, .failure(.authenticationCanceled))
  }
}

extension IdentityResolvingKey {
  var littleEndianBytes: [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: low >> (8 * UInt64($0))) }
      + (0..<8).map { UInt8(truncatingIfNeeded: high >> (8 * UInt64($0))) }
  }

  init(littleEndian bytes: [UInt8]) {
    func word(_ part: ArraySlice<UInt8>) -> UInt64 { part.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: word(bytes[8..<16]), low: word(bytes[0..<8]))
  }
}
