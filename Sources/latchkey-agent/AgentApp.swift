import AgentQuestions
import CoreBluetooth
import HomePolicy
import Journal
import JournalEvents
import LockCryptography
import LockProtocol
import Logging
import Timekeeping

/// Connects the policy with a store, a clock, the phone's keys and a radio.
final class AgentApp: @unchecked Sendable {
  // Everything here happens on the main queue.
  private var policy: HomePolicy
  /// What the phone's user calls the door.
  let name: String
  /// Where everything about this door is stored.
  let folder: String
  private var keys: PhoneKeys
  /// A guest's grant; `nil` for an owner.
  private(set) var grant: Grant?
  private let store: AgentStore
  private let boot: String
  let time: any TimeSource
  let logger: Logger
  private var random = SystemRandomNumberGenerator()
  private var cryptography = SwiftCryptography()
  private var radio: AgentCentral?
  private var alarm: (any Alarm)?
  private(set) var hasStarted = false
  /// The radio is of no use, as this process was told: nothing can be asked of the lock.
  private(set) var isRadioOff = false
  /// Whether something can be asked of the lock, or can't: this process knows its radio.
  var knowsRadio: Bool { hasStarted || isRadioOff }
  private var reports: DoorReports
  private var offer: [UInt8]?
  /// The offer that the latest command used. It must not be used again.
  private var usedOffer: [UInt8]?
  /// The offer of the latest refused command. It may be another phone's, and only a read shows whether it is this
  /// phone's.
  private var refusedOffer: [UInt8]?
  private var offers = OfferReader()
  /// The lock marks this phone's offers on this link, so what it says to others is not for us.
  var hearsOwnOffers: Bool { offers.hearsOwn }
  private var session: PhoneSession<SwiftCryptography>?
  /// The latest command, sealed.
  private var message: [UInt8] = []
  private var command: (kind: HomeCommand, operation: UInt64)?
  /// Callers that wait for the outcome of the owner's command.
  var words: [WaitingAction] = []
  /// The lock's latest answer on this link, and what can be asked after it.
  private(set) var latestAnswer: LockAnswer?
  /// The lock has refused this phone's last command on this link, and answered none since.
  private var isRefused = false
  /// Whether the lock refuses this phone: it has refused the last command on this link, or it turned the phone away on
  /// an earlier link and has not answered on this one.
  var refusesPhone: Bool { isRefused || (policy.isTurnedAway && latestAnswer == nil) }
  /// Nothing more is done for the words that were given so far.
  var areWordsTakenBack: Bool { policy.isWordTakenBack }
  /// The link ends as soon as everybody who asked is answered.
  private var isLinkOver = false
  private var linkEnd: (any Alarm)?
  private(set) var latestConversation: Conversation<SwiftCryptography>?
  @MainActor private(set) lazy var desk = QuestionDesk(self, time: time, logger: logger)
  @MainActor private(set) lazy var log = SeenLog(store, logger: logger, door: name) { [time] in time.unixSeconds }

  init(
    _ configuration: HomeConfiguration, name: String, keys: PhoneKeys, grant: Grant?, folder: String,
    store: AgentStore, boot: String, time: any TimeSource, logger: Logger
  ) {
    self.name = name
    self.grant = grant
    self.folder = folder
    reports = DoorReports(subject: name == Self.doorName ? "Door" : name)
    self.keys = keys
    self.store = store
    self.boot = boot
    self.time = time
    self.logger = logger
    policy = HomePolicy(configuration, state: store.state.home)
  }

  func start(beside searches: DoorSearches) {
    linkEnd = time.makeAlarm { [weak self] in DispatchQueue.main.async { self?.endOverLink() } }
    alarm = time.makeAlarm { [weak self] in DispatchQueue.main.async { self?.happens(.timePassed) } }
    radio = AgentCentral(self, beside: searches, restoreIdentifier: restoreIdentifier, time: time, logger: logger)
  }

  /// The door whose keys came from the setup.
  static let doorName = DoorKeys.ownName

  /// The restore identifier of this door's manager. The first door keeps the identifier of earlier versions.
  private var restoreIdentifier: String {
    name == Self.doorName ? AgentCentral.restoreIdentifier : "\(AgentCentral.restoreIdentifier).\(name)"
  }

  var lock: LockIntroduction { LockIntroduction(keys) }

  /// What the lock must know of this owner to believe what the owner signs, for another phone to bring.
  func introduction(of key: OwnerKey) throws -> SealedIntroduction {
    try SealedIntroduction(
      signingKey: key.publicKey, name: KeyName.name(from: ownerName), to: keys.lockIdentity, lockKey: keys.lockKey,
      from: keys.staticKey, using: &cryptography)
  }

  /// This phone was enrolled at its lock once more, or has a new invitation for it. What was begun with the old keys is not
  /// answered any more.
  func take(_ door: DoorKeys) {
    keys = door.keys
    grant = door.grant
    session = nil
    latestConversation = nil
    happens(.keysChanged)
  }

  /// What the lock calls this phone's owner: what the machine is called.
  var ownerName: String { Self.ownerName }

  static var ownerName: String {
    let host = ProcessInfo.processInfo.hostName.split(separator: ".").first.map(String.init) ?? ""
    let name = ProcessInfo.processInfo.environment["LATCHKEY_MACHINE"] ?? host
    return String(decoding: KeyName.name(from: name), as: UTF8.self)
  }

  var unixSeconds: Double { time.unixSeconds }

  /// The weakest room that was measured, and what a link of a phone that comes home must not exceed; both in dBm.
  var rooms: (weakest: Int?, limit: Int) { (policy.state.roomSignal, policy.weakSignal) }

  /// This phone's public key, by which the lock's log knows it.
  var publicKey: [UInt8] { Array(keys.staticKey.publicKey.rawRepresentation) }

  private func ask(_ doubt: Doubt) {
    logger.record(Recorded.Agent.unlockAsked, [.because: doubt.rawValue], level: .warning)
    show(doubt)
  }

  // MARK: Radio

  /// Whether the lock has answered on this link, and this phone is an owner's or a guest's who is or will be welcome.
  var isAdmitted: Bool { latestAnswer.map { $0.result != .expired && $0.result != .revoked } ?? false }

  /// The lock, as the system identifies it, or `nil` until one has proven to be it.
  var knownLock: UUID? { store.state.lock }

  /// The agent ends.
  @MainActor func end() { log.writeAnswered() }

  /// The radio works, for the first time or again.
  func radioIsReady(isLinked: Bool) {
    isRadioOff = false
    if isLinked { reports.linkUp() }
    if hasStarted {
      if isLinked { happens(.linkUp) }
    } else {
      hasStarted = true
      // While the lock is not known, a link of the previous process was a test.
      if knownLock == nil { happens(.linkToUnknown) }
      happens(.started(isLinked: isLinked))
      tellWords()
      MainActor.assumeIsolated { desk.radioIsReady() }
    }
  }

  /// The radio is off, missing, or not to be used by this app.
  func radioIsOff(_ event: HomeEvent) {
    isRadioOff = true
    linkDown(event)
    if !hasStarted { MainActor.assumeIsolated { desk.radioIsReady() } }
  }

  func linkUp() {
    reports.linkUp()
    happens(.linkUp)
  }

  /// How long to wait before the next link is asked for.
  var linkDelay: Duration { policy.linkDelay(at: now) }

  private var now: HomeTime { HomeTime(boot: boot, instant: time.now, unixSeconds: time.unixSeconds) }

  /// Ends the link soon, but not at once: the policy may still be handling an event, and a question may be about to be
  /// answered. An alarm rings after everything that arrived at this moment was handled, in whatever order it reached
  /// this process.
  func endLinkIfOver() { linkEnd?.set(time.now) }

  private func endOverLink() {
    guard isLinkOver, words.isEmpty, MainActor.assumeIsolated({ desk.isIdle }) else { return }
    isLinkOver = false
    guard policy.isTurnedAway, radio?.endLink() == true else { return }
    linkDown()
    reports.turnedAway()
  }

  /// - Parameter event: which link is lost: the one to the lock, one to a device that has not proven to be the lock,
  ///   or one to a device that is not the lock.
  func linkDown(_ event: HomeEvent = .linkDown) {
    reports.linkDown()
    offer = nil
    refusedOffer = nil
    offers = OfferReader()
    session = nil
    message = []
    command = nil
    latestAnswer = nil
    isRefused = false
    isLinkOver = false
    latestConversation = nil
    MainActor.assumeIsolated { desk.linkDown() }
    if !hasStarted, !words.isEmpty { answerWord(.notLinked) }
    happens(event)
  }

  func offerReceived(_ value: [UInt8]) {
    guard value.count != LockService.offerByteCount else { return hear(offer: value) }
    guard value.count == OfferFragments.byteCount else {
      return logger.warning("a notification of \(value.count) bytes is not an offer")
    }
    let heard = offers.take(value, phone: publicKey, using: SwiftCryptography.self)
    guard let offer = heard, offer != refusedOffer else { return }
    hear(offer: offer)
  }

  private func hear(offer value: [UInt8]) {
    if value == usedOffer { return happens(.offerRepeated) }
    // A read may return the offer that a notification has already brought, and the lock repeats its offer until it has
    // a command.
    guard value != offer else { return }
    offer = value
    logger.record(Recorded.Agent.offerReceived)
    happens(.offerReceived)
  }

  var isBluetoothOff: Bool { radio?.manager?.state == .poweredOff }

  // What is asked after an answer.

  func listenToReplies() { radio?.listenToReplies() }

  func write(request: [UInt8], tag: UInt8) { radio?.write(request: request, tag: tag) }

  func listensToReplies(_ failure: NoAnswer?) { MainActor.assumeIsolated { desk.listens(failure) } }

  func replyReceived(_ fragment: [UInt8]) { MainActor.assumeIsolated { desk.received(fragment) } }

  func requestFailed() { MainActor.assumeIsolated { desk.requestFailed() } }

  func signalRead(_ signal: Int?) { happens(.signalRead(signal)) }

  func bonded() { happens(.bonded) }

  /// - Parameter isSearching: the device may not be the lock, so that its refusal says nothing.
  func writeFailed(_ error: any Error, isSearching: Bool = false) {
    logger.warning("the write failed: \(error)")
    isRefused = (error as? CBATTError)?.code == .insufficientAuthorization
    session = nil
    command = nil
    refusedOffer = isRefused ? usedOffer : nil
    // A lock that refused a write has used up no offer.
    usedOffer = nil
    happens(isRefused && !isSearching ? .writeRefused : .writeFailed)
  }

  func answerReceived(_ value: [UInt8]) {
    guard let command else { return logger.info("an answer to nothing that was asked") }
    do {
      guard let answer = try session?.open(value) else { return }
      latestAnswer = answer
      isRefused = false
      latestConversation = session?.conversation
      MainActor.assumeIsolated { log.compare(index: answer.logIndex) }
      session = nil
      self.command = nil
      lockIsProven()
      tell(answer, to: command)
      reports.answered(answer, to: command.kind, because: policy.state.opening?.because)
      happens(.answered(HomeAnswer(answer), bolt: HomeBolt(answer.lockState)))
      // The person who asked has the answer by now, and no arrival waits for the disk.
      if command.kind != .status { MainActor.assumeIsolated { log.writeAnswered() } }
      if isAdmitted { MainActor.assumeIsolated { desk.lockIsHere() } }
    } catch LockSessionError.malformed {
      logger.error("the lock's answer is authentic and can't be understood: its firmware is newer, or faulty")
      session = nil
      self.command = nil
      happens(.answerUnreadable)
    } catch {
      // A forged or late answer, or one that bluetoothd sent to all subscribers (docs/bluez.md). The true one may still come.
      logger.warning("an answer does not count: it is for another phone or another command, or is forged (\(error))")
    }
  }

  private func tell(_ answer: LockAnswer, to command: (kind: HomeCommand, operation: UInt64)) {
    let fields: [JournalField: String] = [
      .result: "\(answer.result)", .lockState: "\(answer.lockState)", .doorState: "\(answer.doorState)",
      .operation: String(answer.operation, radix: 16), .record: String(answer.logIndex),
    ]
    switch command.kind {
    case .unlock, .unlockUnlessHome, .unlockIfLeft: logger.record(Recorded.Agent.unlockAnswered, fields)
    case .lock: logger.record(Recorded.Agent.lockAnswered, fields)
    case .status: logger.record(Recorded.Agent.statusAnswered, fields, level: .info)
    }
  }

  /// Only a device with the lock's private key can answer, so this peripheral is the lock from now on.
  private func lockIsProven() {
    guard let identifier = radio?.peripheralIdentifier, identifier != store.state.lock else { return }
    var state = store.state
    state.lock = identifier
    do { try store.write(state) } catch { logger.error("the lock can't be remembered: \(error)") }
  }

  // MARK: Events and effects

  func happens(_ event: HomeEvent) {
    dispatchPrecondition(condition: .onQueue(.main))
    guard hasStarted else { return }
    let now = now
    let wasApproaching = policy.state.approach != nil
    carryOut(policy.handle(event, at: now, using: &random), at: now)
    if !wasApproaching, let approach = policy.state.approach {
      logger.record(Recorded.Agent.approachBegan, [.signal: String(approach.signal)])
    }
    alarm?.set(policy.nextDeadline)
  }

  private func carryOut(_ effects: [HomeEffect], at now: HomeTime) {
    for effect in effects {
      guard perform(effect) else { return carryOut(policy.handle(.storeFailed, at: now, using: &random), at: now) }
    }
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
      // What is read counts as new, even if it has not changed.
      offer = nil
      logger.record(Recorded.Agent.offerAsked, level: .info)
      radio?.readOffer()
    case .write(let kind, let operation): write(kind, operation)
    case .writeAgain(let isConfirmed):
      logger.info("the command is written again, because there is no sign that the lock has it")
      radio?.write(message, isConfirmed: isConfirmed)
    case .ask(let doubt): ask(doubt)
    case .stopAsking: MainActor.assumeIsolated { AgentAlert(door: name, reason: .doubt).takeBack() }
    case .answerWord(let outcome): answerWord(outcome)
    case .answerErrand(let outcome): MainActor.assumeIsolated { desk.errandEnded(outcome) }
    case .answerRoom(let outcome): MainActor.assumeIsolated { desk.roomEnded(outcome) }
    case .endLink(let pause):
      logger.record(
        Recorded.Agent.turnedAway, [.milliseconds: String(pause.wholeNanoseconds / 1_000_000)], level: .notice)
      isLinkOver = true
      endLinkIfOver()
    case .requestLink: radio?.requestLink()
    }
    return true
  }

  private func write(_ kind: HomeCommand, _ operation: UInt64) {
    do {
      guard let offer, let radio else { throw LockSessionError.used }
      self.offer = nil
      usedOffer = offer
      let (session, message) = try PhoneSession.begin(
        LockCommand(LockCommand.Kind(kind), operation: operation), grant: grant?.encoded ?? [], offer: offer,
        identity: keys.lockIdentity, lockKey: keys.lockKey, phoneKey: keys.staticKey,
        avoiding: MainActor.assumeIsolated { desk.conversationTag }, using: &cryptography)
      self.session = session
      command = (kind, operation)
      switch kind {
      case .unlock(let reason):
        logger.record(
          Recorded.Agent.unlockWritten, [.operation: String(operation, radix: 16), .because: reason.rawValue])
      case .unlockUnlessHome, .unlockIfLeft:
        logger.record(Recorded.Agent.unlockWritten, [.operation: String(operation, radix: 16), .because: "approach"])
      case .lock: logger.record(Recorded.Agent.lockWritten, [.operation: String(operation, radix: 16)])
      case .status:
        logger.record(Recorded.Agent.statusWritten, [.operation: String(operation, radix: 16)], level: .info)
      }
      self.message = message
      // A phone that was refused learns at once whether it still is.
      radio.write(message, isConfirmed: isRefused || policy.isTurnedAway)
    } catch {
      // Later, because the policy is still handling an event.
      DispatchQueue.main.async { self.writeFailed(error) }
    }
  }
}
