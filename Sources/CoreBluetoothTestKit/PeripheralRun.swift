import CoreBluetooth
import Foundation

/// The peripheral's app: it runs while its machine is on.
final class PeripheralRun: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  private let peripheral: SimulatedPeripheral
  private let clock: SimulatedClock
  private let queue: DispatchQueue
  private let lock = NSLock()
  private var published: [CBUUID: CBMutableCharacteristic] = [:]
  private var wasOn = false
  /// Whether the system was last asked to advertise. It may not have begun yet.
  private var isToAdvertise = false
  private var unsent: [(value: Data, uuid: CBUUID)] = []
  /// Whether the test's code is deciding on an answer. Values that it sends in that time are sent after the answer.
  private var isAnswering = false
  // Set once, in `init`. The delegate's methods may be called before that, so they use the manager that they are
  // given.
  private var manager: CBPeripheralManager?

  init(_ peripheral: SimulatedPeripheral, _ clock: SimulatedClock) {
    (self.peripheral, self.clock) = (peripheral, clock)
    queue = DispatchQueue(label: peripheral.name)
    super.init()
    peripheral.begin(self)
    manager = CBPeripheralManager(
      delegate: self, queue: queue,
      options: [CBPeripheralManagerOptionRestoreIdentifierKey: peripheral.name])
  }

  func subscriberCount(_ uuid: CBUUID) -> Int {
    lock.withLock { published[uuid] }?.subscribedCentrals?.count ?? 0
  }

  func send(_ value: Data, _ uuid: CBUUID) {
    lock.withLock { unsent.append((value, uuid)) }
    sendUnsent()
  }

  private func sendUnsent() {
    lock.withLock {
      while !isAnswering, let first = unsent.first {
        guard let characteristic = published[first.uuid], manager?.state == .poweredOn else {
          // Nobody is subscribed to what is not published.
          unsent = []
          return
        }
        guard manager?.updateValue(first.value, for: characteristic, onSubscribedCentrals: nil) == true else { return }
        unsent.removeFirst()
      }
    }
  }

  private func take(_ services: [CBMutableService]) {
    let characteristics = services.flatMap { $0.characteristics ?? [] }.compactMap { $0 as? CBMutableCharacteristic }
    lock.withLock { published = Dictionary(characteristics.map { ($0.uuid, $0) }) { first, _ in first } }
  }

  func peripheralManager(_ manager: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    take(dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? [])
  }

  func peripheralManagerDidUpdateState(_ manager: CBPeripheralManager) {
    let isOn = manager.state == .poweredOn
    lock.withLock {
      // Published services end when the radio goes off. Services that were restored while the radio is off stay.
      if wasOn, !isOn { (published, isToAdvertise) = ([:], false) }
      if !wasOn, isOn { isToAdvertise = manager.isAdvertising }
      wasOn = isOn
    }
    guard isOn else { return }
    // PSMs end with the radio and with the process, and are not restored, so they are published each time.
    publish(peripheral.allListeners, at: manager)
    renew(manager)
    if lock.withLock({ published.isEmpty }) { publishServices(manager) }
    advertise(manager)
  }

  private func publishServices(_ manager: CBPeripheralManager) {
    let services = peripheral.makeServices()
    take(services)
    for service in services { manager.add(service) }
  }

  /// Publishes and advertises other services, if there are any. While the radio is off, they wait for it.
  func renew(_ given: CBPeripheralManager? = nil) {
    guard let manager = given ?? manager, manager.state == .poweredOn, peripheral.takeNewServices() else { return }
    lock.withLock { unsent = [] }
    manager.removeAllServices()
    publishServices(manager)
    stopAdvertising(manager)
    advertise(manager)
  }

  /// What it advertises has changed.
  func advertiseAnew() {
    guard let manager, manager.state == .poweredOn else { return }
    stopAdvertising(manager)
    advertise(manager)
  }

  func advertise(_ given: CBPeripheralManager? = nil) {
    guard let manager = given ?? manager, manager.state == .poweredOn else { return }
    guard peripheral.isAdvertising else { return stopAdvertising(manager) }
    let isNew = lock.withLock {
      defer { isToAdvertise = true }
      return !isToAdvertise
    }
    if isNew { manager.startAdvertising(peripheral.advertisement) }
  }

  private func stopAdvertising(_ manager: CBPeripheralManager) {
    let isOver = lock.withLock {
      defer { isToAdvertise = false }
      return isToAdvertise
    }
    if isOver { manager.stopAdvertising() }
  }

  /// A service that can't be published is a mistake of the test, which would wait for it in vain.
  func peripheralManager(_ manager: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
    guard let error = error as? CBError, [.invalidParameters, .uuidNotAllowed].contains(error.code) else { return }
    let reason = error.userInfo[NSLocalizedFailureReasonErrorKey].map { ": \($0)" } ?? ""
    let text = error.localizedDescription + reason
    preconditionFailure("the peripheral \"\(peripheral.name)\" can't have the service \(service.uuid): \(text)")
  }

  func peripheralManager(_ manager: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    answer { [self] in answer(manager, read: request) }
  }

  func peripheralManager(_ manager: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    answer { [self] in answer(manager, writes: requests) }
  }

  private func answer(_ body: @escaping @Sendable () -> Void) {
    let answer: @Sendable () -> Void = { [self] in
      lock.withLock { isAnswering = true }
      body()
      lock.withLock { isAnswering = false }
      sendUnsent()
    }
    switch peripheral.answers {
    case .atOnce: answer()
    case .after(let delay): clock.after(delay, perform: answer)
    case .never: break
    }
  }

  private func answer(_ manager: CBPeripheralManager, read request: CBATTRequest) {
    do {
      let value = try peripheral.answerRead(request.characteristic.uuid)
      guard request.offset <= value.count else { return manager.respond(to: request, withResult: .invalidOffset) }
      request.value = value.dropFirst(request.offset)
      manager.respond(to: request, withResult: .success)
    } catch { manager.respond(to: request, withResult: code(of: error)) }
  }

  private func answer(_ manager: CBPeripheralManager, writes requests: [CBATTRequest]) {
    guard let first = requests.first else { return }
    do {
      for request in requests { try peripheral.takeWrite(request.value ?? Data(), request.characteristic.uuid) }
      manager.respond(to: first, withResult: .success)
    } catch { manager.respond(to: first, withResult: code(of: error)) }
  }

  /// Publishes PSMs. While the radio is off it does nothing, because all PSMs are published when the radio is on.
  func publish(_ listeners: [SimulatedChannelListener], at given: CBPeripheralManager? = nil) {
    guard let manager = given ?? manager, manager.state == .poweredOn else { return }
    for listener in listeners { manager.publishChannel(listener.psm, requiresEncryption: listener.requiresEncryption) }
  }

  func unpublish(_ psm: CBL2CAPPSM) {
    if let manager, manager.state == .poweredOn { manager.unpublishL2CAPChannel(psm) }
  }

  func peripheralManager(_ manager: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
    guard let channel else { return }
    peripheral.allListeners.first { $0.psm == channel.psm }?.take(channel, on: queue)
  }

  func peripheralManagerIsReady(toUpdateSubscribers manager: CBPeripheralManager) { sendUnsent() }

  private func code(of error: any Error) -> CBATTError.Code { (error as? CBATTError)?.code ?? .unlikelyError }
}
