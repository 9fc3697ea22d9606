import AppLink
import BlueZ
import BluetoothTypes
import BusValue
import TimeTypes

/// Carries out what `Pairing` decides: bluetoothd's questions, the user's answers, and the user's own pairings.
extension BluetoothSystem {
  static let agentPath = ObjectPath(unchecked: "/org/latchkey/agent")

  /// A user is there to be asked.
  var isAttended: Bool { pairing.isAttended(at: now) }

  // MARK: The agent

  mutating func reconcileRegistrations() {
    guard bluez.isPresent else { return }
    for step in pairing.agentSteps(at: now) {
      switch step {
      case .unregister: call(WellKnown.managerPath, .unregisterAgent(path: Self.agentPath), for: .ignored)
      case .register(let capability):
        call(WellKnown.managerPath, .registerAgent(path: Self.agentPath, capability: capability), for: .registerAgent)
      }
    }
  }

  mutating func agentRegistered(_ result: Result<Reply, BlueZError>) {
    switch result {
    case .failure(let error) where error.kind != .alreadyExists:
      pairing.agentWasRefused(at: now)
      journal(.agentRefused, [.error: error.description])
    default:
      pairing.agentWasRegistered()
      journal(.agentRegistered, [.capability: pairing.capability.rawValue])
      if pairing.capability == .keyboardDisplay { tellWaiting() }
      call(WellKnown.managerPath, .requestDefaultAgent(path: Self.agentPath), for: .requestDefaultAgent)
    }
  }

  /// Whether an app asked for this device, or publishes services for any central and does not say no (`CentralAdmission`).
  func mayPair(_ path: ObjectPath) -> Bool {
    guard let device = bluez.devices[path] else { return false }
    return isWanted(device.peer) || acceptsPairing(of: device.peer)
  }

  /// The user is pairing this device, so its link is wanted even without an app's request.
  func isPairing(_ device: Device) -> Bool {
    pairing.wish?.path == device.path || pairing.asks(about: device.address?.description)
  }

  // MARK: Questions

  private mutating func open(
    _ kind: PairingQuestion.Kind, _ device: Device, _ passkey: UInt32, _ callback: CallbackIdentifier?
  ) {
    let question = pairing.open(
      kind, address: device.address?.description ?? "", name: device.name, passkey: passkey, callback, at: now)
    journal(.pairingAsks, [.address: question.address, .kind: kind.rawValue])
    tellWaiting()
  }

  private mutating func tellWaiting() {
    for user in pairing.takeWaiting() { tell(user) }
  }

  private mutating func tell(_ token: AnswerToken) {
    emit(.controlReply(token, .success(status)))
    pairing.userWasTold()
  }

  /// bluetoothd asks a question. Without a user, only what needs no user is granted.
  mutating func ask(
    _ kind: PairingQuestion.Kind, _ path: ObjectPath, _ passkey: UInt32, _ callback: CallbackIdentifier
  ) {
    guard let device = bluez.devices[path], pairing.mayAsk(at: now) else {
      let isGranted = kind == .authorize && mayPair(path)
      if kind == .authorize, !isGranted, let address = bluez.devices[path]?.address,
        let untold = pairing.refusals.tell(at: now)
      {
        journal(.pairingRefused, [.address: address.description, .untold: String(untold)])
      }
      answer(callback, isGranted ? .success(.none) : .failure(.rejected))
      return
    }
    open(kind, device, passkey, callback)
  }

  mutating func show(_ passkey: UInt32, _ path: ObjectPath) {
    // bluetoothd repeats the call for every key that is pressed on the other side.
    guard let device = bluez.devices[path], pairing.mayAsk(at: now), !pairing.shows(device.address?.description) else {
      return
    }
    open(.show, device, passkey, nil)
  }

  /// The pairing that asked is over.
  mutating func cancelQuestions() {
    for callback in pairing.cancelQuestions() { answer(callback, .failure(.canceled)) }
  }

  mutating func answerPairing(_ answer: PairingAnswer) {
    guard let open = pairing.take(answer.question), let callback = open.callback else {
      return
    }
    journal(
      .pairingAnswered, [.address: open.question.address, .answer: answer.isAccepted ? "accepted" : "refused"])
    guard answer.isAccepted, answer.passkey <= 999_999 else {
      self.answer(callback, .failure(.rejected))
      return
    }
    self.answer(callback, .success(open.question.kind == .enter ? .passkey(answer.passkey) : .none))
  }

  // MARK: The user

  mutating func attendPairings(_ token: AnswerToken) {
    pairing.attend(at: now)
    guard pairing.hasRoomForUser else {
      emit(.controlReply(token, .failure(AppLinkError(.limitReached, "Too many wait for pairings already."))))
      return
    }
    if pairing.hasNews { tell(token) } else { pairing.wait(token, at: now) }
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
    pairing.wish(for: device, token, at: now)
  }

  private func endOfWish(_ message: String) -> Result<SystemStatus, AppLinkError> {
    .failure(AppLinkError(.notFound, message))
  }

  private mutating func finishWish(_ result: Result<SystemStatus, AppLinkError>) {
    guard let wish = pairing.takeWish() else { return }
    emit(.controlReply(wish.token, result))
  }

  mutating func reconcilePairing() {
    for user in pairing.takePatient(at: now) { tell(user) }
    for identifier in pairing.overdue(at: now) {
      answerPairing(PairingAnswer(question: identifier, isAccepted: false))
    }
    pairing.passTime(at: now)
    pursueWish()
  }

  private mutating func pursueWish() {
    guard let wish = pairing.wish else { return }
    if wish.deadline <= now {
      if let path = wish.path { call(path, .cancelPairing, for: .ignored) }
      let what = wish.isSearching ? "has not been seen; is it near, and ready to pair?" : "has not finished pairing."
      return finishWish(endOfWish("\"\(wish.device)\" \(what)"))
    }
    guard wish.isSearching, pairing.asksPeople else { return }
    let matching = bluez.devices.values.filter { device in
      device.address?.description.lowercased() == wish.device.lowercased() || device.name == wish.device
    }
    guard matching.count < 2 else {
      return finishWish(endOfWish("There are \(matching.count) devices \"\(wish.device)\": give the address."))
    }
    guard let device = matching.first else { return }
    if device.isBonded { return finishWish(.success(status)) }
    pairing.wishIsFound(at: device.path)
    call(device.path, .pair, for: .pair(wish.token))
  }

  mutating func paired(_ token: AnswerToken, _ result: Result<Reply, BlueZError>) {
    guard pairing.wish?.token == token else { return }
    switch result {
    case .success: finishWish(.success(status))
    case .failure(let error): finishWish(.failure(AppLinkError(.unavailable, "Not paired: \(error)")))
    }
  }

  /// bluetoothd or its adapter is gone, and everything it asked with it.
  mutating func forgetPairings() {
    _ = pairing.cancelQuestions()
    finishWish(.failure(AppLinkError(.unavailable, "Bluetooth went away.")))
  }
}
