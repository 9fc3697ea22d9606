import AgentQuestions
import CoreBluetooth
import Foundation
import HomePolicy
import JournalEvents
import LockCryptography
import LockProtocol
import Logging
import TimeTypes
import Timekeeping

/// Why a question has no answer, in a line for a person.
struct NoAnswer: Error, Equatable {
  let reason: String

  init(_ reason: String) { self.reason = reason }

  static let notLinked = NoAnswer(
    "There is no link to the lock: come nearer, and check that Bluetooth is on there and here. "
      + "`latchkey doctor` may say more.")
  static let notAllowed = NoAnswer(
    "This phone's agent may not use Bluetooth: `latchkey allow org.latchkey.agent yes` lets it.")
  static let switchedOff = NoAnswer(
    "Bluetooth is off on this phone: `latchkey bluetooth on`. If that does not help, `latchkey doctor` says what else keeps "
      + "it off.")
  static let linkLost = NoAnswer("The link to the lock was lost before it answered.")
  static let silent = NoAnswer("The lock did not answer; try again.")
  static let refused = NoAnswer("The lock refused what was asked; try again.")
  /// A refusal says no more than that.
  static let refusesPhone = NoAnswer(
    "The lock refuses this phone: the lock was reset, or the phone was revoked, its invitation is over, or it has to wait after wrong "
      + "commands. Try again in some minutes; then enrol the phone again with `latchkey enroll`, or have it invited again."
  )
  static let olderLock = NoAnswer("This lock has an older firmware, which does not answer that.")
  /// The lock's answer to a command.
  static let unreadableAnswer = NoAnswer(
    "The lock's answer can't be understood: its firmware is newer than this phone's agent, or faulty. Look at the door; then update "
      + "latchkey-agent.")
  static let unreadable = NoAnswer("The lock's reply can't be read: it has a newer firmware.")

  /// Whether the lock was out of reach, so that it is worth trying when it is there.
  var isAboutLink: Bool {
    [Self.notLinked, .notAllowed, .switchedOff, .linkLost, .silent].contains { $0.reason == reason }
  }

  /// Whether a revocation list keeps waiting for this reason: for the lock, or for another phone that brings it. The
  /// lock may refuse a phone only for a while, and a list counts whoever brings it.
  var leavesListWaiting: Bool { isAboutLink || reason == Self.refusesPhone.reason }
}

/// Answers what a person asks about a door, one question after the other.
@MainActor final class QuestionDesk {
  unowned let app: AgentApp
  let logger: Logger
  let time: any TimeSource
  private var alarm: (any Alarm)?
  private var waiting: [WaitingAction] = []
  /// The first of those that wait is being answered.
  private var isAnswering = false
  /// The lock's clock was looked at on this link.
  var isClockChecked = false
  /// A person is asked whose clock is right.
  var hasAskedAboutClock = false
  /// The journal has said that the book of guests can't be read.
  var isBookMissed = false
  /// What waits for the lock is being delivered.
  private var isDelivering = false
  /// The names that the lock knows, by key.
  private(set) var names: [[UInt8]: String] = [:]
  private static let limit = 4
  private var errandEnd: CheckedContinuation<ErrandOutcome, Never>?
  private var roomEnd: CheckedContinuation<RoomOutcome, Never>?
  private var listening: CheckedContinuation<Void, any Error>?
  private var replying: CheckedContinuation<LockReply, any Error>?
  /// What the lock was asked last.
  private var asked: LockRequest.Kind?
  private var conversation: Conversation<SwiftCryptography>?
  /// The tag of the conversation that goes on.
  var conversationTag: UInt8? { conversation?.tag }
  private lazy var requests = SoonWriter(time: time) { [unowned app] in app.write(request: $0, tag: $1) }
  /// How long the lock has to reply.
  private static let patience: Duration = .seconds(15)

  init(_ app: AgentApp, time: any TimeSource, logger: Logger) {
    self.app = app
    self.time = time
    self.logger = logger
    alarm = time.makeAlarm { [weak self] in Task { @MainActor in self?.timePassed() } }
  }

  func ask(_ action: UserAction) {
    guard waiting.count < Self.limit else {
      return action.complete(failure: "\(Self.limit) questions are being answered already; wait for them.")
    }
    logger.record(Recorded.Agent.questionAsked, [.about: action.name])
    waiting.append(WaitingAction(action, at: time.now))
    action.onWithdrawal { [weak self, weak action] in
      MainActor.assumeIsolated { if let action { self?.takeBack(action) } }
    }
    if waiting.count == 1 { radioIsReady() }
  }

  /// Whoever asked has taken that back, or is gone. What is being read for them, or has begun to be stored, goes on.
  private func takeBack(_ action: UserAction) {
    guard let index = waiting.firstIndex(where: { $0.action === action }) else { return }
    guard index == 0, isAnswering else {
      waiting.remove(at: index)
      return fail(action, "That was given up before it was begun.")
    }
    if AgentQuestion(rawValue: action.name) == .lock { app.happens(.errandTakenBack) }
  }

  private func fail(_ action: UserAction, _ reason: String) {
    action.complete(failure: reason)
    logger.record(Recorded.Agent.questionAnswered, [.about: action.name, .outcome: "failed"])
  }

  /// Called with this phone's namesakes; `nil` if nobody waits for them.
  var namesakesFound: (([OwnerAnswer]) -> Void)?
  /// Ends the wait for namesakes.
  var namesakesAlarm: (any Alarm)?

  /// Nobody waits for an answer, and nothing is being delivered.
  var isIdle: Bool { waiting.isEmpty && !isDelivering }

  /// A process that was started for a question first waits for its radio, or to be told that there is none.
  func radioIsReady() {
    guard app.knowsRadio, !isDelivering, !isAnswering else { return }
    refuseLate()
    guard let action = waiting.first?.action else { return }
    isAnswering = true
    Task { @MainActor in
      let outcome: String
      do {
        action.complete(answer: try await answer(action))
        outcome = "answered"
      } catch {
        action.complete(failure: (error as? NoAnswer)?.reason ?? "\(error)")
        outcome = "failed"
      }
      logger.record(Recorded.Agent.questionAnswered, [.about: action.name, .outcome: outcome])
      conversation = nil
      waiting.removeFirst()
      isAnswering = false
      // The lock's answer to this question may have been its first on this link.
      if app.isAdmitted { lockIsHere() }
      radioIsReady()
      app.endLinkIfOver()
    }
  }

  /// Who asked too long ago has been told that nothing came of it, or is about to be: what they wanted is not done any more.
  private func refuseLate() {
    while let late = waiting.first, late.isLate(at: time.now) {
      waiting.removeFirst()
      fail(late.action, "The agent could not do it in time; try again.")
    }
  }

  /// The lock has answered. What waits for it is delivered, beside everything else.
  func lockIsHere() {
    guard waiting.isEmpty, !isDelivering, hasUndelivered || hasToCheckClock || namesakesFound != nil else {
      return
    }
    isDelivering = true
    Task { @MainActor in
      do {
        try await beginConversation()
        if hasUndelivered { try await deliver() }
        try await checkClock()
        try await tellNamesakes()
      } catch {
        logger.notice("a revocation list still waits for the lock: \((error as? NoAnswer)?.reason ?? "\(error)")")
      }
      endSearchForNamesakes([])
      conversation = nil
      isDelivering = false
      radioIsReady()
      app.endLinkIfOver()
    }
  }

  /// Learns the names of the phones that the lock knows, in the present conversation. An older lock knows no names, and
  /// a lock does not tell them to a guest.
  func learnNames() async throws {
    var walk = NameWalk()
    while !walk.isOver {
      let reply = try await exchange(.names(from: walk.next))
      guard reply.status == .done, (try? walk.take(reply.body)) != nil else { break }
    }
    for name in walk.names { names[name.key] = PlainText.of(name.name) }
  }

  private func answer(_ action: UserAction) async throws -> String {
    let argument = Data((action.argument ?? "{}").utf8)
    switch AgentQuestion(rawValue: action.name) {
    case .lock: return try json(await lock(read(DoorQuestion.self, argument)))
    case .door:
      let question = try read(DoorQuestion.self, argument)
      return try json(await askingTwice { try await self.door(question) })
    case .log:
      let question = try read(LogQuestion.self, argument)
      return try json(await askingTwice { try await self.log(question) })
    case .invite: return try json(await invite(read(InviteQuestion.self, argument)))
    case .guests: return try json(guests(read(DoorQuestion.self, argument)))
    case .revoke: return try json(await revoke(read(RevokeQuestion.self, argument)))
    case .carry: return try json(await carry(read(CarryQuestion.self, argument)))
    case .owners: return try json(await askingTwice { try await self.owners() })
    case .clock: return try json(await setClock())
    case .room: return try json(await room(read(RoomQuestion.self, argument)))
    case .unlock, .accept, .guestKey, .enroll, nil: throw NoAnswer("The agent knows no \"\(action.name)\".")
    }
  }

  /// The lock refuses a question of a conversation that is over, for example after a restart or another command. A
  /// question that only reads may then begin another conversation, once.
  private func askingTwice<Answer>(_ ask: () async throws -> Answer) async throws -> Answer {
    do { return try await ask() } catch let error as NoAnswer where error.reason == NoAnswer.refused.reason {
      conversation = nil
      return try await ask()
    }
  }

  private func read<Question: Decodable>(_ type: Question.Type, _ argument: Data) throws -> Question {
    do { return try JSONDecoder().decode(type, from: argument) } catch {
      throw NoAnswer("The question can't be read; install latchkey and latchkey-agent from one release.")
    }
  }

  private func json(_ answer: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(answer), as: UTF8.self)
  }

  // MARK: The lock

  /// Has the lock carry out an errand, and returns its answer.
  func errand(_ kind: HomeErrand) async throws -> LockAnswer {
    guard app.hasStarted else { throw app.noLink }
    let outcome = await withCheckedContinuation { continuation in
      errandEnd = continuation
      // Not before the continuation is known.
      DispatchQueue.main.async {
        let isTakenBack = kind == .lock && self.waiting.first?.action.isWithdrawn == true
        if isTakenBack { self.errandEnded(.takenBack) } else { self.app.happens(.errandAsked(kind)) }
      }
    }
    switch outcome {
    case .answered:
      guard let answer = app.latestAnswer else { throw NoAnswer.silent }
      return answer
    case .notLinked: throw app.noLink
    case .linkLost: throw NoAnswer.linkLost
    case .noAnswer: throw app.refusesPhone ? NoAnswer.refusesPhone : NoAnswer.silent
    case .unreadable: throw NoAnswer.unreadableAnswer
    case .takenBack: throw NoAnswer("That was given up before it was sent to the lock: nothing is locked for it.")
    case .sentAlready:
      throw NoAnswer(
        "The lock had been told to lock before that was given up, and has not answered; look whether the door is locked."
      )
    case .overtaken: throw NoAnswer("The door is not locked: it was asked since that it be unlocked.")
    }
  }

  /// Measures this room, or forgets all of them.
  func roomOutcome(_ wish: RoomWish) async -> RoomOutcome {
    guard app.hasStarted else { return .notLinked }
    return await withCheckedContinuation { continuation in
      roomEnd = continuation
      // Not before the continuation is known.
      DispatchQueue.main.async { self.app.happens(.roomAsked(wish)) }
    }
  }

  func roomEnded(_ outcome: RoomOutcome) {
    roomEnd?.resume(returning: outcome)
    roomEnd = nil
  }

  func errandEnded(_ outcome: ErrandOutcome) {
    errandEnd?.resume(returning: outcome)
    errandEnd = nil
  }

  /// Has the lock answer, so that questions can be asked in the session of that answer.
  func beginConversation() async throws {
    let answer = try await errand(.look)
    // A lock that refuses a guest takes no questions of theirs, and has just said why.
    if answer.result.isRefusalOfGrant, let refusal = answer.result.refusal { throw NoAnswer(refusal) }
    guard let conversation = app.latestConversation else { throw NoAnswer.silent }
    self.conversation = conversation
    try await withCheckedThrowingContinuation { continuation in
      listening = continuation
      alarm?.set(time.now + Self.patience)
      app.listenToReplies()
    }
    alarm?.set(nil)
  }

  /// Asks, and returns the reply if it was done.
  func ask(_ request: LockRequest) async throws -> LockReply {
    let reply = try await exchange(request)
    switch reply.status {
    case .done: return reply
    case .notEntitled: throw NoAnswer("The lock does not tell that to this phone, or not any more.")
    case .malformed: throw NoAnswer.olderLock
    case .failed: throw NoAnswer("The lock can't do that now; its journal says why.")
    case .older: throw NoAnswer("The lock has a newer revocation list.")
    case .notBelieved: throw NoAnswer("The lock does not believe that.")
    case .noRoom: throw NoAnswer("The lock has no room for more.")
    }
  }

  /// Asks, and returns the reply.
  func exchange(_ request: LockRequest) async throws -> LockReply {
    guard var conversation else { throw NoAnswer.linkLost }
    let message = try conversation.seal(request.encoded)
    let tag = conversation.tag
    self.conversation = conversation
    asked = request.kind
    defer { alarm?.set(nil) }
    return try await withCheckedThrowingContinuation { continuation in
      replying = continuation
      alarm?.set(time.now + Self.patience)
      requests.add(message, tag: tag)
    }
  }

  // MARK: The radio

  /// Replies can be heard, or can't.
  func listens(_ failure: NoAnswer?) {
    if let failure { listening?.resume(throwing: failure) } else { listening?.resume() }
    listening = nil
  }

  func received(_ fragment: [UInt8]) {
    guard let text = conversation?.take(fragment) else { return }
    do {
      let reply = try LockReply(decoding: text)
      guard let asked, reply.replies(to: asked) else { throw LockMessageError.unknownValue }
      replying?.resume(returning: reply)
    } catch { replying?.resume(throwing: NoAnswer.unreadable) }
    replying = nil
  }

  func requestFailed() { fail(NoAnswer.refused) }

  func linkDown() {
    isClockChecked = false
    fail(.linkLost)
  }

  private func timePassed() { fail(.silent) }

  private func fail(_ reason: NoAnswer) {
    conversation = nil
    requests.drop()
    listens(reason)
    replying?.resume(throwing: reason)
    replying = nil
  }
}
