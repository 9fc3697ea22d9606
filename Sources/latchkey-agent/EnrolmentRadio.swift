import CoreBluetooth
import Foundation
import JournalEvents
import LockCryptography
import LockProtocol
import Logging
import TimeTypes
import Timekeeping

/// Enrols this phone at a lock: looks for locks within range, one after the other, and gives the code to the first whose window
/// is open. It has a manager of its own, which ends with it.
final class EnrolmentRadio: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
  enum Outcome {
    case enrolled(LockIdentity, SwiftCryptography.PublicKey, lockName: [UInt8], UUID, key: PendingPhoneKey)
    /// Locks were found, and none of them enrols phones now.
    case closed
    case lockedOut
    /// No lock was found.
    case noLock

    var word: String {
      switch self {
      case .enrolled: "enrolled"
      case .closed: "closed"
      case .lockedOut: "lockedOut"
      case .noLock: "noLock"
      }
    }
  }

  // Everything here happens on the main queue.
  private static let enrolmentUUID = CBUUID(string: LockService.enrolmentUUID)
  /// How long locks are looked for while none has been found.
  private static let searchLimit: Duration = .seconds(20)
  /// How long the search goes on after a lock was found that enrols nobody now.
  private static let nextLimit: Duration = .seconds(5)
  /// How long one lock may take, including a pairing.
  private static let attemptLimit: Duration = .seconds(18)
  /// The system gives an app 45 s for an answer.
  private static let wholeLimit: Duration = .seconds(38)
  /// How long the link stays after the answer, so that the door's own manager can take it over.
  private static let releaseDelay: Duration = .seconds(10)
  private static let maximumCandidates = 16
  /// How many times a lock is tried again after its link was lost. It may be far away, or it may be forgetting a
  /// pairing that this phone has lost.
  private static let maximumLosses = 5

  private let code: EnrolmentCode
  private var key: PendingPhoneKey
  /// Draws another key, once. `nil` if the key has just been drawn.
  private var drawAnother: (() throws -> PendingPhoneKey)?
  /// Why this phone can't be enrolled at a lock, or `nil` if it can.
  private let refusal: (UUID) -> NoAnswer?
  private let ownerName: String
  private let time: any TimeSource
  private let logger: Logger
  private let done: (Result<Outcome, any Error>) -> Void
  private var manager: CBCentralManager?
  private var alarm: (any Alarm)?
  private var isDone = false
  /// No outcome yet. After that, only the link is kept for a while.
  var isUnderWay: Bool { !isDone }
  private var end = Instant.zero
  private var wholeEnd = Instant.zero
  private var attemptEnd: Instant?
  private var released: (() -> Void)?

  /// Locks that were heard and not tried yet, the earliest first.
  private var waiting: [CBPeripheral] = []
  private var known: Set<UUID> = []
  private var losses: [UUID: Int] = [:]
  private var current: CBPeripheral?
  private var characteristic: CBCharacteristic?
  private var session: EnrolmentOfPhone<SwiftCryptography>?
  /// The third message has been written, by which the lock learns this phone's key.
  private var hasProvenKey = false
  private var reader = FragmentReader()
  private var unwritten: [[UInt8]] = []
  private var cryptography = SwiftCryptography()
  /// Why the locks that were tried did not enrol this phone.
  private var failure: NoAnswer?
  private var statuses: [EnrolmentStatus] = []

  private static let noAnswer = NoAnswer(
    "The lock did not answer; come nearer, press its button, and try again. `latchkey doctor` may say why.")
  private static let linkLost = NoAnswer(
    "The link to the lock was lost before it had enrolled this phone; come nearer, and try again.")
  private static let linksBreakOff = NoAnswer(
    "Each link to the lock breaks off: it may have lost its pairing with this machine, which this machine still has. `latchkey doctor` "
      + "says how to remove it; then press the lock's button, and try again.")

  /// - Parameters:
  ///   - drawAnother: draws another key in the place of one from an earlier enrolment; `nil` if `key` is new.
  ///   - refusal: why this phone can't be enrolled at the lock that the system identifies so, or `nil` if it can.
  ///   - done: called once.
  init(
    code: EnrolmentCode, key: PendingPhoneKey, drawAnother: (() throws -> PendingPhoneKey)?,
    refusal: @escaping (UUID) -> NoAnswer?, ownerName: String, time: any TimeSource, logger: Logger,
    done: @escaping (Result<Outcome, any Error>) -> Void
  ) {
    self.code = code
    self.key = key
    self.drawAnother = drawAnother
    self.refusal = refusal
    self.ownerName = ownerName
    self.time = time
    self.logger = logger
    self.done = done
    super.init()
  }

  func start() {
    alarm = time.makeAlarm { [weak self] in DispatchQueue.main.async { self?.timePassed() } }
    end = time.now + Self.searchLimit
    wholeEnd = time.now + Self.wholeLimit
    alarm?.set(end)
    manager = CBCentralManager(delegate: self, queue: .main)
  }

  /// Lets go of the link after a while, and then calls `released`.
  func release(_ released: @escaping () -> Void) {
    self.released = released
    if !isDone || current == nil { return letGo() }
    alarm?.set(time.now + Self.releaseDelay)
  }

  /// Lets go of the link.
  func letGo() {
    if let current { manager?.cancelPeripheralConnection(current) }
    manager = nil
    alarm?.set(nil)
    released?()
    released = nil
  }

  private func timePassed() {
    if isDone { return letGo() }
    if let attemptEnd, attemptEnd <= time.now {
      return endAttempt(Self.noAnswer)
    }
    if current == nil, end <= time.now { return conclude() }
    setAlarm()
  }

  private func setAlarm() { alarm?.set(current == nil ? end : attemptEnd) }

  private func conclude() {
    if let failure { return finish(.failure(failure)) }
    if statuses.contains(.lockedOut) { return finish(.success(.lockedOut)) }
    if statuses.contains(.closed) { return finish(.success(.closed)) }
    if statuses.contains(.noCode) {
      return finish(.failure(NoAnswer("The lock has no code: run `latchkey setup lock` on its machine once more.")))
    }
    finish(.success(.noLock))
  }

  private func finish(_ result: Result<Outcome, any Error>) {
    guard !isDone else { return }
    isDone = true
    manager?.stopScan()
    done(result)
  }

  // MARK: Locks

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard !isDone else { return }
    switch central.state {
    case .poweredOn: central.scanForPeripherals(withServices: [LockCharacteristics.serviceUUID], options: nil)
    case .unknown, .resetting: break
    default: finish(.failure(NoAnswer("Bluetooth is off, or this app may not use it: latchkey status.")))
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
    rssi signal: NSNumber
  ) {
    guard !isDone, known.count < Self.maximumCandidates, known.insert(peripheral.identifier).inserted else { return }
    waiting.append(peripheral)
    tryNext()
  }

  private func tryNext() {
    guard current == nil, !isDone, let manager, !waiting.isEmpty else { return }
    let next = waiting.removeFirst()
    current = next
    next.delegate = self
    attemptEnd = min(time.now + Self.attemptLimit, wholeEnd)
    setAlarm()
    manager.connect(next, options: nil)
  }

  /// This lock did not enrol the phone.
  private func endAttempt(_ reason: NoAnswer?) {
    if let reason {
      logger.notice("not enrolled: \(reason.reason)")
      failure = failure ?? reason
    }
    if let current { manager?.cancelPeripheralConnection(current) }
    current = nil
    characteristic = nil
    session = nil
    unwritten = []
    attemptEnd = nil
    end = min(time.now + Self.nextLimit, wholeEnd)
    tryNext()
    setAlarm()
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    guard !isDone, peripheral == current else { return }
    peripheral.discoverServices([LockCharacteristics.serviceUUID])
  }

  func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
    guard !isDone, peripheral == current else { return }
    endAttempt(NoAnswer("The lock could not be connected: \(error?.reason ?? "no reason was given")."))
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
  ) {
    guard !isDone, peripheral == current else { return }
    losses[peripheral.identifier, default: 0] += 1
    if losses[peripheral.identifier, default: 0] <= Self.maximumLosses {
      waiting.append(peripheral)
    } else if failure == Self.linkLost {
      failure = Self.linksBreakOff
    }
    endAttempt(Self.linkLost)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    guard !isDone, peripheral == current else { return }
    guard let service = LockCharacteristics.service(of: peripheral) else {
      return endAttempt(nil)
    }
    peripheral.discoverCharacteristics([Self.enrolmentUUID], for: service)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
    guard !isDone, peripheral == current else { return }
    guard let found = service.characteristics?.first(where: { $0.uuid == Self.enrolmentUUID }) else {
      guard error == nil, let next = LockCharacteristics.service(after: service, of: peripheral) else {
        return endAttempt(.olderLock)
      }
      return peripheral.discoverCharacteristics([Self.enrolmentUUID], for: next)
    }
    characteristic = found
    peripheral.readValue(for: found)
  }

  // MARK: The handshake

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    guard !isDone, peripheral == current, characteristic.uuid == Self.enrolmentUUID else { return }
    guard error == nil, let value = characteristic.value else {
      return endAttempt(NoAnswer("The lock does not say whether it enrols phones."))
    }
    guard let session else { return statusRead(Array(value), peripheral, characteristic) }
    // Every subscriber hears what is meant for one of them.
    guard value.first == session.tag, let message = reader.take(Array(value)) else { return }
    received(message, peripheral)
  }

  private func statusRead(_ value: [UInt8], _ peripheral: CBPeripheral, _ characteristic: CBCharacteristic) {
    guard let status = try? EnrolmentStatus(decoding: value) else { return endAttempt(.olderLock) }
    statuses.append(status)
    guard status == .open else { return endAttempt(nil) }
    if let reason = refusal(peripheral.identifier) { return endAttempt(reason) }
    if characteristic.isNotifying { return begin(peripheral) }
    // This needs a bond, so the two pair now.
    peripheral.setNotifyValue(true, for: characteristic)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
  ) {
    guard !isDone, peripheral == current, characteristic.uuid == Self.enrolmentUUID, session == nil else { return }
    if let error {
      return endAttempt(NoAnswer("The lock could not be paired with: \(error.localizedDescription)."))
    }
    begin(peripheral)
  }

  private func begin(_ peripheral: CBPeripheral) {
    hasProvenKey = false
    do {
      let session = try EnrolmentOfPhone<SwiftCryptography>(
        secret: code.secret(using: SwiftCryptography.self), staticKey: key.staticKey, using: &cryptography)
      self.session = session
      reader = FragmentReader()
      write(session.start, to: peripheral)
    } catch { endAttempt(NoAnswer("The enrolment can't begin: \(error).")) }
  }

  /// A lock has no room for a key that was revoked. An owner may have revoked this one, which is from an enrolment that
  /// the lock did not confirm.
  /// - Returns: whether the enrolment begins again.
  private func beginWithAnotherKey(_ peripheral: CBPeripheral) -> Bool {
    guard let drawAnother else { return false }
    self.drawAnother = nil
    do { key = try drawAnother() } catch {
      endAttempt(NoAnswer("Another key for this phone can't be stored: \(error)."))
      return true
    }
    logger.notice("the lock has no room for this phone's key, which is from an earlier enrolment: another one is tried")
    unwritten = []
    begin(peripheral)
    return true
  }

  private func received(_ message: [UInt8], _ peripheral: CBPeripheral) {
    guard var session else { return }
    do {
      if message.count == Enrolment.replyByteCount {
        let proof = try session.answer(message, name: Array(ownerName.utf8), using: &cryptography)
        self.session = session
        hasProvenKey = true
        write(proof, to: peripheral)
      } else {
        let learned = try session.finish(message)
        self.session = session
        logger.record(Recorded.Agent.enrolled, [.peripheral: peripheral.identifier.uuidString])
        if let characteristic { peripheral.setNotifyValue(false, for: characteristic) }
        finish(
          .success(
            .enrolled(learned.lock, learned.lockKey, lockName: learned.lockName, peripheral.identifier, key: key)))
      }
    } catch {
      // The message is forged, or meant for another phone. The true one may still come.
      logger.warning("a message of the enrolment was refused: \(error)")
    }
  }

  private func write(_ message: [UInt8], to peripheral: CBPeripheral) {
    guard let session else { return }
    unwritten = Fragments.cut(
      message, tag: session.tag, valueByteCount: peripheral.maximumWriteValueLength(for: .withoutResponse))
    writeNext(peripheral)
  }

  private func writeNext(_ peripheral: CBPeripheral) {
    guard let characteristic, !unwritten.isEmpty else { return }
    peripheral.writeValue(Data(unwritten.removeFirst()), for: characteristic, type: .withResponse)
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
    guard !isDone, peripheral == current, characteristic.uuid == Self.enrolmentUUID else { return }
    guard let error else { return writeNext(peripheral) }
    let refusal = (error as? CBATTError).flatMap { error in
      EnrolmentStatus.allCases.first { Int($0.attError) == error.code.rawValue }
    }
    switch refusal {
    case .wrongCode: endAttempt(NoAnswer("The lock refuses the code: look at the lock again. It takes few wrong ones."))
    case .badName: endAttempt(NoAnswer("The lock refuses this machine's name, which is not UTF-8."))
    case .noRoom:
      // Before its third message the lock does not know whose key it is, so the key is not at fault.
      if hasProvenKey, beginWithAnotherKey(peripheral) { return }
      endAttempt(NoAnswer("The lock has no room for another phone; its journal says why."))
    case .closed, .lockedOut, .noCode:
      statuses.append(refusal ?? .closed)
      endAttempt(nil)
    case .open, nil:
      // An error of the lock's own application has no words, but a number.
      endAttempt(NoAnswer("The lock refuses the enrolment: \(error.reason)"))
    }
  }
}
