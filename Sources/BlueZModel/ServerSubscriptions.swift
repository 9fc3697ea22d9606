import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// Delivery of applications' values: Client Characteristic Configurations, notifications and indications.
extension BlueZModel {
  /// A peer wrote its configuration. The application gets StartNotify only with the first subscriber, so not when a
  /// bonded peer whose configuration is still in memory writes it again.
  mutating func configure(_ handle: AttributeHandle, _ value: UInt16, on link: LinkIdentifier) {
    guard let device = links[link]?.device else { return }
    server.configurations[device, default: [:]][handle] = value == 0 ? nil : value
    refreshServerSubscriptions()
  }

  /// Tells applications which of their values gained their first or lost their last subscriber.
  mutating func refreshServerSubscriptions() {
    let (new, gone) = server.subscriptionChanges()
    for handle in gone {
      if let channel = channels.channel(.notifiesPeers(handle)) {
        close(channel)
      } else {
        tellApplication(of: handle, .stopNotify)
      }
    }
    for handle in new { beginNotifying(handle) }
  }

  private mutating func beginNotifying(_ handle: AttributeHandle) {
    guard let attribute = server.database.attribute(handle), attribute.givesNotifyChannel,
      case .application(let client, let path) = attribute.source,
      let link = links.values.filter({ server.configurations[$0.device]?[handle] ?? 0 != 0 }).map(\.identifier).min()
    else { return tellApplication(of: handle, .startNotify) }
    _ = call(
      client, path, .acquireNotify(remoteRequest(on: link)), .acquireNotify(handle),
      within: configuration.timings.application)
  }

  mutating func tellApplication(of handle: AttributeHandle, _ callback: Callback) {
    guard case .application(let client, let path)? = server.database.attribute(handle)?.source else { return }
    callWithoutAnswer(client, path, callback)
  }

  /// An application changed a Value. Every subscriber gets it; one whose link is not encrypted yet gets it once it
  /// is.
  mutating func applicationValueChanged(_ path: ObjectPath, _ value: [UInt8], from client: ClientIdentifier) {
    if let attribute = server.value(at: path, of: client) { notify(attribute, value) }
  }

  /// A value came through an application's socket.
  mutating func notifyPeers(_ handle: AttributeHandle, _ value: [UInt8]) {
    if let attribute = server.database.attribute(handle) { notify(attribute, value) }
  }

  private mutating func notify(_ attribute: LocalAttribute, _ value: [UInt8]) {
    for identifier in links.keys.sorted() {
      guard let link = links[identifier],
        let configuration = server.configurations[link.device]?[attribute.handle]
      else { continue }
      guard configuration != 0 else { continue }
      // Seen on bluetoothd, eight times of eight: before the attribute protocol works, nobody hears the value, and before
      // the MTU is agreed on, it is cut.
      guard link.isAttached else { continue }
      sendValue(value, of: attribute, configuration, on: identifier)
    }
  }

  private mutating func sendValue(
    _ value: [UInt8], of attribute: LocalAttribute, _ configuration: UInt16, on identifier: LinkIdentifier
  ) {
    guard let link = links[identifier] else { return }
    if configuration & 1 != 0, attribute.properties.contains(.notify) {
      // Towards another bluetoothd every notification is a Handle Multiple Value Notification, with four bytes before
      // the value.
      send(.notification(attribute.handle, Array(value.prefix(link.mtu - 5))), on: identifier)
    } else if configuration & 2 != 0, attribute.properties.contains(.indicate) {
      queueIndication(
        attribute.handle, Array(value.prefix(link.mtu - 3)), attribute.source, on: identifier)
    }
  }

  mutating func queueIndication(
    _ handle: AttributeHandle, _ value: [UInt8], _ application: LocalAttribute.Source?, on link: LinkIdentifier
  ) {
    links[link]?.server.indications.append(handle, value, application)
    sendNextIndication(link)
  }

  private mutating func sendNextIndication(_ link: LinkIdentifier) {
    if let pdu = links[link]?.server.indications.next() { send(pdu, on: link) }
  }

  mutating func indicationConfirmed(on link: LinkIdentifier) {
    guard let done = links[link]?.server.indications.confirm() else { return }
    if case .application(let client, let path)? = done.application { callWithoutAnswer(client, path, .confirm) }
    sendNextIndication(link)
  }
}

/// Indications are sent one at a time, each after the previous one was confirmed.
struct Indications: Sendable {
  private var queue: [(handle: AttributeHandle, value: [UInt8], application: LocalAttribute.Source?)] = []
  private var awaitsConfirmation = false

  mutating func append(_ handle: AttributeHandle, _ value: [UInt8], _ application: LocalAttribute.Source?) {
    queue.append((handle, value, application))
  }

  /// The indication to send now, or `nil` if one is under way or none is queued.
  mutating func next() -> ATTPDU? {
    guard !awaitsConfirmation, let next = queue.first else { return nil }
    awaitsConfirmation = true
    return .indication(next.handle, next.value)
  }

  /// The peer has confirmed. Returns the confirmed indication, or `nil` if none was under way.
  mutating func confirm() -> (handle: AttributeHandle, value: [UInt8], application: LocalAttribute.Source?)? {
    guard awaitsConfirmation, !queue.isEmpty else { return nil }
    awaitsConfirmation = false
    return queue.removeFirst()
  }
}
