import BluetoothTypes
import TimeTypes

/// A controller's search for a device to connect to.
struct Initiator: Sendable {
  let parameters: InitiatorParameters
  let window: ListeningWindow

  /// Whether an advertiser with this address is one of the wanted ones.
  func wants(_ advertiser: OwnAddress, at now: Instant) -> Bool {
    if parameters.targets.contains(.address(advertiser.address(at: now))) { return true }
    switch advertiser {
    case .resolvable(let key): return parameters.targets.contains(.identity(key))
    case .fixed(let address):
      // A fixed address may once have been made from a key.
      guard address.isResolvablePrivate else { return false }
      return parameters.targets.contains { target in
        if case .identity(let key) = target { return ResolvableAddress.resolves(address, with: key) }
        return false
      }
    }
  }
}

extension Radio {
  /// The most targets of an initiator. A controller's accept list holds some tens or hundreds, but when it is full
  /// Linux scans without the filter and compares addresses itself, so a host can wait for more.
  static let targetLimit = 8192

  mutating func setInitiator(_ identifier: ControllerIdentifier, _ parameters: InitiatorParameters?) throws(Refusal) {
    let isStop = parameters?.targets.isEmpty != false
    let controller = try commanded(identifier, toStop: isStop)
    guard !isStop, let parameters else {
      controllers[identifier]?.initiator = nil
      return
    }
    try require(
      identifier, parameters.targets.count <= Self.targetLimit, "more than \(Self.targetLimit) targets to connect to")
    try requireScan(identifier, parameters.scanInterval, parameters.scanWindow)
    // Vol 4, Part E, 7.8.12.
    try require(
      identifier,
      parameters.connectionInterval >= .microseconds(7500) && parameters.connectionInterval <= .seconds(4),
      "connection interval is not within 7.5 ms to 4 s")
    try require(
      identifier, parameters.supervisionTimeout >= .milliseconds(100) && parameters.supervisionTimeout <= .seconds(32),
      "supervision timeout is not within 100 ms to 32 s")
    try require(
      identifier, parameters.supervisionTimeout > parameters.connectionInterval * 2,
      "supervision timeout is not longer than two connection intervals")
    var draws = RandomDraws(seed, DrawPurpose.initiatorPhase, controller.number, UInt64(bitPattern: now.nanoseconds))
    let window = ListeningWindow(
      interval: parameters.scanInterval, window: parameters.scanWindow, phase: draws.unit(), now: now)
    controllers[identifier]?.initiator = Initiator(parameters: parameters, window: window)
  }

  /// An advertisement that initiators may answer with a connection request. If several do, the advertiser hears the
  /// strongest.
  mutating func connect(
    _ set: AdvertisingSet, _ handle: UInt8, of advertiser: ControllerIdentifier,
    heardBy initiators: [(controller: ControllerIdentifier, signal: Double)], _ outputs: inout [RadioOutput]
  ) {
    let strongestFirst = initiators.sorted { ($1.signal, $0.controller) < ($0.signal, $1.controller) }
    for (identifier, signal) in strongestFirst {
      guard let controller = controllers[identifier], let initiator = controller.initiator,
        initiator.wants(set.parameters.ownAddress, at: now)
      else { continue }
      var draws = set.draws(DrawPurpose.advertisementAtInitiator, at: set.next, controller.number)
      // The advertisement one way and the request the other way. A lost request leaves both sides as they were.
      guard physics.receive(signal, &draws) != nil, physics.receive(signal, &draws) != nil else { continue }
      switch controllers[advertiser]?.manners.connecting ?? .accepts {
      case .accepts: break
      case .ignores: continue
      case .refuses:
        let address = set.parameters.ownAddress.address(at: now)
        refusals.append(ConnectionRefusal(initiator: identifier, advertiser: advertiser, address: address))
        continue
      }
      controllers[identifier]?.initiator = nil
      controllers[advertiser]?.advertisingSets[handle] = nil
      let peripheralAddress = set.parameters.ownAddress.address(at: now)
      let centralAddress = initiator.parameters.ownAddress.address(at: now)
      addLink(
        central: (identifier, centralAddress), peripheral: (advertiser, peripheralAddress), initiator.parameters,
        number: draws.next(), &outputs)
      return
    }
  }
}
