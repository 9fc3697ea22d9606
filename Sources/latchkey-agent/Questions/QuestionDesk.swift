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
struct NoAnswer: Error {
  let reason: String

  init(_ reason: String) { self.reason = reason }

  static let notLinked = NoAnswer(
    "There is no link to the lock: come nearer, and check that Bluetooth is on there and here.")
  static let linkLost = NoAnswer("The link to the lock was lost before it answered.")
  static let silent = NoAnswer("The lock did not answer; try again.")
  static let olderLock = NoAnswer("This lock has an older firmware, which does not answer that.")
}

/// Answers what a person asks about a door, one question after the other.
@MainActor final class QuestionDesk {
  unowned let app: AgentApp
  let logger: Logger
  private let time: any TimeSource
  private var alarm: (any Alarm)?
  /// The first is being answered.
  private var waiting: [UserAction] = []
  private static let limit = 4
  private var errandEnd: CheckedContinuation<ErrandOutcome, Never>?
  private var listening: CheckedContinuation<Void, any Error>?
  private var replying: CheckedContinuation<LockReply, any Error>?
  private var conversation: Conversation<SwiftCryptography>?
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
    waiting.append(action)
    if waiting.count == 1 { radioIsReady() }
  }

  /// A process that was started for a question first waits for its radio.
  func radioIsReady() {
    guard app.hasStarted, let action = waiting.first else { return }
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
      radioIsReady()
    }
  }

  private func answer(_ action: UserAction) async throws -> String {
    let argument = Data((action.argument ?? "{}").utf8)
    switch AgentQuestion(rawValue: action.name) {
    case .lock: return try json(await lock(read(DoorQuestion.self, argument)))
    case .door: return try json(await door(read(DoorQuestion.self, argument)))
    case .log: return try json(await log(read(LogQuestion.self, argument)))
    case .unlock, nil: throw NoAnswer("The agent knows no \"\(action.name)\".")
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
    let outcome = await withCheckedContinuation { continuation in
      errandEnd = continuation
      // Not before the continuation is known.
      DispatchQueue.main.async { self.app.happens(.errandAsked(kind)) }
    }
    switch outcome {
    case .answered:
      guard let answer = app.latestAnswer else { throw NoAnswer.silent }
      return answer
    case .notLinked: throw NoAnswer.notLinked
    case .linkLost: throw NoAnswer.linkLost
    case .noAnswer: throw NoAnswer.silent
    }
  }

  func errandEnded(_ outcome: ErrandOutcome) {
    errandEnd?.resume(returning: outcome)
    errandEnd = nil
  }

  /// Has the lock answer, so that questions can be asked in the session of that answer.
  func beginConversation() async throws {
    _ = try await errand(.look)
    guard let conversation = app.latestConversation else { throw NoAnswer.silent }
    self.conversation = conversation
    try await withCheckedThrowingContinuation { continuation in
      listening = continuation
      alarm?.set(time.now + Self.patience)
      app.listenToReplies()
    }
    alarm?.set(nil)
  }

  func ask(_ request: LockRequest) async throws -> LockReply {
    guard var conversation else { throw NoAnswer.linkLost }
    let message = try conversation.seal(request.encoded)
    let tag = conversation.tag
    self.conversation = conversation
    defer { alarm?.set(nil) }
    let reply = try await withCheckedThrowingContinuation { continuation in
      replying = continuation
      alarm?.set(time.now + Self.patience)
      app.write(request: message, tag: tag)
    }
    switch reply.status {
    case .done: return reply
    case .notEntitled: throw NoAnswer("The lock does not tell that to this phone.")
    case .malformed: throw NoAnswer.olderLock
    case .failed: throw NoAnswer("The lock can't do that now; its journal says why.")
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
      replying?.resume(returning: reply)
    } catch { replying?.resume(throwing: NoAnswer("The lock's reply can't be read: it has a newer firmware.")) }
    replying = nil
  }

  func requestFailed() { fail(NoAnswer("The lock refused what was asked; try again.")) }

  func linkDown() { fail(.linkLost) }

  private func timePassed() { fail(.silent) }

  private func fail(_ reason: NoAnswer) {
    conversation = nil
    listens(reason)
    replying?.resume(throwing: reason)
    replying = nil
  }
}
