import CoreBluetooth
import Journal
import JournalEvents
import LockFirmware
import LockProtocol
import Logging

/// The lock's radio: the lock service, published by a `CBPeripheralManager`.
final class LockPeripheral: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  // Everything here happens on the main queue.
  static let restoreIdentifier = "org.latchkey.lock.peripheral"
  private static let serviceUUID = CBUUID(string: LockService.serviceUUID)
  private static let offerUUID = CBUUID(string: LockService.offerUUID)
  private static let commandUUID = CBUUID(string: LockService.commandUUID)
  private static let quickCommandUUID = CBUUID(string: LockService.quickCommandUUID)
  private static let answerUUID = CBUUID(string: LockService.answerUUID)
  private static let requestUUID = CBUUID(string: LockService.requestUUID)
  private static let replyUUID = CBUUID(string: LockService.replyUUID)
  private static let enrolmentUUID = CBUUID(string: LockService.enrolmentUUID)

  private unowned let app: LockApp
  private let logger: Logger
  private var manager: CBPeripheralManager?
  private var offer: CBMutableCharacteristic?
  private var answer: CBMutableCharacteristic?
  private var reply: CBMutableCharacteristic?
  private var quickCommand: CBMutableCharacteristic?
  private var enrolment: CBMutableCharacteristic?
  private var standard = StandardServices()
  private var isRestored = false
  private var wasPoweredOn = false
  /// The centrals that are subscribed to offers.
  private var centrals: [CBCentral] = []
  /// The centrals that are subscribed to Enrolment.
  private var enrolling: [CBCentral] = []
  /// Values that the system could not accept yet, oldest first. A value without a central is for all subscribers.
  private var unsent: [(characteristic: CBMutableCharacteristic, central: CBCentral?, value: Data)] = []
  /// The most unsent values: more than the fragments of one reply on a link with the smallest MTU.
  private static let maximumUnsentCount = 256

  init(_ app: LockApp, logger: Logger) {
    self.app = app
    self.logger = logger
    super.init()
    manager = CBPeripheralManager(
      delegate: self, queue: .main,
      options: [CBPeripheralManagerOptionRestoreIdentifierKey: Self.restoreIdentifier])
  }

  /// Sends the values of one central's offer. Values of its earlier offers that still wait are dropped.
  func sendOffer(_ values: [[UInt8]], to central: CentralIdentifier) {
    unsent.removeAll { value in
      value.characteristic === offer && value.central.map { CentralIdentifier($0) == central } == true
    }
    for value in values { send(value, offer, central) }
  }

  func sendAnswer(_ bytes: [UInt8], to identifier: CentralIdentifier) {
    guard let answer, let central = hearers.first(where: { CentralIdentifier($0) == identifier }) else { return }
    enqueue((answer, central, Data(bytes)))
  }

  /// The centrals that can be answered. One that reads its offers need not be subscribed to them.
  private var hearers: [CBCentral] { centrals + (answer?.subscribedCentrals ?? []) }

  /// Sends all fragments of a reply, or none of them.
  func sendReply(_ message: [UInt8], tag: UInt8, to identifier: CentralIdentifier) {
    guard let reply, let central = centrals.first(where: { CentralIdentifier($0) == identifier }) else { return }
    let fragments = Fragments.cut(message, tag: tag, valueByteCount: central.maximumUpdateValueLength)
    guard unsent.count + fragments.count <= Self.maximumUnsentCount else {
      return logger.warning("a reply is dropped: \(unsent.count) values wait for the radio")
    }
    for fragment in fragments { enqueue((reply, central, Data(fragment))) }
  }

  /// Sends all fragments of a message of an enrolment, or none of them.
  func sendEnrolment(_ message: [UInt8], tag: UInt8, to identifier: CentralIdentifier) {
    guard let enrolment, let central = enrolling.first(where: { CentralIdentifier($0) == identifier }) else { return }
    let fragments = Fragments.cut(message, tag: tag, valueByteCount: central.maximumUpdateValueLength)
    guard unsent.count + fragments.count <= Self.maximumUnsentCount else { return }
    for fragment in fragments { enqueue((enrolment, central, Data(fragment))) }
  }

  private func send(_ bytes: [UInt8], _ characteristic: CBMutableCharacteristic?, _ identifier: CentralIdentifier) {
    guard let characteristic, let central = centrals.first(where: { CentralIdentifier($0) == identifier }) else {
      return
    }
    enqueue((characteristic, central, Data(bytes)))
  }

  private func enqueue(_ value: (CBMutableCharacteristic, CBCentral?, Data)) {
    if unsent.count == Self.maximumUnsentCount { unsent.removeFirst() }
    unsent.append(value)
    sendUnsent()
  }

  private func sendUnsent() {
    while let next = unsent.first {
      let wasTaken = manager?.updateValue(
        next.value, for: next.characteristic, onSubscribedCentrals: next.central.map { [$0] })
      guard wasTaken == true else { return }
      unsent.removeFirst()
    }
  }

  // MARK: Publishing

  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
    logger.record(
      Recorded.Lock.willRestoreState,
      [.services: services.map(\.uuid.uuidString).joined(separator: " ")])
    for characteristic in services.first(where: { $0.uuid == Self.serviceUUID })?.characteristics ?? [] {
      switch characteristic.uuid {
      case Self.offerUUID: offer = characteristic as? CBMutableCharacteristic
      case Self.answerUUID: answer = characteristic as? CBMutableCharacteristic
      case Self.replyUUID: reply = characteristic as? CBMutableCharacteristic
      case Self.quickCommandUUID: quickCommand = characteristic as? CBMutableCharacteristic
      case Self.enrolmentUUID: enrolment = characteristic as? CBMutableCharacteristic
      default: break
      }
    }
    standard.restore(services)
    isRestored = isWhole
  }

  /// Whether every characteristic is published. An earlier release published fewer.
  private var isWhole: Bool {
    offer != nil && answer != nil && reply != nil && quickCommand != nil && enrolment != nil && standard.isWhole
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    logger.record(Recorded.Lock.stateUpdated, [.state: "\(peripheral.state)"])
    guard peripheral.state == .poweredOn else {
      // Links and publications end with the radio. What was restored waits until the radio is on.
      guard wasPoweredOn else { return }
      wasPoweredOn = false
      for central in centrals { app.linkDown(CentralIdentifier(central)) }
      centrals = []
      unsent = []
      offer = nil
      answer = nil
      reply = nil
      quickCommand = nil
      enrolment = nil
      enrolling = []
      standard = StandardServices()
      return
    }
    wasPoweredOn = true
    if isWhole {
      // All centrals are taken first, because each offer depends on how many there are.
      centrals = offer?.subscribedCentrals ?? []
      enrolling = enrolment?.subscribedCentrals ?? []
      for central in centrals { linkUp(central, isRestored: isRestored) }
      isRestored = false
      advertise()
    } else {
      publish()
    }
  }

  private func publish() {
    manager?.removeAllServices()
    // None of these needs an encrypted link. The session proves and encrypts everything that matters, and a central
    // that has proven nothing may not bond (`LockFirmware.acceptsBonds`).
    func characteristic(
      _ uuid: CBUUID, _ properties: CBCharacteristicProperties, _ permissions: CBAttributePermissions
    ) -> CBMutableCharacteristic {
      CBMutableCharacteristic(type: uuid, properties: properties, value: nil, permissions: permissions)
    }
    let offer = characteristic(Self.offerUUID, [.read, .notify], .readable)
    let command = characteristic(Self.commandUUID, .write, .writeable)
    let answer = characteristic(Self.answerUUID, .notify, .readable)
    let request = characteristic(Self.requestUUID, .write, .writeable)
    let reply = characteristic(Self.replyUUID, .notify, .readable)
    // bluetoothd also allows the write with response on it, on an encrypted link, and clients expect that.
    let quickCommand = characteristic(Self.quickCommandUUID, [.writeWithoutResponse, .write], .writeable)
    // Anyone may read whether the window is open, before a bond exists.
    let enrolment = characteristic(
      Self.enrolmentUUID, [.read, .write, .notifyEncryptionRequired], [.readable, .writeEncryptionRequired])
    let service = CBMutableService(type: Self.serviceUUID, primary: true)
    // The characteristics of earlier releases stay in their places.
    service.characteristics = [offer, command, answer, request, reply, quickCommand, enrolment]
    self.offer = offer
    self.answer = answer
    self.reply = reply
    self.quickCommand = quickCommand
    self.enrolment = enrolment
    manager?.add(service)
    manager?.add(standard.makeInformation())
    if let battery = standard.makeBattery(app.battery) { manager?.add(battery) }
  }

  /// Notifies subscribers of the battery's level, if it has changed. If the radio can't take a level now, they hear of
  /// the next change. A read always gives the present level.
  func tell(battery percent: UInt8?) {
    // The Battery service is published after the other services.
    if standard.isWhole, manager?.state == .poweredOn, let battery = standard.makeBattery(percent) {
      manager?.add(battery)
    }
    guard let level = standard.changedLevel(percent) else { return }
    _ = manager?.updateValue(Data([percent ?? 0]), for: level, onSubscribedCentrals: nil)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
    if let error {
      logger.error("the service \(service.uuid) can't be published: \(error)")
    } else if service.uuid == Self.serviceUUID {
      advertise()
    }
  }

  /// Advertises only the service, because a name or a state in the clear would tell strangers about the door.
  private func advertise() {
    guard let manager, !manager.isAdvertising else { return }
    manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [Self.serviceUUID]])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
    if let error { logger.error("the lock can't advertise: \(error)") }
  }

  // MARK: Links

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    if characteristic.uuid == Self.enrolmentUUID {
      enrolling.removeAll { $0.identifier == central.identifier }
      enrolling.append(central)
    }
    guard characteristic.uuid == Self.offerUUID else { return }
    linkUp(central, isRestored: false)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    if characteristic.uuid == Self.answerUUID {
      // For a central that is not subscribed to offers, this is the only sign that it has gone.
      if !centrals.contains(where: { $0.identifier == central.identifier }) {
        app.linkDown(CentralIdentifier(central))
      }
      return
    }
    if characteristic.uuid == Self.enrolmentUUID {
      enrolling.removeAll { $0.identifier == central.identifier }
      unsent.removeAll { $0.central?.identifier == central.identifier && $0.characteristic == enrolment }
    }
    guard characteristic.uuid == Self.offerUUID else { return }
    centrals.removeAll { $0.identifier == central.identifier }
    unsent.removeAll { $0.central?.identifier == central.identifier }
    app.linkDown(CentralIdentifier(central))
  }

  private func linkUp(_ central: CBCentral, isRestored: Bool) {
    centrals.removeAll { $0.identifier == central.identifier }
    centrals.append(central)
    app.linkUp(CentralIdentifier(central), isRestored: isRestored)
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { sendUnsent() }

  // MARK: Requests

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    let value: [UInt8]?
    switch request.characteristic.uuid {
    case Self.offerUUID: value = app.readOffer(CentralIdentifier(request.central))
    case Self.enrolmentUUID: value = app.enrolmentStatus.encoded
    case StandardServices.batteryLevelUUID: value = app.battery.map { [$0] }
    default: return peripheral.respond(to: request, withResult: .readNotPermitted)
    }
    guard let value else {
      return peripheral.respond(to: request, withResult: .insufficientResources)
    }
    guard request.offset <= value.count else {
      return peripheral.respond(to: request, withResult: .invalidOffset)
    }
    request.value = Data(value[request.offset...])
    peripheral.respond(to: request, withResult: .success)
  }

  /// Answers at once, even if the bolt has to turn. A response that waits for a motor would come too late.
  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    guard let request = requests.first else { return }
    if requests.count == 1, request.characteristic.uuid == Self.enrolmentUUID, request.offset == 0 {
      let status = app.writeEnrolment(Array(request.value ?? Data()), CentralIdentifier(request.central))
      let refusal = CBATTError.Code(rawValue: Int(status.attError)) ?? .insufficientAuthorization
      return peripheral.respond(to: request, withResult: status == .open ? .success : refusal)
    }
    let isCommand = [Self.commandUUID, Self.quickCommandUUID].contains(request.characteristic.uuid)
    guard requests.count == 1, isCommand || request.characteristic.uuid == Self.requestUUID, request.offset == 0 else {
      return peripheral.respond(to: request, withResult: .requestNotSupported)
    }
    let (value, central) = (Array(request.value ?? Data()), CentralIdentifier(request.central))
    if isCommand, !hearers.contains(where: { CentralIdentifier($0) == central }) {
      // The lock does nothing if the phone could never learn of it.
      app.commandIsUnanswerable(central)
      let refusal = CBATTError.Code(rawValue: Int(LockService.unsubscribedError)) ?? .insufficientAuthorization
      return peripheral.respond(to: request, withResult: refusal)
    }
    let isAccepted = isCommand ? app.writeCommand(value, central) : app.writeRequest(value, central)
    peripheral.respond(to: request, withResult: isAccepted ? .success : .insufficientAuthorization)
  }
}

extension CentralIdentifier {
  init(_ central: CBCentral) { self.init(central.identifier) }

  init(_ identifier: UUID) {
    let bytes = withUnsafeBytes(of: identifier.uuid) { Array($0) }
    func number(_ part: ArraySlice<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: number(bytes[..<8]), low: number(bytes[8...]))
  }

  /// The identifier in the text form of a UUID.
  var text: String { uuid.uuidString }

  var uuid: UUID {
    let bytes =
      (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * UInt64($0))) }
      + (0..<8).map { UInt8(truncatingIfNeeded: low >> (56 - 8 * UInt64($0))) }
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}
