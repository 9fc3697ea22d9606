import CoreBluetooth
import HomePolicy
import Journal
import LockCryptography
import LockProtocol
import Logging
import Timekeeping

/// The policy with a store, a clock, the phone's keys and a radio around it.
final class AgentApp: @unchecked Sendable {
  // Everything here happens on the main queue.
  private var policy: HomePolicy
  private let keys: PhoneKeys
  private let store: AgentStore
  private let boot: String
  private let time: any TimeSource
  private let logger: Logger
  private var random = SystemRandomNumberGenerator()
  private var cryptography = SwiftCryptography()
  private var radio: AgentCentral?
  private var alarm: (any Alarm)?
  private var terminationSource: (any DispatchSourceSignal)?
  private var hasStarted = false
  private var offer: [UInt8]?
  /// The offer of the latest command: good for no other.
  private var usedOffer: [UInt8]?
  private var session: PhoneSession<SwiftCryptography>?
  private var command: (kind: HomeCommand, operation: UInt64)?

  init(
    _ configuration: HomeConfiguration, keys: PhoneKeys, store: AgentStore, boot: String, time: any TimeSource,
    logger: Logger
  ) {
    self.keys = keys
    self.store = store
    self.boot = boot
    self.time = time
    self.logger = logger
    policy = HomePolicy(configuration, state: store.state.home)
  }

  func start() {
    alarm = time.makeAlarm { [weak self] in DispatchQueue.main.async { self?.happens(.timePassed) } }
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
    source.setEventHandler { [logger] in
      logger.info("the agent ends on SIGTERM")
      exit(0)
    }
    source.resume()
    terminationSource = source
    radio = AgentCentral(self, time: time, logger: logger)
  }

  // MARK: The radio's side

  /// The lock, as the system names it; `nil` until one has proven to be it.
  var knownLock: UUID? { store.state.lock }

  /// The radio works, for the first time or again.
  func radioIsReady(isLinked: Bool) {
    if hasStarted {
      if isLinked { happens(.linkUp) }
    } else {
      hasStarted = true
      happens(.started(isLinked: isLinked))
    }
  }

  func linkUp() { happens(.linkUp) }

  func linkDown() {
    offer = nil
    session = nil
    command = nil
    happens(.linkDown)
  }

  func offerReceived(_ value: [UInt8]) {
    guard value.count == LockService.offerByteCount else {
      return logger.warning("an offer of \(value.count) bytes is none")
    }
    // A read may bring what a notification brought before.
    guard value != offer, value != usedOffer else { return }
    offer = value
    logger.record("offer.received")
    happens(.offerReceived)
  }

  func signalRead(_ signal: Int?) { happens(.signalRead(signal)) }

  func writeFailed(_ error: any Error) {
    logger.warning("the write failed: \(error)")
    session = nil
    command = nil
    happens(.writeFailed)
  }

  func answerReceived(_ value: [UInt8]) {
    guard let command else { return logger.info("an answer to nothing that was asked") }
    do {
      guard let answer = try session?.open(value) else { return }
      session = nil
      self.command = nil
      lockIsProven()
      tell(answer, to: command)
      happens(.answered(HomeAnswer(answer.result)))
    } catch {
      // A forged or a late one. The true one may still come.
      logger.warning("an answer was refused: \(error)")
    }
  }

  private func tell(_ answer: LockAnswer, to command: (kind: HomeCommand, operation: UInt64)) {
    let fields = [
      "result": "\(answer.result)", "lockState": "\(answer.lockState)", "doorState": "\(answer.doorState)",
      "operation": String(answer.operation, radix: 16), "record": String(answer.logIndex),
    ]
    switch command.kind {
    case .unlock: logger.record("unlock.answered", fields)
    case .status: logger.record("status.answered", fields, level: .info)
    }
  }

  /// Only who has the lock's private key can answer: from now on this peripheral is the lock.
  private func lockIsProven() {
    guard let identifier = radio?.peripheralIdentifier, identifier != store.state.lock else { return }
    var state = store.state
    state.lock = identifier
    do { try store.write(state) } catch { logger.error("the lock can't be remembered: \(error)") }
  }

  // MARK: Events and effects

  private func happens(_ event: HomeEvent) {
    dispatchPrecondition(condition: .onQueue(.main))
    guard hasStarted else { return }
    let now = HomeTime(boot: boot, instant: time.now, unixSeconds: time.unixSeconds)
    for effect in policy.handle(event, at: now, using: &random) {
      guard perform(effect) else { break }
    }
    alarm?.set(policy.nextDeadline)
  }

  /// - Returns: whether the effects that follow may be carried out.
  private func perform(_ effect: HomeEffect) -> Bool {
    switch effect {
    case .store:
      var state = store.state
      state.home = policy.state
      do { try store.write(state) } catch {
        logger.critical("the agent's state can't be stored, and nothing is unlocked without it: \(error)")
        return false
      }
    case .readSignal: radio?.readSignal()
    case .readOffer:
      // What is read counts as new, even if it is what there was.
      offer = nil
      logger.record("offer.asked", level: .info)
      radio?.readOffer()
    case .write(let kind, let operation): write(kind, operation)
    }
    return true
  }

  private func write(_ kind: HomeCommand, _ operation: UInt64) {
    do {
      guard let offer, let radio else { throw LockSessionError.used }
      self.offer = nil
      usedOffer = offer
      var session = try PhoneSession<SwiftCryptography>(
        offer: offer, identity: keys.lockIdentity, lockKey: keys.lockKey, phoneKey: keys.staticKey)
      let message = try session.seal(
        LockCommand(kind == .unlock ? .unlock : .status, operation: operation), using: &cryptography)
      self.session = session
      command = (kind, operation)
      if kind == .unlock {
        logger.record("unlock.written", ["operation": String(operation, radix: 16)])
      } else {
        logger.record("status.written", ["operation": String(operation, radix: 16)], level: .info)
      }
      radio.write(message)
    } catch {
      // Later, since the policy is in the middle of an event.
      DispatchQueue.main.async { self.writeFailed(error) }
    }
  }
}

extension HomeAnswer {
  init(_ result: LockResult) {
    switch result {
    case .done, .notNeeded: self = .done
    case .unknownOperation: self = .unknownOperation
    case .failed, .doorOpen, .busy: self = .failed
    }
  }
}
