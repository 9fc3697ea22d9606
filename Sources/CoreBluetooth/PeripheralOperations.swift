import AppLink
import BluetoothTypes
import Foundation

/// An operation that the app asked for and that has not ended.
struct PendingOperation {
  let peripheral: CBPeripheral
  let operation: PeripheralOperation
  /// The attribute it is about, or `nil` for the peripheral as a whole.
  let subject: CBAttribute?
  /// The system has answered this write without response, but the delegate's queue has not handled the answer yet.
  var isAnswered = false
  /// The operation was sent to the system. If not, it is sent when the system is back.
  var wasSent: Bool
  /// Operations on the same attribute that the app asked for later and that can't succeed.
  var refused: [RefusedOperation] = []
}

/// An operation that can't succeed, so that it is not sent. Its delegate is told in the order of the calls.
struct RefusedOperation {
  let operation: PeripheralOperation
  let subject: CBAttribute?
  let error: CBATTError
}

extension CBPeripheral {
  /// Whether commands are accepted. If not, the misuse is logged.
  func isConnected(_ command: String) -> Bool {
    guard let manager else {
      AppSession.active.logger.critical(
        "API MISUSE: \(command) is ignored: nothing refers any more to the CBCentralManager of \(self)")
      return false
    }
    guard manager.acceptsCommands(command) else { return false }
    guard state == .connected else {
      manager.session.logger.critical(
        "API MISUSE: \(command) is ignored: \(self) accepts commands only while it is connected")
      return false
    }
    return true
  }

  /// Sends an operation to the system. If `refusal` says that it can't succeed, the delegate is told instead.
  func perform(
    _ operation: PeripheralOperation, for subject: CBAttribute?, _ command: String, refusal: CBATTError.Code? = nil
  ) {
    guard isConnected(command), let manager else { return }
    if let subject, !owns(subject) {
      manager.session.logger.critical(
        "API MISUSE: \(command) is ignored: \(self) has not discovered \(subject)")
      return
    }
    var refusal = refusal
    if let subject, locked({ isReplaced(subject) }) { refusal = .invalidHandle }
    if let refusal {
      let error = CBATTError(refusal, because: "\(command) is not possible: \(refusal).")
      refuse(RefusedOperation(operation: operation, subject: subject, error: error), by: manager)
      return
    }
    locked {
      let identifier = manager.session.makeOperationIdentifier()
      if case .writeCharacteristic(_, _, withResponse: false) = operation {
        unansweredWrites += 1
        owesReadiness = true
        if unansweredWrites >= Self.writeWindow { isRefusingWrites = true }
      }
      let wasSent = manager.session.send(
        .central(manager.managerIdentifier, .perform(peer, identifier, operation)), for: manager)
      manager.pending[identifier] = PendingOperation(
        peripheral: self, operation: operation, subject: subject, wasSent: wasSent)
    }
  }

  /// Tells the delegate that an operation failed, after the answers to earlier operations on the same attribute: apps tell
  /// the answers apart by their order alone.
  private func refuse(_ refused: RefusedOperation, by manager: CBCentralManager) {
    guard !locked({ manager.holds([refused], of: self, behind: nil) }) else { return }
    tellLater { $0.tellFailure(of: refused.operation, refused.subject, refused.error) }
  }

  /// Tells the delegate something on the manager's queue, in order with everything else.
  func tellLater(_ tell: @escaping @Sendable (CBPeripheral) -> Void) {
    manager?.enqueue {
      tell(self)
    } after: {
    }
  }

  private func owns(_ attribute: CBAttribute) -> Bool {
    switch attribute {
    case let service as CBService: service.peripheral === self
    case let characteristic as CBCharacteristic: locked { characteristic.origin } === self
    case let descriptor as CBDescriptor: locked { descriptor.origin } === self
    default: false
    }
  }

  /// Whether another attribute has taken this one's handle since it was discovered: the app has kept the object past
  /// the end of a link or `didModifyServices`. If the handle is merely unknown, the system answers the operation
  /// itself, with an error if the peripheral no longer has the attribute.
  private func isReplaced(_ attribute: CBAttribute) -> Bool {
    switch attribute {
    case let service as CBService:
      allServices.contains { $0.handle == service.handle && $0.attributeUUID != service.attributeUUID }
    case let characteristic as CBCharacteristic:
      self.characteristic(characteristic.handle).map { $0.attributeUUID != characteristic.attributeUUID } ?? false
    // The system does not compare descriptors with what the app has discovered.
    case let descriptor as CBDescriptor:
      descriptor.owner.map { isReplaced($0) || characteristic($0.handle) == nil } ?? true
    default: false
    }
  }

  /// Notes how the delegate is told that an operation has ended.
  private func noteEnd(of operation: PeripheralOperation, _ subject: CBAttribute?, _ error: (any Error)?) {
    guard let manager, manager.session.observer != nil else { return }
    let method: String
    var value: Data?
    switch operation {
    case .discoverServices: method = "didDiscoverServices"
    case .discoverIncludedServices: method = "didDiscoverIncludedServicesFor"
    case .discoverCharacteristics: method = "didDiscoverCharacteristicsFor"
    case .discoverDescriptors: method = "didDiscoverDescriptorsFor"
    case .readCharacteristic:
      method = "didUpdateValueFor"
      value = (subject as? CBCharacteristic)?.value
    case .readDescriptor: method = "didUpdateValueFor"
    case .writeCharacteristic(_, _, withResponse: false): return
    case .writeCharacteristic, .writeDescriptor: method = "didWriteValueFor"
    case .setNotify: method = "didUpdateNotificationStateFor"
    case .readRSSI: method = "didReadRSSI"
    case .openChannel: method = "didOpen"
    }
    manager.tells(method, self, subject, value: value, error: error)
  }

  /// Tells the delegate that an operation failed.
  func tellFailure(of operation: PeripheralOperation, _ subject: CBAttribute?, _ error: any Error) {
    noteEnd(of: operation, subject, error)
    guard let delegate else { return }
    switch (operation, subject) {
    case (.discoverServices, _): delegate.peripheral(self, didDiscoverServices: error)
    case (.discoverIncludedServices, let service as CBService):
      delegate.peripheral(self, didDiscoverIncludedServicesFor: service, error: error)
    case (.discoverCharacteristics, let service as CBService):
      delegate.peripheral(self, didDiscoverCharacteristicsFor: service, error: error)
    case (.discoverDescriptors, let characteristic as CBCharacteristic):
      delegate.peripheral(self, didDiscoverDescriptorsFor: characteristic, error: error)
    case (.readCharacteristic, let characteristic as CBCharacteristic):
      tellValueRead(characteristic, error, delegate)
    case (.writeCharacteristic(_, _, let withResponse), let characteristic as CBCharacteristic):
      if withResponse { delegate.peripheral(self, didWriteValueFor: characteristic, error: error) }
    case (.setNotify, let characteristic as CBCharacteristic):
      delegate.peripheral(self, didUpdateNotificationStateFor: characteristic, error: error)
    case (.readDescriptor, let descriptor as CBDescriptor):
      delegate.peripheral(self, didUpdateValueFor: descriptor, error: error)
    case (.writeDescriptor, let descriptor as CBDescriptor):
      delegate.peripheral(self, didWriteValueFor: descriptor, error: error)
    case (.readRSSI, _): tellSignal(NSNumber(value: 127), error, delegate)
    case (.openChannel, _): delegate.peripheral(self, didOpen: nil, error: error)
    default: break
    }
  }

  /// Tells the delegate that an operation succeeded. The state has already been changed.
  func tellSuccess(of operation: PeripheralOperation, _ subject: CBAttribute?) {
    noteEnd(of: operation, subject, nil)
    guard let delegate else { return }
    switch (operation, subject) {
    case (.discoverServices, _): delegate.peripheral(self, didDiscoverServices: nil)
    case (.discoverIncludedServices, let service as CBService):
      delegate.peripheral(self, didDiscoverIncludedServicesFor: service, error: nil)
    case (.discoverCharacteristics, let service as CBService):
      delegate.peripheral(self, didDiscoverCharacteristicsFor: service, error: nil)
    case (.discoverDescriptors, let characteristic as CBCharacteristic):
      delegate.peripheral(self, didDiscoverDescriptorsFor: characteristic, error: nil)
    case (.readCharacteristic, let characteristic as CBCharacteristic):
      tellValueRead(characteristic, nil, delegate)
    case (.writeCharacteristic(_, _, let withResponse), let characteristic as CBCharacteristic):
      if withResponse { delegate.peripheral(self, didWriteValueFor: characteristic, error: nil) }
    case (.setNotify, let characteristic as CBCharacteristic):
      delegate.peripheral(self, didUpdateNotificationStateFor: characteristic, error: nil)
    case (.readDescriptor, let descriptor as CBDescriptor):
      delegate.peripheral(self, didUpdateValueFor: descriptor, error: nil)
    case (.writeDescriptor, let descriptor as CBDescriptor):
      delegate.peripheral(self, didWriteValueFor: descriptor, error: nil)
    case (.readRSSI, _): tellSignal(locked { lastRSSI } ?? NSNumber(value: 127), nil, delegate)
    default: break
    }
  }

  /// Whether a delegate is being told what was read. The same method tells it of notifications, and Apple's API does not
  /// say which it is.
  @TaskLocal package static var isTellingValueRead = false

  private func tellValueRead(
    _ characteristic: CBCharacteristic, _ error: (any Error)?, _ delegate: any CBPeripheralDelegate
  ) {
    Self.$isTellingValueRead.withValue(true) {
      delegate.peripheral(self, didUpdateValueFor: characteristic, error: error)
    }
  }

  /// A delegate that has only the older method is told with that one.
  private func tellSignal(_ signal: NSNumber, _ error: (any Error)?, _ delegate: any CBPeripheralDelegate) {
    let hasNewer = DelegateCall.reaches(delegate) { delegate.peripheral(self, didReadRSSI: signal, error: error) }
    if !hasNewer { (OldMethods(delegate: delegate) as any DeprecatedMethods).tellSignal(self, error) }
  }

  /// Applies a result to the objects, under the lock. Returns whether it fits the operation.
  func take(_ result: OperationResult, of operation: PeripheralOperation, _ subject: CBAttribute?) -> Bool {
    switch (operation, result) {
    case (.discoverServices(let uuids), .services(let services)): add(services: services, lookingFor: uuids)
    case (.discoverIncludedServices, .includedServices(_, let services)):
      (subject as? CBService)?.includedServiceList = include(services)
    case (.discoverCharacteristics(let uuids, _), .characteristics(_, let characteristics)):
      (subject as? CBService)?.add(characteristics: characteristics, lookingFor: uuids)
    case (.discoverDescriptors, .descriptors(_, let descriptors)):
      (subject as? CBCharacteristic)?.merge(descriptors: descriptors)
    case (.readCharacteristic, .value(let value)): (subject as? CBCharacteristic)?.currentValue = Data(value)
    case (.readDescriptor, .value(let value)):
      if let descriptor = subject as? CBDescriptor {
        descriptor.currentValue = CBDescriptor.typedValue(value, of: descriptor.attributeUUID.bluetoothUUID)
      }
    case (.setNotify, .notifying(let notifying)): (subject as? CBCharacteristic)?.notifying = notifying
    case (.setNotify(let notifying, _), .done): (subject as? CBCharacteristic)?.notifying = notifying
    case (.readRSSI, .rssi(let rssi)): lastRSSI = NSNumber(value: rssi)
    case (.writeCharacteristic, .done), (.writeDescriptor, .done): break
    default: return false
    }
    return true
  }
}

extension CBCentralManager {
  /// An operation ended. Runs on the manager's queue.
  func complete(_ identifier: OperationIdentifier, _ result: OperationResult) {
    // Unknown if the connection was lost in the meantime, because its operations ended with it.
    guard let done = locked({ pending.removeValue(forKey: identifier) }) else { return }
    let peripheral = done.peripheral
    if case .openChannel(let psm) = done.operation, case .channel(let socket, let mtu) = result {
      // A channel that nobody takes ends with its socket.
      let channel = CBL2CAPChannel(
        peer: peripheral, psm: psm, socket: socket, mtu: mtu, queue: queue, delivery: delivery, session: session)
      locked { peripheral.opened(channel) }
      tells("didOpen", peripheral)
      peripheral.delegate?.peripheral(peripheral, didOpen: channel, error: nil)
    } else if case .failed(let error) = result {
      peripheral.tellFailure(of: done.operation, done.subject, error.appError)
    } else if locked({ peripheral.take(result, of: done.operation, done.subject) }) {
      peripheral.tellSuccess(of: done.operation, done.subject)
    } else {
      session.logger.error("\(result) is not an answer to \(done.operation)")
      peripheral.tellFailure(of: done.operation, done.subject, CBError(.unknown, "The system gave a wrong answer."))
    }
    if case .writeCharacteristic(_, _, withResponse: false) = done.operation {
      writeLeft(peripheral, isCounted: done.isAnswered)
    }
    guard !done.refused.isEmpty, !locked({ holds(done.refused, of: peripheral, behind: identifier) }) else { return }
    for refused in done.refused { peripheral.tellFailure(of: refused.operation, refused.subject, refused.error) }
  }

  /// Keeps refusals on one attribute until the latest operation on it is answered that was asked for before another one, or
  /// before now. Answers of different kinds may overtake each other, so at its end an earlier one may still be open.
  /// - Returns: Whether there is such an operation. Writes without response have no answer.
  fileprivate func holds(
    _ refused: [RefusedOperation], of peripheral: CBPeripheral, behind other: OperationIdentifier?
  ) -> Bool {
    let earlier = pending.filter { identifier, entry in
      entry.peripheral === peripheral && entry.subject === refused.first?.subject && !entry.operation.isWriteCommand
        && other.map { identifier.rawValue < $0.rawValue } ?? true
    }
    guard let last = earlier.keys.max(by: { $0.rawValue < $1.rawValue }) else { return false }
    // Those that were held here come from calls before this one's.
    pending[last]?.refused.append(contentsOf: refused)
    return true
  }

  /// The system has answered a write without response, which makes room at once. The delegate's queue is not waited
  /// for, because an app may write in a loop on that queue.
  func answered(_ identifier: OperationIdentifier) {
    locked {
      guard let entry = pending[identifier], !entry.isAnswered,
        case .writeCharacteristic(_, _, withResponse: false) = entry.operation
      else { return }
      pending[identifier]?.isAnswered = true
      entry.peripheral.unansweredWrites = max(0, entry.peripheral.unansweredWrites - 1)
    }
  }

  /// A write without response has ended. Calls `peripheralIsReady` if all such writes have been sent, as Apple's page
  /// on `canSendWriteWithoutResponse` says, or if there is room again. Apps take the call for the end of each write:
  /// nRF Mesh then sends its next segment, and the Flutter plugins flutter_blue_plus and universal_ble complete the
  /// write.
  /// - Parameter isCounted: `answered` has already counted this write.
  private func writeLeft(_ peripheral: CBPeripheral, isCounted: Bool) {
    let isReady = locked {
      if !isCounted { peripheral.unansweredWrites = max(0, peripheral.unansweredWrites - 1) }
      let isFlushed = peripheral.owesReadiness && peripheral.unansweredWrites == 0
      let hasRoom = peripheral.isRefusingWrites && peripheral.unansweredWrites < CBPeripheral.writeWindow
      guard isFlushed || hasRoom else { return false }
      peripheral.owesReadiness = false
      peripheral.isRefusingWrites = false
      return true
    }
    guard isReady else { return }
    tells("isReady", peripheral)
    peripheral.delegate?.peripheralIsReady(toSendWriteWithoutResponse: peripheral)
  }

  /// The system came back. Operations that can be repeated are sent again. A write that had been sent may or may not
  /// have happened; the app is told that, and the write is never repeated.
  func resumePendingOperations() {
    let unknown: [(OperationIdentifier, PendingOperation)] = locked {
      var unknown: [(OperationIdentifier, PendingOperation)] = []
      for (identifier, entry) in pending.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
        if entry.wasSent, entry.operation.isWrite {
          unknown.append((identifier, entry))
          continue
        }
        pending[identifier]?.wasSent = session.send(
          .central(managerIdentifier, .perform(entry.peripheral.peer, identifier, entry.operation)), for: self)
      }
      return unknown
    }
    let error = PeerError.coreBluetooth(
      .unknown,
      message: "The Bluetooth system went away in mid-write; the write may or may not have happened.")
    for (identifier, _) in unknown { complete(identifier, .failed(error)) }
  }
}

extension PeripheralOperation {
  var isWrite: Bool {
    switch self {
    case .writeCharacteristic, .writeDescriptor: true
    default: false
    }
  }
}
