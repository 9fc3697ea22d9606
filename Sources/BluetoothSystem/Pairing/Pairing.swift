import AppLink
import BlueZ
import BusValue
import TimeTypes

/// The pairing agent, and the user that it asks.
///
/// While no user is there to answer, the agent can neither show nor ask anything. Pairing is then Just Works, for
/// devices that an app of this machine uses or lets in (`CentralAdmission`), and whatever would need a person is
/// refused. While the user attends (`latchkey pairings`, `latchkey pair`) the agent can do both, so pairings compare
/// numbers, and it passes on every question.
struct Pairing: Sendable {
  struct OpenQuestion: Sendable {
    let question: PairingQuestion
    /// bluetoothd's call to answer, or `nil` if a number is only shown.
    let callback: CallbackIdentifier?
    let deadline: Instant
    /// A user has been told.
    fileprivate(set) var isTold = false
  }

  /// The user's wish to pair with a device.
  struct Wish: Sendable {
    let device: String
    let token: AnswerToken
    let deadline: Instant
    /// The device that bluetoothd is pairing. `nil` while the device is being looked for.
    fileprivate(set) var path: ObjectPath?
    var isSearching: Bool { path == nil }

    /// - Parameter device: an address or a name.
    init(device: String, token: AnswerToken, at now: Instant) {
      self.device = device
      self.token = token
      deadline = now + Pairing.wishLimit
    }
  }

  /// Strangers who are refused.
  var refusals = RareLine()
  /// If bluetoothd refuses, it is asked again every half minute. Unlike a service, the agent is not awaited by apps.
  private(set) var agent = Registration(backOff: BackOff(first: .seconds(30), doublings: 0))
  /// The capability with which the agent is registered or being registered.
  private(set) var capability = AgentCapability.noInputNoOutput
  /// The agent was replaced by another, and the adapter may stop being pairable because of that.
  private var losesPairable = false
  private(set) var questions: [UInt64: OpenQuestion] = [:]
  private var lastQuestion: UInt64 = 0
  private var attendedUntil: Instant?
  /// Users who wait for a question.
  private var waiting: [(token: AnswerToken, until: Instant)] = []
  /// The user's wish. There is one at a time.
  private(set) var wish: Wish?

  /// How long one sign of the user's presence counts.
  private static let attendance: Duration = .seconds(30)
  /// How long a waiting user waits before hearing that there is no question.
  static let patience: Duration = .seconds(10)
  /// The Security Manager gives up after 30 s (Bluetooth Core, Vol 3, Part H, 3.4).
  private static let answerLimit: Duration = .seconds(25)
  private static let wishLimit: Duration = .seconds(60)
  private static let questionLimit = 8
  private static let waitingLimit = 16
  private static let nameLimit = 64

  /// When something about questions, users or the wish is due. The agent has its own deadline, `agent.deadline`.
  var deadline: Instant? {
    (questions.values.map(\.deadline) + waiting.map(\.until) + [attendedUntil, wish?.deadline].compactMap(\.self)).min()
  }

  // MARK: The agent

  enum AgentStep: Sendable, Hashable {
    case unregister
    case register(AgentCapability)
  }

  /// What to ask of bluetoothd now, so that the agent's capability fits whether a user attends.
  mutating func agentSteps(at now: Instant) -> [AgentStep] {
    var steps: [AgentStep] = []
    let wanted: AgentCapability = isAttended(at: now) ? .keyboardDisplay : .noInputNoOutput
    if agent.isDone, capability != wanted, questions.isEmpty, wish?.isSearching != false {
      agent.withdraw()
      losesPairable = true
      steps.append(.unregister)
    }
    guard !agent.isDone, agent.mayAsk(at: now) else { return steps }
    agent.ask()
    capability = wanted
    return steps + [.register(wanted)]
  }

  mutating func agentWasRegistered() { agent.succeed() }
  mutating func agentWasRefused(at now: Instant) { agent.fail(at: now) }
  /// bluetoothd has released the agent, or is gone.
  mutating func agentIsGone() { agent.withdraw() }
  /// The agent can show and ask.
  var asksPeople: Bool { agent.isDone && capability == .keyboardDisplay }

  /// Whether the adapter stopped being pairable because the agent was replaced by another.
  mutating func takeLossOfPairable() -> Bool {
    defer { losesPairable = false }
    return losesPairable
  }

  // MARK: Questions

  /// A user is there to be asked.
  func isAttended(at now: Instant) -> Bool { attendedUntil.map { now < $0 } ?? false }
  mutating func attend(at now: Instant) { attendedUntil = now + Self.attendance }
  func mayAsk(at now: Instant) -> Bool { isAttended(at: now) && questions.count < Self.questionLimit }

  var openQuestions: [PairingQuestion] { questions.values.map(\.question).sorted { $0.identifier < $1.identifier } }
  /// Whether a user who comes back should be answered at once. A number that is only shown stays open but is news
  /// only once.
  var hasNews: Bool { questions.values.contains { $0.question.kind != .show || !$0.isTold } }
  func shows(_ address: String?) -> Bool {
    questions.values.contains { $0.question.kind == .show && $0.question.address == address }
  }
  func asks(about address: String?) -> Bool { questions.values.contains { $0.question.address == address } }

  mutating func open(
    _ kind: PairingQuestion.Kind, address: String, name: String?, passkey: UInt32, _ callback: CallbackIdentifier?,
    at now: Instant
  ) -> PairingQuestion {
    lastQuestion += 1
    let question = PairingQuestion(
      identifier: lastQuestion, kind: kind, address: address, name: name.map { String($0.prefix(Self.nameLimit)) },
      passkey: passkey)
    questions[lastQuestion] = OpenQuestion(question: question, callback: callback, deadline: now + Self.answerLimit)
    return question
  }

  mutating func take(_ identifier: UInt64) -> OpenQuestion? { questions.removeValue(forKey: identifier) }

  func overdue(at now: Instant) -> [UInt64] { questions.filter { $0.value.deadline <= now }.keys.sorted() }

  /// The pairing that asked is over. Returns the calls that have not been answered.
  mutating func cancelQuestions() -> [CallbackIdentifier] {
    defer { questions = [:] }
    return questions.sorted { $0.key < $1.key }.compactMap(\.value.callback)
  }

  mutating func userWasTold() {
    for identifier in questions.keys { questions[identifier]?.isTold = true }
  }

  // MARK: Users who wait

  var hasRoomForUser: Bool { waiting.count < Self.waitingLimit }
  mutating func wait(_ token: AnswerToken, at now: Instant) { waiting.append((token, now + Self.patience)) }

  mutating func takeWaiting() -> [AnswerToken] {
    defer { waiting = [] }
    return waiting.map(\.token)
  }

  /// Takes the users who have waited long enough.
  mutating func takePatient(at now: Instant) -> [AnswerToken] {
    let done = waiting.filter { $0.until <= now }.map(\.token)
    waiting.removeAll { $0.until <= now }
    return done
  }

  mutating func passTime(at now: Instant) { if let until = attendedUntil, until <= now { attendedUntil = nil } }

  // MARK: The user's wish

  mutating func wish(for device: String, _ token: AnswerToken, at now: Instant) {
    attend(at: now)
    wish = Wish(device: device, token: token, at: now)
  }

  mutating func wishIsFound(at path: ObjectPath) { wish?.path = path }

  mutating func takeWish() -> Wish? {
    defer { wish = nil }
    return wish
  }
}
