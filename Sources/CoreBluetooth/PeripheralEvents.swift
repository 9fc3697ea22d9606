import AppLink
import BluetoothTypes
import Foundation

// How a peripheral manager handles events. Everything here runs on the manager's queue. State changes are made under
// the lock; the delegate is called outside it.
extension CBPeripheralManager {
  func applyPeripheralEvent(_ body: Event.Body) {
    switch body {
    case .willRestorePeripheral(let restoration): restore(restoration)
    case .serviceAdded(let identifier, let error): serviceAdded(identifier, error)
    case .advertisingStarted(let error): advertisingStarted(error)
    case .subscribed(let central, let identifier): subscriptionChanged(central, identifier, isSubscribed: true)
    case .unsubscribed(let central, let identifier): subscriptionChanged(central, identifier, isSubscribed: false)
    case .readRequested(let request, let central, let identifier, let offset):
      requested(request, central, identifier, offset: offset, value: nil, withResponse: true)
    case .writeRequested(let request, let central, let identifier, let offset, let value, let withResponse):
      requested(request, central, identifier, offset: offset, value: Data(value), withResponse: withResponse)
    case .requestExpired(let request):
      _ = locked { openRequests.remove(request) }
      session.logger.warning("\(self): a request was not answered in time; the system answered it with an error")
    case .updateCredit(let count): gainCredit(count)
    case .mtuChanged(let identifier, let mtu): locked { centrals[identifier]?.central?.update(mtu: Int(mtu)) }
    case .channelPublished(let psm, let error): channelPublished(psm, error)
    case .channelUnpublished(let psm, let error): channelUnpublished(psm, error)
    case .channelOpened(let central, let psm, let socket, let mtu): channelOpened(central, psm, socket, mtu)
    default: session.logger.error("\(self) is told an event of another role and ignores it")
    }
  }

  private func restore(_ restoration: PeripheralRestoration) {
    guard let restoreIdentifier = creation.restoreIdentifier else {
      session.logger.critical("API MISUSE: \(self) has no restore identifier; nothing is restored")
      return
    }
    var state: [String: Any] = [:]
    locked {
      publications = restoration.services.map { Publication(restored: $0) }
      for publication in publications {
        publication.service.includedServiceList = includedServices(of: publication.definition)
        for (identifier, characteristic) in publication.characteristics {
          characteristic.subscribers = (restoration.subscriptions[identifier] ?? []).map { central($0) }
        }
      }
      advertisement = restoration.advertisement
      isAdvertisingNow = advertisement != nil
      if !publications.isEmpty { state[CBPeripheralManagerRestoredStateServicesKey] = publications.map(\.service) }
      if let advertisement {
        state[CBPeripheralManagerRestoredStateAdvertisementDataKey] = advertisement.dictionary
      }
    }
    guard let delegate else { return noteLostRestoration() }
    tells("willRestoreState")
    guard DelegateCall.reaches(delegate, { delegate.peripheralManager(self, willRestoreState: state) }) else {
      fatalError(
        "a CBPeripheralManager has the restore identifier \"\(restoreIdentifier)\", but its delegate "
          + "\(type(of: delegate)) does not implement peripheralManager(_:willRestoreState:)")
    }
  }

  private func includedServices(of definition: ServiceDefinition) -> [CBService]? {
    guard !definition.includedServices.isEmpty else { return nil }
    return definition.includedServices.compactMap { identifier in
      publications.first { $0.definition.identifier == identifier }?.service
    }
  }

  private func serviceAdded(_ identifier: LocalAttributeIdentifier, _ error: PeerError?) {
    let added: Publication? = locked {
      guard let index = publications.firstIndex(where: { $0.definition.identifier == identifier }) else { return nil }
      let added = publications[index]
      publications[index].refused = []
      if error == nil { publications[index].isTold = true } else { publications.remove(at: index) }
      return added
    }
    // `nil` if the app has removed it in the meantime.
    guard let added else { return }
    let appError = error?.appError
    tells("didAdd", nil, added.service, error: appError)
    delegate?.peripheralManager(self, didAdd: added.service, error: appError)
    for refused in added.refused { tell(refused) }
  }

  /// Tells the delegate that a service can't be published, after the answers to what the app added before: apps tell the
  /// answers apart by their order. Called under the lock.
  func refuse(_ refused: RefusedService) {
    if let last = publications.lastIndex(where: { !$0.isTold }) {
      publications[last].refused.append(refused)
    } else {
      enqueue { [self] in
        tell(refused)
      } after: {
      }
    }
  }

  private func tell(_ refused: RefusedService) {
    let error = CBError(.invalidParameters, refused.reason)
    tells("didAdd", nil, refused.service, error: error)
    delegate?.peripheralManager(self, didAdd: refused.service, error: error)
  }

  private func advertisingStarted(_ error: PeerError?) {
    let isWanted = locked {
      guard advertisement != nil else { return false }
      isAdvertisingNow = error == nil
      if error != nil { advertisement = nil }
      return true
    }
    guard isWanted else { return }
    let appError = error?.appError
    tells("didStartAdvertising", error: appError)
    delegate?.peripheralManagerDidStartAdvertising(self, error: appError)
    refuseStarts(locked { takeRefusedStarts() })
  }

  /// Called under the lock.
  func refuseStartsLater() {
    let count = takeRefusedStarts()
    guard count > 0 else { return }
    enqueue { [self] in
      refuseStarts(count)
    } after: {
    }
  }

  private func takeRefusedStarts() -> Int {
    defer { refusedStarts = 0 }
    return refusedStarts
  }

  private func refuseStarts(_ count: Int) {
    for _ in 0..<count {
      let error = CBError(.alreadyAdvertising, "This manager is advertising already.")
      tells("didStartAdvertising", error: error)
      delegate?.peripheralManagerDidStartAdvertising(self, error: error)
    }
  }

  private func subscriptionChanged(
    _ snapshot: CentralSnapshot, _ identifier: LocalAttributeIdentifier, isSubscribed: Bool
  ) {
    let found: (CBCentral, CBMutableCharacteristic)? = locked {
      guard let characteristic = characteristic(identifier) else { return nil }
      let central = self.central(snapshot)
      characteristic.subscribers.removeAll { $0.identifier == central.identifier }
      if isSubscribed { characteristic.subscribers.append(central) }
      return (central, characteristic)
    }
    guard let (central, characteristic) = found else { return }
    tells(isSubscribed ? "didSubscribeTo" : "didUnsubscribeFrom", central, characteristic)
    if isSubscribed {
      delegate?.peripheralManager(self, central: central, didSubscribeTo: characteristic)
    } else {
      delegate?.peripheralManager(self, central: central, didUnsubscribeFrom: characteristic)
    }
  }

  private func requested(
    _ remoteIdentifier: RemoteRequestIdentifier, _ snapshot: CentralSnapshot, _ identifier: LocalAttributeIdentifier,
    offset: Int, value: Data?, withResponse: Bool
  ) {
    let request: CBATTRequest? = locked {
      guard let characteristic = characteristic(identifier) else {
        // The app has removed it in the meantime.
        if withResponse {
          session.send(.respond(remoteIdentifier, result: .attributeNotFound, value: nil), for: self)
        }
        return nil
      }
      if withResponse { openRequests.insert(remoteIdentifier) }
      return CBATTRequest(
        remoteIdentifier: remoteIdentifier, central: central(snapshot), characteristic: characteristic,
        offset: offset, value: value, isRead: value == nil, needsResponse: withResponse)
    }
    guard let request else { return }
    tells(
      request.isRead ? "didReceiveRead" : "didReceiveWrite", request.central, request.characteristic, value: value)
    let isHeard =
      if let delegate {
        DelegateCall.reaches(delegate) {
          if request.isRead {
            delegate.peripheralManager(self, didReceiveRead: request)
          } else {
            delegate.peripheralManager(self, didReceiveWrite: [request])
          }
        }
      } else {
        false
      }
    if !isHeard { respond(to: request, withResult: .requestNotSupported) }
  }

  private func gainCredit(_ count: Int) {
    let isReady = locked {
      updateCredit += max(0, count)
      guard isRefusingUpdates, updateCredit > 0 else { return false }
      isRefusingUpdates = false
      return true
    }
    guard isReady else { return }
    tells("isReady")
    delegate?.peripheralManagerIsReady(toUpdateSubscribers: self)
  }

  // MARK: Objects; called under the lock

  func characteristic(_ identifier: LocalAttributeIdentifier) -> CBMutableCharacteristic? {
    for publication in publications {
      if let characteristic = publication.characteristics[identifier] { return characteristic }
    }
    return nil
  }

  func central(_ snapshot: CentralSnapshot) -> CBCentral {
    if let known = centrals[snapshot.identifier]?.central {
      known.update(snapshot)
      return known
    }
    centrals = centrals.filter { $0.value.central != nil }
    let central = CBCentral(snapshot)
    centrals[snapshot.identifier] = WeakCentral(central: central)
    return central
  }

  func makePeripheralView() -> ManagerView {
    var subscriptions: [LocalAttributeIdentifier: [PeerIdentifier]] = [:]
    for publication in publications {
      for (identifier, characteristic) in publication.characteristics where !characteristic.subscribers.isEmpty {
        subscriptions[identifier] = characteristic.subscribers.map(\.peer)
      }
    }
    return ManagerView(
      state: toldState, services: publications.filter(\.isTold).map(\.definition),
      advertisement: isAdvertisingNow ? advertisement : nil, subscriptions: subscriptions)
  }

  /// The system came back, so whatever the previous one had not confirmed is requested again. Remote requests that
  /// the previous one passed on are lost with it.
  func askAgain() {
    locked {
      openRequests = []
      // The credit came from the previous system. This one grants its own.
      updateCredit = 0
      for channel in publishedChannels {
        let request = PeripheralRequest.publishChannel(psm: channel.psm, requiresEncryption: channel.requiresEncryption)
        session.send(.peripheral(managerIdentifier, request), for: self)
      }
      for publication in publications where !publication.isTold {
        session.send(.peripheral(managerIdentifier, .addService(publication.definition)), for: self)
      }
      if let advertisement, !isAdvertisingNow {
        session.send(.peripheral(managerIdentifier, .startAdvertising(advertisement)), for: self)
      }
    }
  }
}
