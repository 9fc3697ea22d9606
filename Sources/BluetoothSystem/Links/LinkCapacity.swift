import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// The questions that the system asks about a link that is coming up. bluetoothd shows a link about two connection
/// events after it was made, and before it can be used. Reads fail until the attribute protocol works on it, and no
/// notification arrives. Until the MTU is agreed on, notifications are cut to 18 bytes, and a longer write ends after
/// its first piece, with success. bluetoothd announces neither of these moments, but a property shows them:
/// `GattCharacteristic1.MTU` is missing, then 23, then what was agreed on. So whatever can't be sent yet waits, and
/// while something waits, the system asks for that property.
struct LinkCapacity: Sendable, Equatable {
  /// When the link came up.
  let since: Instant
  /// When to ask next; `nil` if nothing waits for the answer, or it is on its way.
  private(set) var askAt: Instant?
  private var isAsked = false
  /// The services are resolved and the last question was asked: what bluetoothd says then is final.
  private(set) var isLast = false
  /// When waiting values for subscribers may be sent without an answer: first the short ones, after `attachPatience`,
  /// and later all, after `patience`. `nil` if none wait.
  private(set) var giveUpAt: Instant?

  init(at now: Instant) { since = now }

  /// Values wait for a link for at most this long. With the slowest usual connection interval of 100 ms, the MTU is agreed
  /// on after half a second.
  static let patience: Duration = .seconds(5)
  /// How long after the link came up a short value waits if there is nothing to ask, because bluetoothd shows no
  /// characteristic of many phones. A short value needs no agreed MTU, only the attribute protocol. That works two
  /// connection events after bluetoothd has shown the link: after 100 ms with bluetoothd's own interval of 50 ms.
  /// (Notifications after 150 ms all arrived, and after 30 ms none.)
  static let attachPatience: Duration = .milliseconds(150)
  /// A larger MTU than this was agreed on. Before an agreement, and if the peer agrees to no more, bluetoothd shows
  /// this one.
  static let unagreed = ATTLimits.defaultMTU

  /// How long to wait before the next question. Connection events are at least 7.5 ms apart, and an answer takes
  /// several.
  private func pause(at now: Instant) -> Duration {
    switch now - since {
    case ..<Duration.seconds(1): .milliseconds(20)
    case ..<Duration.seconds(5): .milliseconds(100)
    default: .seconds(1)
    }
  }

  /// Returns whether to ask now.
  /// - Parameter isHeld: values for subscribers wait.
  mutating func ask(isNeeded: Bool, isHeld: Bool, at now: Instant) -> Bool {
    // A value whose time has come is sent in this very turn, so only later times count.
    giveUpAt = isHeld ? [Self.attachPatience, Self.patience].map { since + $0 }.first { $0 > now } : nil
    guard isNeeded, !isAsked else {
      askAt = nil
      return false
    }
    if let askAt, askAt > now { return false }
    askAt = nil
    isAsked = true
    return true
  }

  /// Returns whether to ask for the last time.
  mutating func askLast() -> Bool {
    giveUpAt = nil
    askAt = nil
    guard !isLast, !isAsked else { return false }
    isLast = true
    isAsked = true
    return true
  }

  mutating func answered(at now: Instant) {
    isAsked = false
    askAt = isLast ? nil : now + pause(at: now)
  }

  /// bluetoothd has answered the last question, or will not be asked.
  var isDone: Bool { isLast && !isAsked }
  var deadline: Instant? { [askAt, giveUpAt].compactMap(\.self).min() }
}

extension BluetoothSystem {
  /// A link is there whose services are not resolved.
  mutating func capacityOfNewLink(_ peer: PeerIdentifier) { capacities[peer] = LinkCapacity(at: now) }

  /// Whether a read, or a value of this many bytes, may go out over the peer's link.
  /// - Parameter bytes: 0 for a read.
  /// - Parameter room: how many bytes fit before the MTU is agreed on.
  func mayCarry(_ bytes: Int, room: Int, _ peer: PeerIdentifier) -> Bool {
    guard let capacity = capacities[peer], let device = bluez.device(peer), device.isConnected, !device.isResolved
    else { return true }
    guard let mtu = device.linkMTU else { return capacity.since + LinkHealth.resolveLimit <= now }
    return mtu > LinkCapacity.unagreed || bytes <= room
  }

  /// Any characteristic of the peer's shows how far the link is.
  private func characteristicToAsk(_ device: Device) -> ObjectPath? {
    device.attributes.values.lazy.filter { $0.kind == .characteristic }.min { $0.handle < $1.handle }?.path
  }

  /// Whether the attribute protocol should work on the peer's link by now, where bluetoothd can't be asked.
  func shouldBeAttached(_ peer: PeerIdentifier) -> Bool {
    guard let capacity = capacities[peer], let device = bluez.device(peer), characteristicToAsk(device) == nil else {
      return false
    }
    return capacity.since + LinkCapacity.attachPatience <= now
  }

  /// Asks bluetoothd about the links for which something waits, and stops asking about those whose MTU is known.
  mutating func reconcileCapacities() {
    for peer in changedPeers().filter({ capacities[$0] != nil }).sorted() {
      guard let capacity = capacities[peer] else { continue }
      guard let device = bluez.device(peer), device.isConnected else {
        capacities[peer] = nil
        continue
      }
      if let mtu = device.linkMTU, mtu > LinkCapacity.unagreed {
        capacities[peer] = nil
        linkCarries(mtu, peer)
        continue
      }
      let characteristic = characteristicToAsk(device)
      guard device.isResolved else {
        let isHeld = heldUpdates.waits(for: peer)
        let isNeeded = characteristic != nil && (isHeld || operationWaitsForLink(peer))
        var next = capacity
        let asks = next.ask(isNeeded: isNeeded, isHeld: isHeld, at: now)
        // An unchanged value is not written back, because every write counts as a change to be looked at again.
        if next != capacity { capacities[peer] = next }
        if asks, let characteristic { askForMTU(characteristic, peer) }
        continue
      }
      // The MTU exchange, the first of every link, is over by now. Without a characteristic there is nothing to ask.
      var last = capacity
      let asksLast = characteristic != nil && matters(peer) && last.askLast()
      if last != capacity { capacities[peer] = last }
      if asksLast, let characteristic {
        askForMTU(characteristic, peer)
      } else if characteristic == nil || !matters(peer) || capacity.isDone {
        capacities[peer] = nil
        if let mtu = device.linkMTU { linkCarries(mtu, peer) }
      }
    }
  }

  /// Whether an app may want to know what the peer's link carries: an app uses the peer, or the peer may subscribe to
  /// what an app publishes. Such a central may be a stranger whose attributes bluetoothd remembers with the MTU that
  /// they had at first.
  private func matters(_ peer: PeerIdentifier) -> Bool { peers[peer] != nil || !publishing.services.isEmpty }

  private func operationWaitsForLink(_ peer: PeerIdentifier) -> Bool {
    switch operations[peer]?.waiting.first?.operation {
    case .readCharacteristic, .writeCharacteristic, .readDescriptor, .writeDescriptor: true
    default: false
    }
  }

  private mutating func askForMTU(_ characteristic: ObjectPath, _ peer: PeerIdentifier) {
    call(characteristic, .getAllProperties(interface: InterfaceName.gattCharacteristic), for: .mtu(peer))
  }

  mutating func mtuRead(_ peer: PeerIdentifier, _ result: Result<Reply, BlueZError>) {
    guard capacities[peer] != nil else { return }
    capacities[peer]?.answered(at: now)
    guard case .success(.properties(let properties)) = result, let path = bluez.devicePaths[peer] else { return }
    bluez.devices[path]?.linkShows(mtu: PropertyValues<GattCharacteristic1>(properties).mtu)
  }

  /// The link's MTU is final. Remembers it for the next link, and tells apps if they took it for another value.
  mutating func linkCarries(_ mtu: Int, _ peer: PeerIdentifier) {
    let before = peers[peer]?.mtu ?? ATTLimits.defaultMTU
    if var record = peers[peer], record.mtu != mtu {
      record.mtu = mtu
      peers[peer] = record
      persist(.peer(record))
    }
    guard before != mtu else { return }
    for key in managers.keys.sorted() {
      guard let manager = managers[key],
        held[key, peer]?.isConnected == true
          || manager.subscribers.values.contains(where: { $0.contains(peer) })
      else { continue }
      tell(key, .mtuChanged(peer, mtu: UInt16(mtu)))
    }
  }

  /// The MTU of the peer's link. As long as that is not known, the MTU of its last link, or else 23, which every link
  /// has.
  func mtu(of peer: PeerIdentifier) -> Int { knownMTU(of: peer) ?? ATTLimits.defaultMTU }

  /// The MTU of the peer's link, or of its last one.
  func knownMTU(of peer: PeerIdentifier) -> Int? {
    let device = bluez.device(peer)
    if let mtu = device?.linkMTU, mtu > LinkCapacity.unagreed || capacities[peer] == nil { return mtu }
    return peers[peer]?.mtu
  }
}
