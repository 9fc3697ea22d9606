import CoreBluetooth
import JournalEvents
import LockProtocol
import TimeTypes

/// What the lock's GATT service is found to hold, and what comes from it.
extension AgentCentral: CBPeripheralDelegate {
  /// Uses what is known of the lock's service, and discovers the rest.
  func explore(_ peripheral: CBPeripheral) {
    know(peripheral)
    guard let offer = known.offer, let answer = known.answer, known.isWhole else { return discover(peripheral) }
    if offer.isNotifying, answer.isNotifying {
      logger.record(Recorded.Agent.subscriptionAlive)
      return
    }
    // The answer's subscription comes first, because the lock begins to send when the offer's arrives.
    if !answer.isNotifying { peripheral.setNotifyValue(true, for: answer) }
    if !offer.isNotifying { peripheral.setNotifyValue(true, for: offer) }
  }

  /// Takes over the characteristics that the peripheral has now, and no others. A link that the system does not
  /// continue, for example because the user did not let this app use Bluetooth in between, begins without what was
  /// discovered before.
  func know(_ peripheral: CBPeripheral) {
    known = LockCharacteristics()
    known.find(in: peripheral)
  }

  private func discover(_ peripheral: CBPeripheral) {
    logger.record(Recorded.Agent.discoveryStarted, [.peripheral: peripheral.identifier.uuidString])
    peripheral.discoverServices([LockCharacteristics.serviceUUID, LockCharacteristics.informationUUID])
  }

  func forgetCharacteristics() {
    known = LockCharacteristics()
    bond = BondRequest()
    isInformationWanted = false
    wantsReplies = false
  }

  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    // Where the lock's service is not known, it may be what is new.
    guard peripheral == self.peripheral,
      !known.isWhole || invalidatedServices.contains(where: { $0.uuid == LockCharacteristics.serviceUUID })
    else {
      return
    }
    logger.record(Recorded.Agent.servicesChanged, [.peripheral: peripheral.identifier.uuidString])
    forgetCharacteristics()
    discover(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    guard peripheral == self.peripheral else { return }
    if isInformationWanted { return informationFound(at: peripheral) }
    guard let service = LockCharacteristics.service(of: peripheral) else {
      return isNoLock(peripheral, "the lock service is not there", error)
    }
    peripheral.discoverCharacteristics(LockCharacteristics.all, for: service)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    guard peripheral == self.peripheral else { return }
    if service.uuid == LockCharacteristics.informationUUID { return readInformation(of: service, at: peripheral) }
    known.find(in: peripheral)
    if wantsReplies { return listenToReplies() }
    if known.isWhole { return explore(peripheral) }
    if error == nil, let next = LockCharacteristics.service(after: service, of: peripheral) {
      return peripheral.discoverCharacteristics(LockCharacteristics.all, for: next)
    }
    isNoLock(peripheral, "the lock service is not whole", error)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    guard peripheral == self.peripheral else { return }
    if characteristic.uuid == LockCharacteristics.replyUUID {
      return app.listensToReplies(
        error.map { NoAnswer("The lock's replies can't be heard: \($0.reason)") })
    }
    guard let error else {
      guard characteristic.uuid == LockCharacteristics.offerUUID, characteristic.isNotifying else { return }
      logger.record(Recorded.Agent.subscribed)
      if isOfferWanted { offerReadDue = time.now + Self.offerPatience }
      return setAlarm()
    }
    if hasLinkEnded(peripheral, error) {
      return logger.info("no subscription to \(characteristic.uuid): \(error)")
    }
    let isOffer = characteristic.uuid == LockCharacteristics.offerUUID
    if isOffer { offerRetries.failed(at: time.now) } else { answerRetries.failed(at: time.now) }
    setAlarm()
    let isLast = isOffer ? offerRetries.isExhausted : answerRetries.isExhausted
    logger.log(level: isLast ? .error : .warning, "no subscription to \(characteristic.uuid): \(error)")
  }

  /// An offer has arrived, so the lock is talking to us. Without a subscription to the answer, we would not receive
  /// its replies.
  private func subscribeToAnswer() {
    // If it failed before, for example before the bond existed, this is the time to retry.
    guard answerRetries.due != nil else { return }
    answerRetries.linkBegan()
    subscribe(to: known.answer)
  }

  func peripheral(_ peripheral: CBPeripheral, didReadRSSI signal: NSNumber, error: (any Error)?) {
    guard peripheral == self.peripheral else { return }
    if let error { logger.info("the signal can't be read: \(error)") }
    app.signalRead(error == nil ? signal.intValue : nil)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    guard peripheral == self.peripheral else { return }
    if characteristic.uuid == LockCharacteristics.firmwareRevisionUUID {
      bond.ended(isSuccess: error == nil, at: time.now)
      if error == nil { app.bonded() }
    }
    guard error == nil, let value = characteristic.value else {
      return logger.log(
        level: hasLinkEnded(peripheral, error) ? .info : .warning,
        "no value of \(characteristic.uuid): \(error.map { "\($0)" } ?? "none given")")
    }
    switch characteristic.uuid {
    case LockCharacteristics.offerUUID:
      subscribeToAnswer()
      if Array(value) != LockService.offerHint {
        forgetWantedOffer()
        app.offerReceived(Array(value))
      } else if !app.hearsOwnOffers || app.refusesPhone {
        readOffer()
      }
    case LockCharacteristics.answerUUID:
      app.answerReceived(Array(value))
      if app.isAdmitted { askForBond() }
      // Only a device with the lock's private key can answer.
      if search.isSearching, app.knownLock == peripheral.identifier { endSearch(with: peripheral) }
    case LockCharacteristics.replyUUID: app.replyReceived(Array(value))
    default: break
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    guard peripheral == self.peripheral, let error else { return }
    if characteristic.uuid == LockCharacteristics.requestUUID { return app.requestFailed() }
    guard characteristic.uuid == LockCharacteristics.commandUUID else { return }
    app.writeFailed(error, isSearching: search.isSearching)
    if search.isSearching { perform(search.refused(peripheral.identifier, at: time.now)) }
  }

  private func isNoLock(_ peripheral: CBPeripheral, _ finding: String, _ error: (any Error)?) {
    // A link that ended says nothing about what it led to.
    if hasLinkEnded(peripheral, error) { return logger.info("\(finding): the link has ended") }
    logger.warning("\(finding)\(error.map { ": \($0)" } ?? "")")
    if search.isSearching, peripheral == self.peripheral {
      perform(search.failed(peripheral.identifier, at: time.now))
    }
  }

  /// Whether an operation failed only because its link ended. The next link makes up for it.
  private func hasLinkEnded(_ peripheral: CBPeripheral, _ error: (any Error)?) -> Bool {
    peripheral.state != .connected || (error as? CBError)?.code == .peripheralDisconnected
  }
}
