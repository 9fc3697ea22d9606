import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// Delivery of applications' values: Client Characteristic Configurations, notifications and indications.
extension BlueZModel {
  /// A peer wrote its configuration. The application is asked to notify for every peer that subscribes, but not when a
  /// bonded peer whose configuration is still in memory writes it again (src/gatt-database.c, gatt_ccc_write_cb and
  /// ccc_write_cb).
  mutating func configure(_ handle: AttributeHandle, _ value: UInt16, on link: LinkIdentifier) {
    guard let device = links[link]?.device else { return }
    server.configurations[device, default: [:]][handle] = value == 0 ? nil : value
    refreshServerSubscriptions(hasLeft: false)
  }

  /// Tells applications about peers that have subscribed to their values or have ended that.
  ///
  /// - Parameter hasLeft: whether the subscriptions that have ended did so because the peers' links are gone.
  mutating func refreshServerSubscriptions(hasLeft: Bool) {
    let (new, gone) = server.subscriptionChanges()
    for subscription in gone { endNotifying(subscription, hasLeft: hasLeft) }
    for subscription in new { beginNotifying(subscription) }
  }

  private mutating func beginNotifying(_ subscription: GATTServer.Subscription) {
    let handle = subscription.handle
    guard let attribute = server.database.attribute(handle), attribute.givesNotifyChannel,
      case .application(let client, let path) = attribute.source, let link = devices[subscription.device]?.link
    else { return askToNotify(handle) }
    if channels.channel(.notifiesPeer(handle, link)) != nil {
      server.notifyCounts[handle, default: 0] += 1
    } else {
      _ = call(
        client, path, .acquireNotify(remoteRequest(on: link)), .acquireNotify(handle, link),
        within: configuration.timings.busCall)
    }
  }

  mutating func askToNotify(_ handle: AttributeHandle) {
    server.notifyCounts[handle, default: 0] += 1
    tellApplication(of: handle, .startNotify)
  }

  /// Ends one subscription. If it has a socket, the socket is closed. Otherwise the application is told once its last
  /// subscription has ended. For a peer that has left, bluetoothd 5.82 closes the oldest socket of the value, even if
  /// that one belongs to another peer (bluez#1452).
  private mutating func endNotifying(_ subscription: GATTServer.Subscription, hasLeft: Bool) {
    let handle = subscription.handle
    guard let count = server.notifyCounts[handle], count > 0 else { return }
    let link = devices[subscription.device]?.link
    let sockets = channels.all { use in
      if case .notifiesPeer(handle, let peer) = use { hasLeft || peer == link } else { false }
    }
    server.notifyCounts[handle] = count - 1
    if let socket = sockets.first {
      close(socket)
    } else if count == 1 {
      tellApplication(of: handle, .stopNotify)
    }
  }

  private mutating func tellApplication(of handle: AttributeHandle, _ callback: Callback) {
    guard case .application(let client, let path)? = server.database.attribute(handle)?.source else { return }
    callWithoutAnswer(client, path, callback)
  }

  /// An application changed a Value. Every subscriber gets it; one whose link is not encrypted yet gets it once it
  /// is.
  mutating func applicationValueChanged(_ path: ObjectPath, _ value: [UInt8], from client: ClientIdentifier) {
    guard let attribute = server.value(at: path, of: client) else { return }
    for link in links.keys.sorted() { notify(attribute, value, on: link, .application(client, path)) }
  }

  /// Sends a value to a peer, if it is subscribed.
  ///
  /// - Parameter confirmation: who is told when the peer confirms it.
  mutating func notify(
    _ attribute: LocalAttribute, _ value: [UInt8], on identifier: LinkIdentifier, _ confirmation: Indications.Receiver
  ) {
    guard let link = links[identifier],
      // Seen on bluetoothd, eight times of eight: before the attribute protocol works, nobody hears the value, and before
      // the MTU is agreed on, it is cut.
      link.isAttached,
      let configuration = server.configurations[link.device]?[attribute.handle], configuration != 0
    else { return }
    if configuration & 1 != 0, attribute.properties.contains(.notify) {
      // Towards another bluetoothd every notification is a Handle Multiple Value Notification, with four bytes before
      // the value.
      let header = link.isOfAnotherKind ? 3 : 5
      send(.notification(attribute.handle, Array(value.prefix(link.mtu - header))), on: identifier)
    } else if configuration & 2 != 0, attribute.properties.contains(.indicate) {
      queueIndication(attribute.handle, Array(value.prefix(link.mtu - 3)), confirmation, on: identifier)
    }
  }

  mutating func queueIndication(
    _ handle: AttributeHandle, _ value: [UInt8], _ receiver: Indications.Receiver, on link: LinkIdentifier
  ) {
    links[link]?.server.indications.append(Indications.Indication(handle: handle, value: value, receiver: receiver))
    sendNextIndication(link)
  }

  private mutating func sendNextIndication(_ link: LinkIdentifier) {
    if let pdu = links[link]?.server.indications.next() { send(pdu, on: link) }
  }

  mutating func indicationConfirmed(on link: LinkIdentifier) {
    guard let done = links[link]?.server.indications.confirm() else { return }
    switch done.receiver {
    case .application(let client, let path): callWithoutAnswer(client, path, .confirm)
    case .channel(let channel): if channels.open[channel] != nil { outbox.append(.channel(.data(channel, [1]))) }
    case .nobody: break
    }
    sendNextIndication(link)
  }
}

/// Indications are sent one at a time, each after the previous one was confirmed.
struct Indications: Sendable {
  /// Who is told of the confirmation.
  enum Receiver: Sendable {
    case application(ClientIdentifier, ObjectPath)
    /// The socket through which the value came. It gets one byte.
    case channel(ChannelIdentifier)
    case nobody
  }

  struct Indication: Sendable {
    var handle: AttributeHandle
    var value: [UInt8]
    var receiver: Receiver
  }

  private var queue: [Indication] = []
  private var awaitsConfirmation = false

  mutating func append(_ indication: Indication) { queue.append(indication) }

  /// The indication to send now, or `nil` if one is under way or none is queued.
  mutating func next() -> ATTPDU? {
    guard !awaitsConfirmation, let next = queue.first else { return nil }
    awaitsConfirmation = true
    return .indication(next.handle, next.value)
  }

  /// The peer has confirmed. Returns the confirmed indication, or `nil` if none was under way.
  mutating func confirm() -> Indication? {
    guard awaitsConfirmation, !queue.isEmpty else { return nil }
    awaitsConfirmation = false
    return queue.removeFirst()
  }
}
