import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// Apps' requests to publish, and what apps are told about them.
extension BluetoothSystem {
  private var database: PublishedDatabase {
    PublishedDatabase(services: managers.values.flatMap { $0.services.values }, configuration: configuration)
  }

  mutating func addService(_ key: ManagerKey, _ definition: ServiceDefinition) {
    let identifier = definition.identifier
    let database = database
    guard let manager = managers[key] else { return }
    if let error = database.refusal(of: definition, by: key) {
      tell(key, .serviceAdded(identifier, error: error))
      return
    }
    if let known = manager.services[identifier] {
      if known.definition == definition, publishing.isDone(identifier) {
        tell(key, .serviceAdded(identifier, error: nil))
        grantCredit(key)
        return
      }
      unpublish(identifier)
    }
    guard let handle = manager.services[identifier]?.handle ?? database.freeHandles(definition.handleSpan) else {
      tell(key, .serviceAdded(identifier, error: .limit("No attribute handles are left.")))
      return
    }
    let record = ServiceRecord(manager: key, definition: definition, handle: handle, order: database.nextOrder)
    managers[key]?.services[identifier] = record
    managers[key]?.unannounced.insert(identifier)
    persist(.service(record))
  }

  mutating func removeService(_ key: ManagerKey, _ identifier: LocalAttributeIdentifier) {
    guard let record = managers[key]?.services.removeValue(forKey: identifier) else { return }
    unpublish(identifier)
    managers[key]?.unannounced.remove(identifier)
    var hadSubscribers = false
    for characteristic in record.definition.characteristics {
      if managers[key]?.subscribers.removeValue(forKey: characteristic.identifier) != nil { hadSubscribers = true }
      for central in remembered.removeAll(of: characteristic.identifier) {
        erase(SubscriptionRecord.key(central, characteristic.identifier))
      }
    }
    erase(StoreKey(.service, identifier.uuidString))
    // Otherwise the app would be told after a restart that somebody subscribed to what it has removed.
    if hadSubscribers { persistManager(key) }
  }

  private mutating func unpublish(_ identifier: LocalAttributeIdentifier) {
    callAdapter(publishing.unpublish(identifier))
  }

  mutating func startAdvertising(_ key: ManagerKey, _ request: AdvertisementRequest) {
    if let reason = request.refusal(uuidLimit: configuration.uuidLimit) {
      tell(key, .advertisingStarted(error: .coreBluetooth(.invalidParameters, message: reason)))
      return
    }
    if managers[key]?.advertisement != nil, publishing.isAdvertising(key, request) {
      tell(
        key,
        .advertisingStarted(error: .coreBluetooth(.alreadyAdvertising, message: "Advertising has already started.")))
      return
    }
    managers[key]?.advertisement = request
    managers[key]?.isAdvertisingUnannounced = true
    persistManager(key)
  }

  mutating func stopAdvertising(_ key: ManagerKey) {
    managers[key]?.advertisement = nil
    managers[key]?.isAdvertisingUnannounced = false
    persistManager(key)
  }

  // MARK: Asking bluetoothd

  private mutating func callAdapter(_ adapterCall: AdapterCall?) {
    guard let adapterCall, let adapter = bluez.adapter else { return }
    call(adapter, adapterCall.request, for: adapterCall.pending)
  }

  private var registrationsUnderWay: Int {
    calls.all.count { pending in
      switch pending {
      case .registerService, .registerAdvertisement: true
      default: false
      }
    }
  }

  mutating func reconcilePublished() {
    guard bluez.adapter != nil else { return }
    let keys = sortedManagers(.peripheral)
    var room = Publishing.registrationLimit - registrationsUnderWay
    for key in keys {
      let services = (managers[key]?.services ?? [:]).values.sorted { $0.order < $1.order }
      for record in services where room > 0 {
        let family = family(of: record, key)
        // The first service of a family registers all of it.
        guard family.first?.definition.identifier == record.definition.identifier else { continue }
        let calls = publishing.publish(family, of: key, exports: &exports, at: now)
        if !calls.isEmpty { room -= 1 }
        for call in calls { callAdapter(call) }
      }
    }
    let wantedMark = isServing ? settings.databaseMark ?? 0 : 0
    for call in publishing.mark.steps(wanted: wantedMark, exports: &exports, at: now) { callAdapter(call) }
    let advertisers = keys.filter { bluez.isPowered && mayWork($0) && managers[$0]?.advertisement != nil }
    let isSlow = !advertisers.contains { advertisesAsInForeground($0) }
    for key in publishing.advertisements.keys.filter({ managers[$0] == nil }).sorted() {
      callAdapter(publishing.withdrawAdvertisement(key, unlessIt: nil))
    }
    for key in keys {
      let request = advertisers.contains(key) ? managers[key]?.advertisement : nil
      let form: PublishedAdvertisement.Form =
        advertisesAsInForeground(key)
        ? .foreground : .background(overflowCompany: configuration.overflowCompany, isSlow: isSlow)
      let content = request.map {
        PublishedAdvertisement.Content(
          request: $0, form: form, ownInterval: apps[key.app]?.declaration.advertisingMilliseconds)
      }
      callAdapter(publishing.withdrawAdvertisement(key, unlessIt: content))
      guard let content, room > 0, publishing.isServed((managers[key]?.services ?? [:]).keys),
        let call = publishing.advertise(key, content, exports: &exports, at: now)
      else { continue }
      room -= 1
      callAdapter(call)
    }
  }

  /// An app that always runs has no user who would open it, so its advertisement never changes.
  private func advertisesAsInForeground(_ key: ManagerKey) -> Bool {
    apps[key.app].map { $0.state == .foreground || $0.declaration.keepAlive } ?? false
  }

  // MARK: bluetoothd's answers

  mutating func serviceRegistered(_ root: ObjectPath, _ result: Result<Reply, BlueZError>) {
    let refusal: BlueZError? = if case .failure(let error) = result { error } else { nil }
    for identifier in publishing.registered(root, isAccepted: refusal == nil, at: now) {
      // A new service that is refused is removed, along with those registered with it.
      guard let service = publishing.services[identifier], service.root == root else { continue }
      let key = service.manager
      let isNew = managers[key]?.unannounced.remove(identifier) != nil
      if let refusal {
        journal(.serviceRefused, [.app: key.app, .error: refusal.description])
      } else {
        awaitRenewals(of: service, isNew: isNew)
      }
      guard isNew else { continue }
      tell(
        key,
        .serviceAdded(identifier, error: refusal.map { .coreBluetooth(.unknown, message: $0.description) }))
      if refusal == nil { grantCredit(key) } else { removeService(key, identifier) }
    }
  }

  mutating func advertisementRegistered(_ key: ManagerKey, _ path: ObjectPath, _ result: Result<Reply, BlueZError>) {
    let refusal: BlueZError? = if case .failure(let error) = result { error } else { nil }
    guard publishing.advertisementRegistered(key, path, isAccepted: refusal == nil, at: now) else { return }
    let isNew = managers[key]?.isAdvertisingUnannounced == true
    managers[key]?.isAdvertisingUnannounced = false
    if let refusal { journal(.advertisementRefused, [.app: key.app, .error: refusal.description]) }
    guard isNew else { return }
    tell(
      key, .advertisingStarted(error: refusal.map { .coreBluetooth(.unknown, message: $0.description) }))
    guard refusal != nil else { return }
    stopAdvertising(key)
    publishing.forgetAdvertisement(key)
  }

  mutating func markRegistered(_ root: ObjectPath, _ result: Result<Reply, BlueZError>) {
    guard publishing.mark.registered(root, isAccepted: (try? result.get()) != nil, at: now) else { return }
    if case .failure(let error) = result { journal(.databaseMarkRefused, [.error: error.description]) }
  }

  /// bluetoothd has dropped an exported object. It will be registered again.
  mutating func released(_ path: ObjectPath, _ interface: String) {
    switch interface {
    case InterfaceName.advertisement: publishing.released(path)
    case InterfaceName.gattProfile:
      profile.released(path)
      changedEverything()
    case InterfaceName.agent:
      pairing.agentIsGone()
      cancelQuestions()
    default: break
    }
  }
}
