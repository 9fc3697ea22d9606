import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import FoundationEssentials
import TimeTypes

/// The subscribers of what an app publishes. bluetoothd says that a central subscribes, but not which one. It says
/// nothing when a bonded central that it remembers as subscribed comes back. So the system remembers subscriptions
/// itself, and goes by the links.
extension BluetoothSystem {
  /// Devices that may be our centrals: linked, and not because an app of this machine asked for it.
  var linkedCentrals: [Device] {
    bluez.devices.connectedDevices.filter { !isWanted($0.peer) }
  }

  /// Devices that may have subscribed to this service. A device to which an app of this machine has connected may be a central
  /// too, over the same link: two machines on which the same app runs, such as a chat. It counts if it has the same service,
  /// or if nobody else could have subscribed.
  private func possibleSubscribers(_ key: ManagerKey, _ service: LocalAttributeIdentifier) -> [Device] {
    let linked = bluez.devices.connectedDevices
    let uuid = managers[key]?.services[service]?.definition.uuid
    let likely = linked.filter { device in
      !isWanted(device.peer) || uuid.map { device.offers($0) } == true
    }
    return likely.isEmpty ? linked : likely
  }

  mutating func startNotify(_ path: ObjectPath) {
    guard let (service, key, characteristic) = publishing.characteristic(at: path) else { return }
    let wasNotifying = publishing.setNotifying(true, characteristic, of: service)
    haveSubscriptionsChanged = true
    let centrals = possibleSubscribers(key, service)
    // Of several centrals, it is not known which one has subscribed and so shows life.
    if centrals.count == 1 { visitShowsLife(centrals[0].path) }
    subscriptionRenewed(characteristic, by: centrals)
    for device in centrals {
      remember(device, characteristic)
      // A central that was subscribed before this registration has now subscribed again.
      if !wasNotifying { tellUnsubscribed(key, device.peer, characteristic) }
      tellSubscribed(key, device.peer, characteristic)
    }
  }

  /// A central has sent a request to a service. bluetoothd does not call `StartNotify` for a bonded central that returns
  /// subscribed, so a request may be the first sign of it. If the service notifies at all, it is assumed to notify this
  /// central too.
  mutating func requestShowsSubscriber(_ path: ObjectPath, _ device: ObjectPath) {
    guard let place = publishing.characteristic(at: path), let published = publishing.services[place.service],
      let device = bluez.devices[device], device.isConnected
    else { return }
    for characteristic in published.notifying.sorted() {
      remember(device, characteristic)
      tellSubscribed(published.manager, device.peer, characteristic)
    }
  }

  mutating func stopNotify(_ path: ObjectPath) {
    guard let (service, key, characteristic) = publishing.characteristic(at: path) else { return }
    _ = publishing.setNotifying(false, characteristic, of: service)
    haveSubscriptionsChanged = true
    for peer in Array(renewals.keys) { renewals[peer]?.nobodyIsSubscribed(to: characteristic) }
    for device in bluez.devices.connectedDevices {
      forget(device.peer, characteristic)
      tellUnsubscribed(key, device.peer, characteristic)
    }
  }

  private mutating func remember(_ device: Device, _ characteristic: LocalAttributeIdentifier) {
    guard device.isBonded else { return }
    _ = keepPeer(device.peer, wasRequested: false)
    let record = SubscriptionRecord(central: device.peer, characteristic: characteristic)
    if remembered.add(record) { persist(.subscription(record)) }
    changes.add([device.peer])
  }

  private mutating func forget(_ peer: PeerIdentifier, _ characteristic: LocalAttributeIdentifier) {
    guard remembered.remove(peer, from: characteristic) else { return }
    erase(SubscriptionRecord.key(peer, characteristic))
  }

  /// The central subscribed before it bonded.
  mutating func rememberSubscriptions(ofBonded peer: PeerIdentifier) {
    guard let device = bluez.device(peer) else { return }
    for key in sortedManagers(.peripheral) {
      for (characteristic, subscribers) in managers[key]?.subscribers ?? [:] where subscribers.contains(peer) {
        remember(device, characteristic)
      }
    }
  }

  private mutating func tellSubscribed(
    _ key: ManagerKey, _ peer: PeerIdentifier, _ characteristic: LocalAttributeIdentifier
  ) {
    guard managers[key]?.subscribers[characteristic, default: []].insert(peer).inserted == true else { return }
    managers[key]?.noteNewSubscriber(peer, at: now)
    persistManager(key)
    tell(key, .subscribed(centralSnapshot(peer), characteristic))
  }

  private mutating func tellUnsubscribed(
    _ key: ManagerKey, _ peer: PeerIdentifier, _ characteristic: LocalAttributeIdentifier
  ) {
    guard managers[key]?.subscribers[characteristic]?.remove(peer) != nil else { return }
    persistManager(key)
    tell(key, .unsubscribed(centralSnapshot(peer), characteristic))
  }

  /// Follows the links: a central that left is no longer subscribed. A bonded one that came back is, if bluetoothd
  /// has kept its subscription.
  mutating func reconcileSubscriptions() {
    guard bluez.wasEverPresent else { return }
    let changed = changedPeers()
    let changesAll = haveSubscriptionsChanged
    haveSubscriptionsChanged = false
    guard changesAll || !changed.isEmpty else { return }
    for key in sortedManagers(.peripheral) {
      for (characteristic, subscribers) in (managers[key]?.subscribers ?? [:]).sorted(by: {
        $0.key < $1.key
      }) {
        let examined = changesAll ? subscribers : subscribers.intersection(changed)
        for peer in examined.sorted()
        where bluez.device(peer)?.isConnected != true {
          tellUnsubscribed(key, peer, characteristic)
        }
      }
    }
    let services = publishing.services.sorted { $0.key < $1.key }.map(\.value)
    for service in services {
      for characteristic in service.notifying.sorted() {
        for peer in remembered.centrals(of: characteristic, among: changesAll ? nil : changed)
        where bluez.device(peer)?.isConnected == true {
          tellSubscribed(service.manager, peer, characteristic)
        }
      }
    }
  }

  // MARK: Values to subscribers

  /// bluetoothd notifies all subscribers. Only a value meant for none of them can be withheld.
  mutating func updateValue(
    _ key: ManagerKey, _ characteristic: LocalAttributeIdentifier, _ value: [UInt8], _ centrals: [PeerIdentifier]?
  ) {
    guard managers[key]?.credit.spend(at: now, whole: configuration.updateCredit) == true, let manager = managers[key]
    else { return misplaced(key.app, "It pushes values without credit.") }
    let isForSomebody = centrals.map { managers[key]?.subscribers[characteristic]?.isDisjoint(with: $0) == false }
    let service = manager.services.values.first { record in
      record.definition.characteristics.contains { $0.identifier == characteristic }
    }
    if isForSomebody ?? true, let service,
      let path = publishing.services[service.definition.identifier]?.paths[characteristic]
    {
      send(Array(value.prefix(ATTLimits.maximumValueLength)), at: path, of: characteristic, key, to: centrals)
    }
  }

  /// Returns the credit that is due.
  mutating func returnCredit() {
    for key in sortedManagers(.peripheral) {
      let returned = managers[key]?.credit.giveBack(
        at: now, whole: configuration.updateCredit, interval: configuration.updateInterval)
      guard let used = returned ?? nil else { continue }
      tell(key, .updateCredit(used))
    }
  }

  mutating func grantCredit(_ key: ManagerKey) {
    guard managers[key]?.credit.grant(configuration.updateCredit) == true else { return }
    tell(key, .updateCredit(configuration.updateCredit))
  }

  // MARK: Restoring

  /// What the app's last process was told. Changes since then are queued.
  func peripheralRestoration(_ manager: Manager) -> PeripheralRestoration {
    var subscribers = manager.subscribers
    for waiting in (apps[manager.key.app]?.queue ?? []).reversed() where waiting.manager == manager.key {
      switch waiting.body {
      case .subscribed(let central, let characteristic): subscribers[characteristic]?.remove(central.identifier)
      case .unsubscribed(let central, let characteristic):
        subscribers[characteristic, default: []].insert(central.identifier)
      default: break
      }
    }
    return PeripheralRestoration(
      services: manager.services.values.sorted { $0.order < $1.order }.map(\.definition),
      advertisement: manager.advertisement,
      subscriptions: subscribers.mapValues { peers in
        peers.sorted().map { centralSnapshot($0) }
      }.filter { !$0.value.isEmpty })
  }

  /// The app kept running while the system was away or asleep. `missed` is what was queued for it.
  mutating func resumePeripheral(_ key: ManagerKey, _ view: ManagerView, missed: [AppLink.Event.Body]) {
    let shown = Set(view.services.map(\.identifier))
    let view = view.bounded(subscriptions: configuration.peripheralLimit)
    for identifier in managers[key]?.services.keys.sorted() ?? []
    where !shown.contains(identifier) {
      removeService(key, identifier)
    }
    for definition in view.services where managers[key]?.services[definition.identifier]?.definition != definition {
      addService(key, definition)
    }
    if managers[key]?.advertisement != view.advertisement,
      view.advertisement?.refusal(uuidLimit: configuration.uuidLimit) == nil
    {
      managers[key]?.advertisement = view.advertisement
      managers[key]?.isAdvertisingUnannounced = false
    }
    tellSubscriptionsMissed(key, view, missed)
    if !view.services.isEmpty { grantCredit(key) }
  }

  private mutating func tellSubscriptionsMissed(
    _ key: ManagerKey, _ view: ManagerView, _ missed: [AppLink.Event.Body]
  ) {
    let actual = managers[key]?.subscribers ?? [:]
    let characteristics = Set(actual.keys).union(view.subscriptions.keys).sorted()
    for characteristic in characteristics {
      let known = Set(view.subscriptions[characteristic] ?? [])
      let now = actual[characteristic] ?? []
      for peer in known.union(now).sorted() {
        // A subscription that was still queued is not the one that the app knows, even if it looks the same.
        let isNew = missed.contains { body in
          if case .subscribed(let central, characteristic) = body { central.identifier == peer } else { false }
        }
        let central = centralSnapshot(peer)
        if known.contains(peer), isNew || !now.contains(peer) {
          tell(key, .unsubscribed(central, characteristic))
        }
        if now.contains(peer), isNew || !known.contains(peer) {
          tell(key, .subscribed(central, characteristic))
        }
      }
    }
  }
}

extension ManagerView {
  /// Limits the number of subscriptions. Each must be told to the app, and no manager has more subscribers.
  fileprivate func bounded(subscriptions limit: Int) -> ManagerView {
    var view = self
    var left = limit
    for characteristic in subscriptions.keys.sorted() {
      let centrals = (subscriptions[characteristic] ?? []).prefix(left)
      left -= centrals.count
      view.subscriptions[characteristic] = centrals.isEmpty ? nil : Array(centrals)
    }
    return view
  }
}
