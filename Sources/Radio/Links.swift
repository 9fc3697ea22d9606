import BluetoothTypes
import TimeTypes

extension Radio {
  /// The longest frame, in bytes.
  static let frameLimit = 1024
  /// How many frames may wait at one end of a link. bluetoothd queues what its applications send without a limit; this
  /// limit only bounds the memory.
  static let queueLimit = 32_768

  func areLinked(_ one: ControllerIdentifier, _ other: ControllerIdentifier) -> Bool {
    links.values.contains { $0.role(of: one) != nil && $0.role(of: other) != nil }
  }

  mutating func addLink(
    central: (ControllerIdentifier, DeviceAddress), peripheral: (ControllerIdentifier, DeviceAddress),
    _ parameters: InitiatorParameters, number: UInt64, _ outputs: inout [RadioOutput]
  ) {
    linkCount += 1
    let identifier = LinkIdentifier(linkCount)
    links[identifier] = Link(
      central: central.0, peripheral: peripheral.0, number: number, now: now, interval: parameters.connectionInterval,
      timeout: parameters.supervisionTimeout)
    for (role, own, peer) in [(Link.Role.central, central, peripheral), (.peripheral, peripheral, central)] {
      let linkParameters = LinkParameters(
        link: identifier, role: role, ownAddress: own.1, peerAddress: peer.1,
        connectionInterval: parameters.connectionInterval, supervisionTimeout: parameters.supervisionTimeout)
      outputs.append(RadioOutput(own.0, .connected(linkParameters)))
    }
  }

  mutating func disconnect(
    _ controller: ControllerIdentifier, _ identifier: LinkIdentifier, _ reason: DisconnectReason
  ) throws(Refusal) {
    let role = try end(controller, identifier)
    let isForHosts = reason != .connectionTimeout && reason != .failedToEstablish
    try require(controller, isForHosts, "a host can't end a link for the reason \(reason)")
    // What it sent before is still transmitted; what it sends from now on is not.
    links[identifier]?[role].termination = reason
  }

  mutating func send(
    _ controller: ControllerIdentifier, _ identifier: LinkIdentifier, _ frame: Frame
  ) throws(Refusal) {
    let role = try end(controller, identifier)
    try require(controller, frame.payload.count <= Self.frameLimit, "a frame is longer than \(Self.frameLimit) bytes")
    let waiting = links[identifier]?[role].queue.count ?? 0
    try require(controller, waiting < Self.queueLimit, "more than \(Self.queueLimit) frames wait on a link")
    links[identifier]?[role].queue.append(frame)
  }

  /// The role of a controller whose host still has this link and has not ended it.
  private func end(
    _ controller: ControllerIdentifier, _ identifier: LinkIdentifier
  ) throws(Refusal) -> Link.Role {
    _ = try commanded(controller, toStop: false)
    guard let link = links[identifier], let role = link.role(of: controller), link[role].isOpen,
      link[role].termination == nil
    else { throw Refusal(controller: controller, reason: "no such link") }
    return role
  }

  /// Shuts a controller's ends of its links, without notice to the peers.
  ///
  /// - Parameter alsoEnding: whether to shut also the ends that the host is ending. If not, those stay until the peer
  ///   knows. A host that switches its controller off ends its links first, and does not wait for the peers.
  mutating func dropLinks(of controller: ControllerIdentifier, alsoEnding: Bool) {
    for (identifier, link) in links {
      guard let role = link.role(of: controller), alsoEnding || link[role].termination == nil else { continue }
      links[identifier]?[role].shut()
      if links[identifier]?.isOver == true { forgetUnheard(identifier) }
    }
  }

  private mutating func forgetUnheard(_ identifier: LinkIdentifier) {
    links[identifier] = nil
    hasUnheardEnds = true
  }

  func path(of link: Link) -> Path? {
    takesPart(link.central) && takesPart(link.peripheral) ? way(of: link) : nil
  }

  private func takesPart(_ end: Link.End) -> Bool {
    guard let controller = controllers[end.controller] else { return false }
    return controller.isOnAir || !controller.isShielded && end.termination != nil
  }

  /// The path between the link's ends, even if they can't send or receive now.
  func way(of link: Link) -> Path? { way(between: link.central.controller, and: link.peripheral.controller) }

  /// `nil` if there is no such link.
  private func conditions(of link: LinkIdentifier) -> Link.Conditions? {
    links[link].map { Link.Conditions(physics: physics, path: path(of: $0)) }
  }

  /// Lets all links process what is due by now.
  mutating func passLinks(_ outputs: inout [RadioOutput]) {
    for identifier in links.keys.sorted() {
      // The link is changed in place, because a copy of it would copy its queues.
      guard let conditions = conditions(of: identifier) else { continue }
      var isHeard = false
      for effect in links[identifier]?.pass(to: now.nanoseconds, conditions) ?? [] {
        // A controller that is off tells its host nothing.
        guard let controller = links[identifier]?[effect.role].controller, controllers[controller]?.isPowered == true
        else { continue }
        if case .disconnected = effect { isHeard = true }
        switch effect {
        case .received(_, let frame): outputs.append(RadioOutput(controller, .received(identifier, frame)))
        case .disconnected(_, let reason): outputs.append(RadioOutput(controller, .disconnected(identifier, reason)))
        }
      }
      guard links[identifier]?.isOver == true else { continue }
      if isHeard { links[identifier] = nil } else { forgetUnheard(identifier) }
    }
  }

  mutating func nextLinkDeadline() -> Int64? {
    var earliest: Int64?
    for identifier in Array(links.keys) {
      guard let conditions = conditions(of: identifier),
        let deadline = links[identifier]?.deadline(conditions, after: now.nanoseconds)
      else { continue }
      earliest = min(earliest ?? deadline, deadline)
    }
    return earliest
  }
}
