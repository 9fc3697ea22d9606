import BlueZ
import BluetoothTypes
import BusValue
import Radio
import Timekeeping

/// Pairing: by `Device1.Pair()`, or because a peer wants security for an attribute.
extension BlueZModel {
  mutating func pair(_ path: ObjectPath, _ pending: PendingCall) {
    guard adapter.isPowered else { return reply(to: pending, .failure(.notReady)) }
    guard let device = devices[path] else { return reply(to: pending, .failure(.unknownObject(path))) }
    guard device.bond == nil else { return reply(to: pending, .failure(.alreadyExists)) }
    guard device.pairCall == nil, device.pendingConnect == nil,
      device.link.flatMap({ links[$0]?.pairing }) == nil
    else { return reply(to: pending, .failure(.inProgress)) }
    devices[path]?.pairCall = pending
    devices[path]?.isTemporary = false
    rearmParked(path)
    if let link = device.link {
      startPairing(link)
    } else {
      devices[path]?.pendingConnect = PendingConnect(caller: nil, deadline: now + configuration.timings.connect)
      refreshInitiator()
    }
  }

  mutating func cancelPairing(_ path: ObjectPath) -> Result<Reply, BlueZError> {
    guard let device = devices[path], device.pairCall != nil else { return .failure(.doesNotExist) }
    if let link = device.link {
      failPairing(link, SecurityManager.Failure.unspecified, .authenticationCanceled, tellsPeer: true)
    } else {
      failConnect(path, .authenticationCanceled)
    }
    return .success(.none)
  }

  /// Begins as the central; as the peripheral asks the central to.
  mutating func startPairing(_ identifier: LinkIdentifier) {
    guard let link = links[identifier], link.pairing == nil else { return }
    let agent = agent(for: devices[link.device]?.pairCall?.client)
    links[identifier]?.pairingDeadline = now + configuration.timings.transaction
    guard link.role == .central else {
      return send(Channel.security, [SecurityManager.securityRequest, SecurityManager.authentication], on: identifier)
    }
    let capability = (agent?.capability ?? .noInputNoOutput).ioCapability
    let number = drawBytes(16)
    links[identifier]?.pairing = Pairing(isInitiator: true, capability: capability, agent: agent, ownNumber: number)
    send(Channel.security, SecurityManager.features(SecurityManager.pairingRequest, capability), on: identifier)
  }

  mutating func receiveSecurity(_ payload: [UInt8], on identifier: LinkIdentifier) {
    guard let link = links[identifier], let opcode = payload.first else { return }
    let body = Array(payload.dropFirst())
    switch (opcode, body.count) {
    case (SecurityManager.securityRequest, 1) where link.role == .central: securityRequested(identifier)
    case (SecurityManager.pairingRequest, 6) where link.role == .peripheral: pairingRequested(body[0], on: identifier)
    case (SecurityManager.pairingResponse, 6):
      guard let pairing = link.pairing, pairing.isInitiator, pairing.peerCapability == nil else { return }
      links[identifier]?.pairing?.peerCapability = body[0]
      send(Channel.security, [SecurityManager.pairingRandom] + pairing.ownNumber, on: identifier)
    case (SecurityManager.pairingRandom, 16): numberArrived(body, on: identifier)
    case (SecurityManager.keyCheck, 16): checkArrived(body, on: identifier)
    case (SecurityManager.pairingFailed, 1):
      guard link.pairing != nil || link.pairingDeadline != nil || link.isHeld else { return }
      failPairing(identifier, body[0], .authenticationFailed("Authentication Failed"), tellsPeer: false)
    case (SecurityManager.identityInformation, 16):
      guard link.isEncrypted else { return }
      links[identifier]?.pairing?.peerIdentityKey = IdentityResolvingKey(littleEndian: body)
    case (SecurityManager.identityAddress, 7):
      guard link.isEncrypted else { return }
      let bits = body.dropFirst().reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      paired(identifier, DeviceAddress(bits: bits, kind: body[0] == 0 ? .public : .random))
    default: effects.append(.diagnostic(.malformedPDU(device: link.device)))
    }
  }

  /// The peripheral wants the link secure.
  private mutating func securityRequested(_ identifier: LinkIdentifier) {
    guard let link = links[identifier], !link.isEncrypted, link.pairing == nil, !link.isEncrypting else { return }
    if devices[link.device]?.bond != nil { return startEncryption(identifier) }
    guard adapter.isPairable, agents.defaultAgent != nil else {
      return refusePairing(identifier, SecurityManager.Failure.requirements)
    }
    startPairing(identifier)
  }

  private mutating func pairingRequested(_ capability: UInt8, on identifier: LinkIdentifier) {
    guard let link = links[identifier], link.pairing == nil else { return }
    guard adapter.isPairable else { return refusePairing(identifier, SecurityManager.Failure.notSupported) }
    guard let agent = agent(for: devices[link.device]?.pairCall?.client) else {
      return refusePairing(identifier, SecurityManager.Failure.requirements)
    }
    var pairing = Pairing(
      isInitiator: false, capability: agent.capability.ioCapability, agent: agent, ownNumber: drawBytes(16))
    pairing.peerCapability = capability
    // [General] JustWorksRepairing = never: who has a bond does not get another one unasked.
    guard devices[link.device]?.bond == nil || pairing.comparesNumbers else {
      return refusePairing(identifier, SecurityManager.Failure.requirements)
    }
    links[identifier]?.pairing = pairing
    links[identifier]?.pairingDeadline = now + configuration.timings.transaction
    send(
      Channel.security, SecurityManager.features(SecurityManager.pairingResponse, pairing.capability), on: identifier)
  }

  private mutating func refusePairing(_ identifier: LinkIdentifier, _ reason: UInt8) {
    guard let device = links[identifier]?.device else { return }
    effects.append(.diagnostic(.pairingFailed(device: device, reason: reason)))
    send(Channel.security, [SecurityManager.pairingFailed, reason], on: identifier)
  }

  private mutating func numberArrived(_ number: [UInt8], on identifier: LinkIdentifier) {
    guard let link = links[identifier], let pairing = link.pairing, pairing.peerCapability != nil,
      pairing.longTermKey == nil
    else { return }
    if !pairing.isInitiator {
      send(Channel.security, [SecurityManager.pairingRandom] + pairing.ownNumber, on: identifier)
    }
    let key =
      pairing.isInitiator
      ? SecurityManager.longTermKey(pairing.ownNumber, number) : SecurityManager.longTermKey(number, pairing.ownNumber)
    links[identifier]?.pairing?.longTermKey = key
    if pairing.comparesNumbers, let agent = pairing.agent {
      askAgent(
        agent, .requestConfirmation(device: link.device, passkey: SecurityManager.comparison(key)), on: identifier)
    } else if !pairing.isInitiator, let agent = pairing.agent, agent.capability != .noInputNoOutput {
      askAgent(agent, .requestAuthorization(device: link.device), on: identifier)
    } else {
      confirmPairing(identifier)
    }
  }

  mutating func agentAnswered(_ identifier: LinkIdentifier, _ result: Result<CallbackReply, BlueZError>) {
    guard links[identifier]?.pairing != nil else { return }
    switch result {
    case .success: confirmPairing(identifier)
    case .failure(let error):
      failPairing(
        identifier, SecurityManager.Failure.comparison,
        error == .canceled ? .authenticationCanceled : .authenticationRejected, tellsPeer: true)
    }
  }

  private mutating func confirmPairing(_ identifier: LinkIdentifier) {
    guard let pairing = links[identifier]?.pairing, let key = pairing.longTermKey else { return }
    links[identifier]?.pairing?.isConfirmedHere = true
    send(
      Channel.security, [SecurityManager.keyCheck] + SecurityManager.check(key, isInitiator: pairing.isInitiator),
      on: identifier)
    encryptIfConfirmed(identifier)
  }

  private mutating func checkArrived(_ check: [UInt8], on identifier: LinkIdentifier) {
    guard let pairing = links[identifier]?.pairing, let key = pairing.longTermKey else { return }
    guard check == SecurityManager.check(key, isInitiator: !pairing.isInitiator) else {
      return failPairing(
        identifier, SecurityManager.Failure.keyCheck, .authenticationFailed("Authentication Failed"), tellsPeer: true)
    }
    links[identifier]?.pairing?.isConfirmedThere = true
    encryptIfConfirmed(identifier)
  }

  private mutating func encryptIfConfirmed(_ identifier: LinkIdentifier) {
    guard let pairing = links[identifier]?.pairing, pairing.isConfirmedHere, pairing.isConfirmedThere,
      pairing.isInitiator
    else { return }
    startEncryption(identifier)
  }

  /// Over the encrypted link both say who they are.
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

  /// The bond is made. The device's path stays what it was, its address becomes the identity.
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
      storage.devices.removeAll { $0.address == device.address }
      device.address = address
      changed(device.path, InterfaceName.device, "Address", "AddressType")
    }
    device.bond = Bond(longTermKey: key, identityKey: pairing.peerIdentityKey, identityAddress: address)
    device.isTemporary = false
    let call = device.pairCall
    device.pairCall = nil
    devices[device.path] = device
    changed(device.path, InterfaceName.device, "Bonded", "Paired")
    armIfWanted(device.path)
    store(device.path)
    effects.append(.diagnostic(.paired(device: device.path)))
    if let call { reply(to: call, .success(.none)) }
  }

  mutating func pairingTimedOut(_ identifier: LinkIdentifier) {
    failPairing(
      identifier, SecurityManager.Failure.unspecified, .authenticationFailed("Authentication Timeout"),
      tellsPeer: true)
  }

  /// A pairing that fails takes the link with it, where this side is the central.
  private mutating func failPairing(
    _ identifier: LinkIdentifier, _ reason: UInt8, _ error: BlueZError, tellsPeer: Bool
  ) {
    guard let link = links[identifier] else { return }
    if tellsPeer { send(Channel.security, [SecurityManager.pairingFailed, reason], on: identifier) }
    effects.append(.diagnostic(.pairingFailed(device: link.device, reason: reason)))
    links[identifier]?.pairing = nil
    links[identifier]?.pairingDeadline = nil
    cancelAgents(of: identifier)
    if let call = devices[link.device]?.pairCall {
      devices[link.device]?.pairCall = nil
      reply(to: call, .failure(error))
    }
    guard link.role == .central || link.client.awaitsSecurity else { return }
    tell(.disconnect(configuration.controller, identifier, .authenticationFailure))
    endLink(identifier, .authenticationFailure)
  }

  /// The link of a pairing is gone.
  mutating func endPairing(_ link: Link, _ reason: DisconnectReason) {
    cancelAgents(of: link.identifier)
    guard let call = devices[link.device]?.pairCall, devices[link.device]?.pendingConnect == nil else { return }
    devices[link.device]?.pairCall = nil
    reply(to: call, .failure(.authenticationFailed("Authentication Failed")))
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
