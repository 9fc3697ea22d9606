import Crypto
import LockCryptography
import LockFirmware
import LockProtocol
import Testing

/// A lock on the bench: its firmware, its log, its bolt and the phones around it, all controlled by hand.
struct Bench {
  typealias PrivateKey = Curve25519.KeyAgreement.PrivateKey

  static let alice = CentralIdentifier(high: 0, low: 1)
  static let bob = CentralIdentifier(high: 0, low: 2)
  static let stranger = CentralIdentifier(high: 0, low: 99)

  let lockKey = PrivateKey()
  let keys: [PrivateKey]
  var configuration: LockConfiguration
  var firmware: LockFirmware<SwiftCryptography>
  var cryptography = SwiftCryptography()
  var milliseconds: Int64 = 1_000_000

  /// The durable records.
  var log: [LockRecord] = []
  /// Records that are being stored.
  var unstored: [LockRecord] = []
  var storesAtOnce = true
  /// The bolt's true position.
  var position = BoltPosition.locked
  var turning: BoltTarget?
  /// The bolt arrives by itself as time passes.
  var finishesTurns = false
  var turnStart: Int64 = 0
  /// Turns of the bolt so far, with the length of the log when each began.
  var turns: [(target: BoltTarget, logCount: Int)] = []
  var door = DoorState.closed
  /// How many times the motor was told to stop.
  var stops = 0
  /// What the lock stores of its mode.
  var mode = OperatingMode.normal
  var offers: [UInt64: [UInt8]] = [:]
  /// Every value of the Offer that was notified, with its central.
  var notified: [(central: CentralIdentifier, value: [UInt8])] = []
  private var readers: [UInt64: OfferReader] = [:]
  private var latestOffers: [UInt64: [UInt8]] = [:]
  var answers: [UInt64: [[UInt8]]] = [:]
  /// Replies on their way to each phone, sealed.
  var replies: [UInt64: [(tag: UInt8, message: [UInt8])]] = [:]
  var notes: [LockNote] = []
  var responses: [Bool] = []
  /// How writes to Enrolment were answered, and what came back.
  var enrolmentAnswers: [EnrolmentStatus] = []
  var enrolmentMessages: [UInt64: [(tag: UInt8, message: [UInt8])]] = [:]
  /// What the lock stores of a phone that was here while the bolt stood open.
  var awaited: AwaitedPhone?
  /// What the lock stores about centrals that have proven themselves.
  var trusted: [TrustedCentral] = []
  /// What the lock stores of what owners have told it.
  var access = AccessState()
  /// How many more times something is stored before the power fails; `nil` if it does not.
  var writesUntilPowerFails: Int?
  /// The power has failed: nothing happens any more until the restart.
  var isDead: Bool { writesUntilPowerFails == -1 }

  init(phoneCount: Int = 2, _ change: (inout LockConfiguration) -> Void = { _ in }) throws {
    keys = (0..<phoneCount).map { _ in PrivateKey() }
    let identity = try #require(LockIdentity([UInt8](repeating: 3, count: 16)))
    var configuration = LockConfiguration(
      identity: identity, enrolledPhones: keys.map { Array($0.publicKey.rawRepresentation) })
    change(&configuration)
    self.configuration = configuration
    firmware = LockFirmware(
      configuration, staticKey: lockKey, using: SwiftCryptography(), records: [], position: .locked, door: .closed,
      at: LockTime(milliseconds: milliseconds, unixSeconds: 0))
    happens(.timePassed)
  }

  var time: LockTime { LockTime(milliseconds: milliseconds, unixSeconds: milliseconds / 1000) }

  var refusals: [RefusalReason] {
    notes.compactMap { if case .commandRefused(_, let reason) = $0 { reason } else { nil } }
  }

  mutating func happens(_ event: LockEvent) {
    if case .linkUp(let central) = event { readers[central.low] = nil }
    guard !isDead else { return }
    perform(firmware.handle(event, at: time))
    if storesAtOnce { store() }
  }

  /// - Returns: whether something can still be stored.
  private mutating func write() -> Bool {
    guard let left = writesUntilPowerFails else { return true }
    writesUntilPowerFails = max(left - 1, -1)
    return left > 0
  }

  private mutating func perform(_ effects: [LockEffect]) {
    for effect in effects {
      switch effect {
      case .storeTrusted, .storeAccess, .storeAwaited, .storeMode, .forgetPhones: guard write() else { return }
      default: guard !isDead else { return }
      }
      switch effect {
      case .sendOffer(let central, let values): hear(values, central)
      case .answerRead(let central, let offer): offers[central.low] = offer
      case .respond(_, let isAccepted): responses.append(isAccepted)
      case .sendAnswer(let central, let answer): answers[central.low, default: []].append(answer)
      case .sendReply(let central, let tag, let message):
        replies[central.low, default: []].append((tag, message))
      case .readLog(let question):
        perform(firmware.handle(.logRead(question, page(from: question.from, count: question.count)), at: time))
      case .appendRecord(let record): unstored.append(record)
      case .turnBolt(let target):
        // A turn that takes too long is jammed, and another may be tried.
        let isJammed = milliseconds - turnStart >= configuration.turnTimeoutMilliseconds
        #expect(turning == nil || isJammed, "two turns at once")
        turnStart = milliseconds
        turns.append((target, log.count))
        turning = target
        position = .between
      case .storeTrusted(let trusted): self.trusted = trusted
      case .storeAccess(let content):
        access = (try? AccessState(decoding: content)) ?? AccessState()
        #expect(access.encoded == content)
      // The bolt may arrive all the same.
      case .stopBolt: stops += 1
      case .storeAwaited(let awaited): self.awaited = awaited
      case .storeMode(let mode): self.mode = mode
      case .forgetPhones: configuration.enrolledPhones = []
      case .respondToEnrolment(_, let status): enrolmentAnswers.append(status)
      case .sendEnrolment(let central, let tag, let message):
        enrolmentMessages[central.low, default: []].append((tag, message))
      case .note(let note): notes.append(note)
      }
    }
  }

  /// Like a phone: an offer comes whole, in fragments, or must be read; and more than once.
  private mutating func hear(_ values: [[UInt8]], _ central: CentralIdentifier) {
    var isForAnother = false
    for value in values {
      notified.append((central, value))
      let key = Int(exactly: central.low).flatMap { keys.indices.contains($0 - 1) ? keys[$0 - 1] : nil }
      let offer =
        value.count == LockService.offerByteCount
        ? value
        : readers[central.low, default: OfferReader()].take(
          value, phone: key.map { Array($0.publicKey.rawRepresentation) } ?? [], using: SwiftCryptography.self)
      if value == LockService.offerHint { perform(firmware.handle(.offerRead(central), at: time)) }
      isForAnother = offer == nil && value.count == OfferFragments.byteCount
      guard let offer, offer != latestOffers[central.low] else { continue }
      latestOffers[central.low] = offer
      offers[central.low] = offer
    }
    // A phone whose key the lock does not expect here finds no mark of its own, and reads.
    if isForAnother { perform(firmware.handle(.offerRead(central), at: time)) }
  }

  /// What a log on a disk would read.
  private func page(from: UInt64, count: Int) -> LogPage {
    var ends = [LogHead.empty]
    for record in log { ends.append(ends[ends.count - 1].followed(by: record.encoded, using: SwiftCryptography.self)) }
    let start = min(max(from, 1), UInt64(log.count) + 1)
    let records = log.dropFirst(Int(start) - 1).prefix(count)
    return LogPage(
      first: log.isEmpty ? 0 : 1, head: ends[log.count], before: count == 0 ? ends[log.count] : ends[Int(start) - 1],
      records: records.map(\.encoded))
  }

  mutating func store() {
    while !unstored.isEmpty {
      let record = unstored.removeFirst()
      guard write() else { return }
      log.append(record)
      perform(firmware.handle(.recordAppended(record.index), at: time))
    }
  }

  /// The bolt reaches its end.
  mutating func finishTurn() {
    guard let target = turning else { return }
    turning = nil
    position = target == .locked ? .locked : .unlocked
    milliseconds += 600
    happens(.boltStopped(position))
  }

  mutating func pass(_ seconds: Double) {
    let end = milliseconds + Int64(seconds * 1000)
    if finishesTurns { finishTurn() }
    while let deadline = firmware.nextDeadline, deadline.milliseconds <= end {
      milliseconds = deadline.milliseconds
      happens(.timePassed)
      if finishesTurns { finishTurn() }
    }
    milliseconds = max(milliseconds, end)
  }

  mutating func move(door state: DoorState) {
    door = state
    happens(.doorChanged(state))
  }

  /// What the shell reads of the log besides the newest records.
  private var landmarks: [LockRecord] {
    var landmarks = LockLandmarks()
    for record in log { landmarks.take(record) }
    return landmarks.records
  }

  /// The lock's power fails, and comes back.
  /// - Parameter isKnown: whether the mechanism has shown its switches by then.
  mutating func restart(writesUntilPowerFails: Int? = nil, isKnown: Bool = true) {
    unstored = []
    self.writesUntilPowerFails = writesUntilPowerFails
    turning = nil
    offers = [:]
    firmware = LockFirmware(
      configuration, staticKey: lockKey, using: SwiftCryptography(), records: log.suffix(200),
      landmarks: landmarks, trusted: trusted, access: access, awaited: awaited, position: isKnown ? position : nil,
      door: isKnown ? door : .closed, mode: mode, at: time)
    happens(.timePassed)
  }

  func session(_ central: CentralIdentifier, key: PrivateKey) throws -> PhoneSession<SwiftCryptography> {
    let offer = try #require(offers[central.low])
    return try PhoneSession(
      offer: offer, identity: configuration.identity, lockKey: lockKey.publicKey, phoneKey: key)
  }

  /// A phone writes a command, using the latest offer it has.
  /// - Parameter central: the radio's identifier for the phone, if it is not the usual one.
  @discardableResult
  mutating func command(
    _ kind: LockCommand.Kind, _ operation: UInt64, by phone: Int = 0, key: PrivateKey? = nil,
    over central: CentralIdentifier? = nil
  ) throws -> PhoneSession<SwiftCryptography> {
    let central = central ?? (phone == 0 ? Bench.alice : Bench.bob)
    var session = try session(central, key: key ?? keys[phone])
    let write = try session.seal(LockCommand(kind, operation: operation), using: &cryptography)
    happens(.commandWritten(central, write))
    return session
  }

  func answer(_ session: PhoneSession<SwiftCryptography>, by phone: Int = 0) throws -> LockAnswer {
    var session = session
    return try session.open(try #require(answers[UInt64(phone + 1)]?.last))
  }

  /// A phone asks something after an answer. Returns the reply, or `nil` if none came.
  mutating func ask(
    _ request: [UInt8], in conversation: inout Conversation<SwiftCryptography>, over central: CentralIdentifier = alice
  ) throws -> LockReply? {
    let count = replies[central.low]?.count ?? 0
    for fragment in Fragments.cut(try conversation.seal(request), tag: conversation.tag, valueByteCount: 20) {
      happens(.requestWritten(central, fragment))
    }
    guard let reply = replies[central.low]?.dropFirst(count).first else { return nil }
    var text: [UInt8]?
    for fragment in Fragments.cut(reply.message, tag: reply.tag, valueByteCount: 20) {
      text = conversation.take(fragment)
    }
    return try LockReply(decoding: try #require(text))
  }

  /// A phone's conversation after a command that moves nothing.
  mutating func conversation(
    by phone: Int = 0, key: PrivateKey? = nil, over central: CentralIdentifier? = nil
  ) throws -> Conversation<SwiftCryptography> {
    var session = try command(.status, 1_000_000 + UInt64(milliseconds), by: phone, key: key, over: central)
    let place = central?.low ?? UInt64(phone + 1)
    _ = try session.open(try #require(answers[place]?.last))
    return try #require(session.conversation)
  }

  /// A phone comes and unlocks.
  mutating func comeHome(_ operation: UInt64, by phone: Int = 0) throws {
    happens(.linkUp(phone == 0 ? Bench.alice : Bench.bob))
    try command(.unlock, operation, by: phone)
    finishTurn()
  }
}
