import BlueZ
import BluetoothTypes
import BusValue
import Radio

/// Who gets an application's values: Client Characteristic Configurations, notifications and indications.
extension BlueZModel {
  /// A peer wrote its configuration. The application hears StartNotify with the first subscriber only, so not when a
  /// bonded peer whose configuration is still in memory writes it again.
  mutating func configure(_ handle: AttributeHandle, _ value: UInt16, on link: LinkIdentifier) {
    guard let device = links[link]?.device else { return }
    server.configurations[device, default: [:]][handle] = value == 0 ? nil : value
    refreshServerSubscriptions()
  }

  /// Tells applications which of their values gained their first or lost their last subscriber.
  mutating func refreshServerSubscriptions() {
    let wanted = server.configurations.values.reduce(into: Set<AttributeHandle>()) { $0.formUnion($1.keys) }
    let (new, gone) = (wanted.subtracting(server.subscribed), server.subscribed.subtracting(wanted))
    server.subscribed = wanted
    for handle in gone.sorted() {
      if let channel = channels.channel(.notifiesPeers(handle)) {
        close(channel)
      } else {
        tellApplication(of: handle, .stopNotify)
      }
    }
    for handle in new.sorted() { beginNotifying(handle) }
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

  /// An application changed a Value: every subscriber gets it, also one whose link is not encrypted yet, once it is.
  mutating func applicationValueChanged(_ path: ObjectPath, _ value: [UInt8], from client: ClientIdentifier) {
    guard
      let attribute = server.database.attributes.first(where: {
        if case .application(client, path) = $0.source { !$0.properties.isEmpty } else { false }
      })
    else { return }
    notify(attribute, value)
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
      // Seen on bluetoothd, most times: what is sent before the link can carry it is lost.
      guard link.isMTUAgreed else { continue }
      sendValue(value, of: attribute, configuration, on: identifier)
    }
  }

  private mutating func sendValue(
    _ value: [UInt8], of attribute: LocalAttribute, _ configuration: UInt16, on identifier: LinkIdentifier
  ) {
    guard let link = links[identifier] else { return }
    let fitting = Array(value.prefix(link.mtu - 3))
    if configuration & 1 != 0, attribute.properties.contains(.notify) {
      send(.notification(attribute.handle, fitting), on: identifier)
    } else if configuration & 2 != 0, attribute.properties.contains(.indicate) {
      queueIndication(attribute.handle, fitting, attribute.source, on: identifier)
    }
  }

  mutating func queueIndication(
    _ handle: AttributeHandle, _ value: [UInt8], _ application: LocalAttribute.Source?, on link: LinkIdentifier
  ) {
    links[link]?.server.indications.append((handle, value, application))
    sendNextIndication(link)
  }

  private mutating func sendNextIndication(_ link: LinkIdentifier) {
    guard let serving = links[link]?.server, !serving.awaitsConfirmation, let next = serving.indications.first
    else { return }
    links[link]?.server.awaitsConfirmation = true
    send(.indication(next.handle, next.value), on: link)
  }

  mutating func indicationConfirmed(on link: LinkIdentifier) {
    guard let serving = links[link]?.server, serving.awaitsConfirmation, let done = serving.indications.first
    else { return }
    links[link]?.server.awaitsConfirmation = false
    links[link]?.server.indications.removeFirst()
    if case .application(let client, let path)? = done.application { callWithoutAnswer(client, path, .confirm) }
    sendNextIndication(link)
  }
}
