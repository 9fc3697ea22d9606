import AppLink
import BluetoothTypes
import Foundation

// How a central manager handles events. Everything here runs on the manager's queue. State changes are made under the
// lock; the delegate is called outside it.
extension CBCentralManager {
  func applyCentralEvent(_ body: Event.Body) {
    switch body {
    case .willRestoreCentral(let restoration): restore(restoration)
    case .restoredPeripherals(let peripherals): locked { partsToRestore += peripherals }
    case .discovered(let snapshot, let advertisement, let rssi): discover(snapshot, advertisement, rssi)
    case .connected(let snapshot): connected(snapshot)
    case .failedToConnect(let identifier, let error): failedToConnect(identifier, error)
    case .disconnected(let identifier, let error, let unixSeconds, let isReconnecting):
      disconnected(identifier, error, unixSeconds, isReconnecting)
    case .operationCompleted(_, let operation, let result): complete(operation, result)
    case .valueUpdated(let identifier, let handle, let value): valueUpdated(identifier, handle, value)
    case .nameChanged(let identifier, let name): nameChanged(identifier, name)
    case .mtuChanged(let identifier, let mtu):
      locked { table[identifier]?.peripheral?.mtu = max(ATTLimits.defaultMTU, min(Int(mtu), ATTLimits.maximumMTU)) }
    case .servicesModified(let identifier, let handles): servicesModified(identifier, handles)
    case .connectionEvent(let snapshot, let isConnected): connectionEvent(snapshot, isConnected)
    default: session.logger.error("\(self) is told an event of another role and ignores it")
    }
  }

  private func restore(_ restoration: CentralRestoration) {
    guard let restoreIdentifier = creation.restoreIdentifier else {
      session.logger.critical("API MISUSE: \(self) has no restore identifier; nothing is restored")
      return
    }
    var state: [String: Any] = [:]
    locked {
      let snapshots = partsToRestore + restoration.peripherals
      partsToRestore = []
      let peripherals = snapshots.map { snapshot in
        let peripheral = self.peripheral(snapshot.identifier)
        peripheral.restore(snapshot)
        peripheral.isAwaitingConnection = snapshot.state == .connecting
        held[snapshot.identifier] = peripheral
        return peripheral
      }
      if !peripherals.isEmpty { state[CBCentralManagerRestoredStatePeripheralsKey] = peripherals }
      if let scan = restoration.scan {
        self.scan = scan
        if let services = scan.services {
          state[CBCentralManagerRestoredStateScanServicesKey] = services.map { CBUUID($0) }
        }
        state[CBCentralManagerRestoredStateScanOptionsKey] = scan.appOptions
      }
    }
    guard let delegate else { return noteLostRestoration() }
    tells("willRestoreState")
    guard DelegateCall.reaches(delegate, { delegate.centralManager(self, willRestoreState: state) }) else {
      fatalError(
        "a CBCentralManager has the restore identifier \"\(restoreIdentifier)\", but its delegate "
          + "\(type(of: delegate)) does not implement centralManager(_:willRestoreState:)")
    }
  }

  private func discover(_ snapshot: PeripheralSnapshot, _ advertisement: AdvertisementData, _ rssi: Int8) {
    let found: CBPeripheral? = locked {
      guard let scan else { return nil }  // Stopped while the event was on its way.
      let isNew = hears(of: snapshot.identifier, advertisement)
      guard isNew || scan.allowDuplicates else { return nil }
      let peripheral = self.peripheral(snapshot.identifier)
      peripheral.currentName = snapshot.name ?? peripheral.currentName
      return peripheral
    }
    guard let found else { return }
    tells("didDiscover", found)
    delegate?.centralManager(
      self, didDiscover: found, advertisementData: advertisement.dictionary, rssi: NSNumber(value: rssi))
  }

  /// Notes an advertisement. Returns whether it is news for the delegate. Called under the lock.
  private func hears(of identifier: PeerIdentifier, _ advertisement: AdvertisementData) -> Bool {
    let isFirst = discovered[identifier] == nil
    let isNews = discovered.takes(identifier, advertisement)
    return isFirst || isNews
  }

  private func connected(_ snapshot: PeripheralSnapshot) {
    let peripheral: CBPeripheral? = locked {
      let peripheral = self.peripheral(snapshot.identifier)
      // The app cancelled while the event was on its way, and may have asked again since. `disconnected` follows.
      guard !peripheral.isCancelling else { return nil }
      let isKnown = peripheral.isConnectionKnown
      peripheral.beginLink(snapshot)
      peripheral.currentState = .connected
      peripheral.isToldConnected = true
      peripheral.isAwaitingConnection = false
      held[snapshot.identifier] = peripheral
      return isKnown ? nil : peripheral
    }
    guard let peripheral else { return }
    tells("didConnect", peripheral)
    delegate?.centralManager(self, didConnect: peripheral)
  }

  private func failedToConnect(_ identifier: PeerIdentifier, _ error: PeerError) {
    let peripheral = locked {
      let peripheral = self.peripheral(identifier)
      // If the app has cancelled while the event was on its way, and asked again since, the new request goes on.
      if !peripheral.isCancelling { peripheral.isAwaitingConnection = false }
      connectionEnded(peripheral)
      return peripheral
    }
    let appError = error.appError
    tells("didFailToConnect", peripheral, error: appError)
    delegate?.centralManager(self, didFailToConnect: peripheral, error: appError)
  }

  private func disconnected(
    _ identifier: PeerIdentifier, _ error: PeerError?, _ unixSeconds: Double, _ isReconnecting: Bool
  ) {
    let told: CBPeripheral? = locked {
      // The app has let go of this peripheral, and its request has ended (`abandoned`). As on Apple's systems, only the
      // log says so. An app that connects again whenever it is told of an end would repeat that for ever.
      guard let peripheral = table[identifier]?.peripheral else { return nil }
      // The app cancelled while the loss was on its way. The answer to the cancellation follows.
      guard !(isReconnecting && peripheral.isCancelling) else { return nil }
      if isReconnecting { peripheral.isAwaitingConnection = true }
      connectionEnded(peripheral)
      return peripheral
    }
    guard let peripheral = told, let delegate else { return }
    let appError = error?.appError
    tells("didDisconnectPeripheral", peripheral, error: appError)
    // If a delegate has both methods, the older one is called, as Apple's header says.
    let hasOlder = DelegateCall.reaches(delegate) {
      delegate.centralManager(self, didDisconnectPeripheral: peripheral, error: appError)
    }
    guard !hasOlder else { return }
    delegate.centralManager(
      self, didDisconnectPeripheral: peripheral,
      timestamp: unixSeconds - Date.timeIntervalBetween1970AndReferenceDate, isReconnecting: isReconnecting,
      error: appError)
  }

  /// Called under the lock.
  func connectionEnded(_ peripheral: CBPeripheral) {
    let identifier = peripheral.peer
    pending = pending.filter { $0.value.peripheral !== peripheral }
    peripheral.isCancelling = false
    // If a scan finds the peripheral again, that is news.
    discovered.forget(identifier)
    peripheral.invalidateServices()
    peripheral.endChannels()
    peripheral.unansweredWrites = 0
    peripheral.isRefusingWrites = false
    peripheral.owesReadiness = false
    if peripheral.isAwaitingConnection {
      // The app has asked again, or the system keeps the request: it continues.
      peripheral.currentState = .connecting
      if creation.restoreIdentifier == nil { held[identifier] = nil }
    } else {
      peripheral.currentState = .disconnected
      connectOptions[identifier] = nil
      held[identifier] = nil
    }
  }

  private func valueUpdated(_ identifier: PeerIdentifier, _ handle: AttributeHandle, _ value: [UInt8]) {
    let found: (CBPeripheral, CBCharacteristic)? = locked {
      guard let peripheral = table[identifier]?.peripheral, let characteristic = peripheral.characteristic(handle)
      else { return nil }
      characteristic.currentValue = Data(value)
      return (peripheral, characteristic)
    }
    guard let (peripheral, characteristic) = found else {
      session.logger.warning("a value for the handle \(handle) of \(identifier), which this app has not discovered")
      return
    }
    tells("didUpdateValueFor", peripheral, characteristic, value: characteristic.value)
    peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: characteristic, error: nil)
  }

  private func connectionEvent(_ snapshot: PeripheralSnapshot, _ isConnected: Bool) {
    let peripheral: CBPeripheral? = locked {
      guard connectionWatch != nil else { return nil }  // Taken back while the event was on its way.
      let peripheral = self.peripheral(snapshot.identifier)
      if peripheral.currentName == nil { peripheral.currentName = snapshot.name }
      return peripheral
    }
    guard let peripheral else { return }
    tells("connectionEventDidOccur", peripheral)
    delegate?.centralManager(
      self, connectionEventDidOccur: isConnected ? .peerConnected : .peerDisconnected, for: peripheral)
  }

  private func nameChanged(_ identifier: PeerIdentifier, _ name: String?) {
    let peripheral: CBPeripheral? = locked {
      guard let peripheral = table[identifier]?.peripheral else { return nil }
      peripheral.currentName = name
      return peripheral
    }
    guard let peripheral else { return }
    tells("didUpdateName", peripheral)
    peripheral.delegate?.peripheralDidUpdateName(peripheral)
  }

  private func servicesModified(_ identifier: PeerIdentifier, _ handles: [AttributeHandle]) {
    let found: (CBPeripheral, [CBService])? = locked {
      guard let peripheral = table[identifier]?.peripheral else { return nil }
      return (peripheral, peripheral.invalidate(handles))
    }
    guard let (peripheral, invalidated) = found else { return }
    tells("didModifyServices", peripheral)
    peripheral.delegate?.peripheral(peripheral, didModifyServices: invalidated)
  }

  /// The system came back, and was shown the view, in which cancelled connections are missing: the system has ended those. What the
  /// app has asked for since is asked for here, because the view can't say that it is to be a new link. Called under the lock.
  func askAnewAfterCancellations() -> [PeerIdentifier] {
    let cancelled = table.values.compactMap(\.peripheral).filter(\.isCancelling)
    for peripheral in cancelled where peripheral.isAwaitingConnection {
      let options = connectOptions[peripheral.peer] ?? ConnectOptions()
      session.send(.central(managerIdentifier, .connect(peripheral.peer, options)), for: self)
    }
    return cancelled.map(\.peer).sorted()
  }

  /// Cancellations that the previous system did not confirm are confirmed here.
  func confirmCancellations(_ cancelled: [PeerIdentifier]) {
    for identifier in cancelled {
      let now = Date().timeIntervalSince1970
      CallRecord.note(.disconnected(identifier, error: nil, unixSeconds: now, isReconnecting: false), self)
      disconnected(identifier, nil, now, false)
    }
  }

  /// What the delegate has been told so far. Called under the lock.
  func makeCentralView() -> ManagerView {
    // Cancelled connections are left out: the system drops whatever is not in the view.
    let peripherals = table.values.compactMap(\.peripheral).filter {
      !$0.isCancelling && ($0.currentState == .connecting || $0.currentState == .connected)
    }
    return ManagerView(
      state: toldState,
      peripherals: peripherals.map(\.snapshot).sorted { $0.identifier < $1.identifier },
      connectOptions: connectOptions, scan: scan,
      discovered: scan?.allowDuplicates == false ? discovered.newest.sorted() : [])
  }
}
