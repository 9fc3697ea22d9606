import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// The questions about a link that is coming up. bluetoothd shows a link about two connection events after it was made,
/// and before it can be used: reads fail until the attribute protocol works on it, a notification is heard by nobody, and
/// until the MTU is agreed on, notifications are cut to 18 bytes and a longer write ends after its first piece, with
/// success. bluetoothd announces neither of these moments. It shows them, though: `GattCharacteristic1.MTU` is missing,
/// then 23, then what was agreed on. So whatever can't go yet waits, and while something waits, the system asks.
struct LinkCapacity: Sendable, Equatable {
  /// When the link came up.
  let since: Instant
  /// When to ask next; `nil` if nothing waits for the answer, or it is on its way.
  private(set) var askAt: Instant?
  private var isAsked = false
  /// The services are resolved and the last question was asked: what bluetoothd says then is final.
  private(set) var isLast = false
  /// Values for subscribers that wait may go at this time, the short ones or all.
  private(set) var giveUpAt: Instant?

  init(at now: Instant) { since = now }

  /// Values wait for a link for at most this long. With the slowest usual connection interval of 100 ms, the MTU is agreed
  /// on after half a second.
  static let patience: Duration = .seconds(5)
  /// How long after the link came up a value that needs no agreed MTU waits, if there is nothing to ask: bluetoothd shows no
  /// characteristic of many phones. The attribute protocol works on it two connection events after bluetoothd has shown
  /// the link: 100 ms with its own interval of 50 ms. (Notifications after 150 ms were all heard, and after 30 ms none.)
  static let attachPatience: Duration = .milliseconds(150)
  /// An MTU of more than this has been agreed on. Everything else shows as this.
  static let unagreed = ATTLimits.defaultMTU

  /// A connection event is 7.5 ms or more, and an answer takes several.
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
    // What has waited for that long goes in this very turn.
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

  /// Asks bluetoothd how far the links are for which something waits, and ends what is known.
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
        // What has not changed is not written, because whatever is written is looked at again.
        if next != capacity { capacities[peer] = next }
        if asks, let characteristic { askForMTU(characteristic, peer) }
        continue
      }
      // The first exchange of every link is over by now. Without an attribute there is nothing to ask.
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

  /// Whether an app may want to know what the peer's link carries: it knows the peer, or the peer may subscribe to what
  /// it publishes. That central may be a stranger whose attributes bluetoothd remembers, with the MTU that they had at first.
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

  /// What the link carries is final. Remembers it for the next link, and tells apps that took it for something else.
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

  /// The MTU of the peer's link as far as it is known; else that of its last one; else what every link has.
  func mtu(of peer: PeerIdentifier) -> Int {
    let device = bluez.device(peer)
    if let mtu = device?.linkMTU, mtu > LinkCapacity.unagreed || capacities[peer] == nil { return mtu }
    return peers[peer]?.mtu ?? ATTLimits.defaultMTU
  }
}
