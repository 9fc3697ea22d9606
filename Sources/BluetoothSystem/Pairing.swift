import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// The pairing agent, and the user it asks.
///
/// While nobody is there to answer it can neither show nor ask: pairing is Just Works, for devices that an app of this
/// machine has to do with, and whatever would take a person is refused. While the user attends (`latchkey pairings`,
/// `latchkey pair`) it can do both, so that pairings compare numbers, and it passes on every question.
struct PairingState: Sendable {
  /// Where bluetoothd refuses it, it is asked again every half minute: nobody waits for it as apps wait for a service.
  var agent = Registration(backOff: BackOff(first: .seconds(30), doublings: 0))
  /// With which it is registered, or being registered.
  var capability = AgentCapability.noInputNoOutput
  /// The agent left for another, and the adapter may stop being pairable with it.
  var losesPairable = false
  var questions: [UInt64: OpenQuestion] = [:]
  var lastQuestion: UInt64 = 0
  var attendedUntil: Instant?
  /// Users who wait for a question.
  var waiting: [(token: AnswerToken, until: Instant)] = []
  /// One at a time.
  var wish: PairingWish?

  struct OpenQuestion: Sendable {
    var question: PairingQuestion
    /// bluetoothd's call that is answered; `nil` where a number is only shown.
    var callback: CallbackIdentifier?
    var deadline: Instant
    /// Some user has been told.
    var isTold = false
  }

  struct PairingWish: Sendable {
    var device: String
    var token: AnswerToken
    var deadline: Instant
    /// bluetoothd pairs; until then the device is looked for.
    var path: ObjectPath?
    var isSearching: Bool { path == nil }
  }

  /// How long one sign of the user's presence holds.
  static let attendance: Duration = .seconds(30)
  /// After which a user who waits is told that there is nothing.
  static let patience: Duration = .seconds(10)
  /// The Security Manager gives up after 30 s (Bluetooth Core, Vol 3, Part H, 3.4).
  static let answerLimit: Duration = .seconds(25)
  static let wishLimit: Duration = .seconds(60)
  static let questionLimit = 8
  static let waitingLimit = 16
  static let nameLimit = 64

  var openQuestions: [PairingQuestion] { questions.values.map(\.question).sorted { $0.identifier < $1.identifier } }

  var deadlines: [Instant] {
    questions.values.map(\.deadline) + waiting.map(\.until) + [attendedUntil, wish?.deadline].compactMap(\.self)
  }
}

extension BluetoothSystem {
  static let agentPath = ObjectPath(unchecked: "/org/latchkey/agent")

  /// A user is there to be asked.
  var isAttended: Bool { pairing.attendedUntil.map { now < $0 } ?? false }

  // MARK: The agent

  mutating func reconcileRegistrations() {
    guard bluez.isPresent else { return }
    let wanted: AgentCapability = isAttended ? .keyboardDisplay : .noInputNoOutput
    if pairing.agent.isDone, pairing.capability != wanted, pairing.questions.isEmpty,
      pairing.wish?.isSearching != false
    {
      call(WellKnown.managerPath, .unregisterAgent(path: Self.agentPath), for: .ignored)
      pairing.agent.withdraw()
      pairing.losesPairable = true
    }
    guard !pairing.agent.isDone, pairing.agent.mayAsk(at: now) else { return }
    pairing.agent.ask()
    pairing.capability = wanted
    call(WellKnown.managerPath, .registerAgent(path: Self.agentPath, capability: wanted), for: .registerAgent)
  }

  mutating func agentRegistered(_ result: Result<Reply, BlueZError>) {
    switch result {
    case .failure(let error) where error.name != BlueZError.alreadyExists.name:
      pairing.agent.fail(at: now)
      journal("agent.refused", ["error": error.description])
    default:
      pairing.agent.succeed()
      journal("agent.registered", ["capability": pairing.capability.rawValue])
      if pairing.capability == .keyboardDisplay { tellWaiting() }
      call(WellKnown.managerPath, .requestDefaultAgent(path: Self.agentPath), for: .requestDefaultAgent)
    }
  }

  /// Whether an app asked for this device, or serves whoever comes.
  func mayPair(_ path: ObjectPath) -> Bool {
    guard let device = bluez.devices[path] else { return false }
    return isWanted(device.peer) || managers.values.contains { !$0.services.isEmpty }
  }

  /// The user is at it: its link is wanted, though no app asked.
  func isPairing(_ device: Device) -> Bool {
    pairing.wish?.path == device.path
      || pairing.questions.values.contains { $0.question.address == device.address?.description }
  }

  // MARK: Questions

  private mutating func open(
    _ kind: PairingQuestion.Kind, _ device: Device, _ passkey: UInt32, _ callback: CallbackIdentifier?
  ) {
    pairing.lastQuestion += 1
    let question = PairingQuestion(
      identifier: pairing.lastQuestion, kind: kind, address: device.address?.description ?? "",
      name: device.name.map { String($0.prefix(PairingState.nameLimit)) }, passkey: passkey)
    pairing.questions[question.identifier] = PairingState.OpenQuestion(
      question: question, callback: callback, deadline: now + PairingState.answerLimit)
    journal("pairing.asks", ["address": question.address, "kind": kind.rawValue])
    tellWaiting()
  }

  private mutating func tellWaiting() {
    for user in pairing.waiting { tell(user.token) }
    pairing.waiting = []
  }

  private mutating func tell(_ token: AnswerToken) {
    emit(.controlReply(token, .success(status)))
    for identifier in pairing.questions.keys { pairing.questions[identifier]?.isTold = true }
  }

  /// bluetoothd asks. Without a user only what takes none is granted.
  mutating func ask(
    _ kind: PairingQuestion.Kind, _ path: ObjectPath, _ passkey: UInt32, _ callback: CallbackIdentifier
  ) {
    guard let device = bluez.devices[path], isAttended, pairing.questions.count < PairingState.questionLimit else {
      let isGranted = kind == .authorize && mayPair(path)
      answer(callback, isGranted ? .success(.none) : .failure(.rejected))
      return
    }
    open(kind, device, passkey, callback)
  }

  mutating func show(_ passkey: UInt32, _ path: ObjectPath) {
    guard let device = bluez.devices[path], isAttended else { return }
    let address = device.address?.description
    // bluetoothd says it again with every key that is pressed over there.
    guard !pairing.questions.values.contains(where: { $0.question.kind == .show && $0.question.address == address }),
      pairing.questions.count < PairingState.questionLimit
    else { return }
    open(.show, device, passkey, nil)
  }

  /// The pairing that asked is over.
  mutating func cancelQuestions() {
    for question in pairing.questions.values {
      if let callback = question.callback { answer(callback, .failure(.canceled)) }
    }
    pairing.questions = [:]
  }

  mutating func answerPairing(_ answer: PairingAnswer) {
    guard let open = pairing.questions.removeValue(forKey: answer.question), let callback = open.callback else {
      return
    }
    journal(
      "pairing.answered", ["address": open.question.address, "answer": answer.isAccepted ? "accepted" : "refused"])
    guard answer.isAccepted, answer.passkey <= 999_999 else {
      self.answer(callback, .failure(.rejected))
      return
    }
    self.answer(callback, .success(open.question.kind == .enter ? .passkey(answer.passkey) : .none))
  }

  // MARK: The user

  mutating func attendPairings(_ token: AnswerToken) {
    pairing.attendedUntil = now + PairingState.attendance
    guard pairing.waiting.count < PairingState.waitingLimit else {
      emit(.controlReply(token, .failure(AppLinkError(.limitReached, "Too many wait for pairings already."))))
      return
    }
    // A number that is only shown stays, and is nothing to come back for at once.
    if pairing.questions.values.contains(where: { $0.question.kind != .show || !$0.isTold }) {
      tell(token)
    } else {
      pairing.waiting.append((token, now + PairingState.patience))
    }
  }

  mutating func pair(_ device: String, _ token: AnswerToken) {
    guard pairing.wish == nil else {
      emit(.controlReply(token, .failure(AppLinkError(.unavailable, "Another pairing is under way; try again later."))))
      return
    }
    guard bluez.state == .poweredOn else {
      emit(.controlReply(token, .failure(AppLinkError(.unavailable, "Bluetooth is \(bluez.state)."))))
      return
    }
    guard !device.isEmpty, device.utf8.count <= 248 else {
      emit(.controlReply(token, .failure(AppLinkError(.invalidArguments, "Name a device, or give its address."))))
      return
    }
    pairing.attendedUntil = now + PairingState.attendance
    pairing.wish = PairingState.PairingWish(device: device, token: token, deadline: now + PairingState.wishLimit)
  }

  private func endOfWish(_ message: String) -> Result<SystemStatus, AppLinkError> {
    .failure(AppLinkError(.notFound, message))
  }

  private mutating func finishWish(_ result: Result<SystemStatus, AppLinkError>) {
    guard let wish = pairing.wish else { return }
    pairing.wish = nil
    emit(.controlReply(wish.token, result))
  }

  mutating func reconcilePairing() {
    for user in pairing.waiting where user.until <= now { tell(user.token) }
    pairing.waiting.removeAll { $0.until <= now }
    for (identifier, open) in pairing.questions.sorted(by: { $0.key < $1.key }) where open.deadline <= now {
      answerPairing(PairingAnswer(question: identifier, isAccepted: false))
      pairing.questions[identifier] = nil
    }
    if let until = pairing.attendedUntil, until <= now { pairing.attendedUntil = nil }
    pursueWish()
  }

  private mutating func pursueWish() {
    guard let wish = pairing.wish else { return }
    if wish.deadline <= now {
      if let path = wish.path { call(path, .cancelPairing, for: .ignored) }
      let what = wish.isSearching ? "has not been seen; is it near, and ready to pair?" : "has not finished pairing."
      return finishWish(endOfWish("\"\(wish.device)\" \(what)"))
    }
    guard wish.isSearching, pairing.agent.isDone, pairing.capability == .keyboardDisplay else { return }
    let matching = bluez.devices.values.filter { device in
      device.address?.description.lowercased() == wish.device.lowercased() || device.name == wish.device
    }
    guard matching.count < 2 else {
      return finishWish(endOfWish("There are \(matching.count) devices \"\(wish.device)\": give the address."))
    }
    guard let device = matching.first else { return }
    if device.isBonded { return finishWish(.success(status)) }
    pairing.wish?.path = device.path
    call(device.path, .pair, for: .pair(wish.token))
  }

  mutating func paired(_ token: AnswerToken, _ result: Result<Reply, BlueZError>) {
    guard pairing.wish?.token == token else { return }
    switch result {
    case .success: finishWish(.success(status))
    case .failure(let error): finishWish(.failure(AppLinkError(.unavailable, "Not paired: \(error)")))
    }
  }

  /// bluetoothd or its adapter is gone, and with it all that it asked.
  mutating func forgetPairings() {
    pairing.questions = [:]
    finishWish(.failure(AppLinkError(.unavailable, "Bluetooth went away.")))
  }
}
