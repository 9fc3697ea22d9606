import AgentQuestions
import CoreBluetooth
import Foundation
import HomePolicy
import Journal
import JournalEvents
import LockCryptography
import LockProtocol
import Logging
import TimeTypes
import Timekeeping

/// The doors that this phone opens. Each has keys, a state, a policy and a manager of its own, so that none waits for
/// another.
final class Doors: @unchecked Sendable {
  // Everything here happens on the main queue.
  private var doors: [AgentApp] = []
  private let configuration: HomeConfiguration
  private let state: String
  private let boot: String
  private let time: any TimeSource
  private let logger: Logger
  private var terminationSource: (any DispatchSourceSignal)?
  private var enrolment: EnrolmentRadio?
  private let searches = DoorSearches()
  private static let limit = 16
  private var keyFolder: String { state + "/doors" }
  private var guestKeyFolder: String { state + "/guest" }

  /// - Parameter credentials: the folder with the keys from the setup, if there are any: those of the door named `door`.
  init(
    _ configuration: HomeConfiguration, credentials: String, state: String, boot: String, time: any TimeSource,
    logger: Logger
  ) throws {
    self.configuration = configuration
    self.state = state
    self.boot = boot
    self.time = time
    self.logger = logger
    do { try add(AgentApp.doorName, PhoneKeys.read(fromDirectory: credentials), nil, folder: state) } catch KeyFileError
      .missing
    {
      logger.notice(
        "there are no keys at \(credentials): this phone opens the doors at which it was enrolled or to which it was invited"
      )
    }
    for door in try DoorKeys.read(fromDirectory: keyFolder) {
      // Keys from an enrolment take the place of those from the setup.
      if door.grant == nil, let known = doors.first(where: { $0.lock.identity == door.keys.lockIdentity }) {
        known.take(door)
        settle(door, of: known)
      } else {
        try add(door)
        if let added = doors.last { settle(door, of: added) }
      }
    }
  }

  func start() {
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
    source.setEventHandler { [logger, weak self] in
      logger.info("the agent ends on SIGTERM")
      MainActor.assumeIsolated { for door in self?.doors ?? [] { door.end() } }
      exit(0)
    }
    source.resume()
    terminationSource = source
    for door in doors { door.start(beside: searches) }
    UserActions.setHandler { [weak self] action in
      guard let self else { return action.complete(failure: "The agent is ending.") }
      self.userAsks(action)
    }
  }

  /// - Parameter lock: the lock, as the system identifies it, if that is known.
  private func add(_ door: DoorKeys, lock: UUID? = nil) throws {
    let folder = keyFolder + "/" + door.name
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let isTaken = doors.contains { $0.name == door.name }
    try add(isTaken ? freeName(door.name) : door.name, door.keys, door.grant, folder: folder, lock: lock)
  }

  private func add(
    _ name: String, _ keys: PhoneKeys, _ grant: Grant?, folder: String, lock: UUID? = nil
  ) throws {
    let store = try AgentStore(directory: folder, logger: logger)
    if let lock, store.state.lock != lock {
      var state = store.state
      state.lock = lock
      try store.write(state)
    }
    var logger = logger
    // Most phones have the door of their setup alone, and its records carry no name.
    if folder != state { logger[metadataKey: JournalField.door.rawValue] = "\(name)" }
    doors.append(
      AgentApp(
        configuration, name: name, keys: keys, grant: grant, folder: folder, store: store, boot: boot, time: time,
        logger: logger))
  }

  private func userAsks(_ action: UserAction) {
    // A process that stood still may hear of both at once.
    guard !action.isWithdrawn else { return action.complete(failure: "That was given up before it was begun.") }
    guard let argument = action.argument else { return perform(action, nil) }
    let data = Data(argument.utf8)
    switch AgentQuestion(rawValue: action.name) {
    case .accept: answer(action) { try self.accept(JSONDecoder().decode(AcceptQuestion.self, from: data)) }
    case .guestKey:
      answer(action) {
        let question = try JSONDecoder().decode(GuestKeyQuestion.self, from: data)
        // The key is for any door. A door that is named has to exist.
        if let name = question.door { _ = try self.door(named: name) }
        return try self.guestKey(isNew: question.isNew == true)
      }
    case .enroll: enroll(action, data)
    case nil:
      let known = AgentQuestion.allCases.map(\.rawValue).joined(separator: ", ")
      action.complete(failure: "The agent knows no \"\(action.name)\"; it knows: \(known).")
    default:
      guard let question = try? JSONDecoder().decode(DoorQuestion.self, from: data) else {
        return action.complete(
          failure: "The question can't be read; install latchkey and latchkey-agent from one release.")
      }
      perform(action, question.door)
    }
  }

  private func perform(_ action: UserAction, _ name: String?) {
    do { try door(named: name).userAsks(action) } catch {
      action.complete(failure: (error as? NoAnswer)?.reason ?? "\(error)")
    }
  }

  private func door(named name: String?) throws -> AgentApp {
    let names = doors.map(\.name).joined(separator: ", ")
    if let name {
      guard let door = doors.first(where: { $0.name == name }) else {
        throw NoAnswer("There is no door \"\(name.prefix(64))\" here; there is: \(names.isEmpty ? "none" : names).")
      }
      return door
    }
    guard let first = doors.first else {
      throw NoAnswer("This phone opens no door yet: latchkey enroll, or latchkey guests accept.")
    }
    guard doors.count == 1 || first.name == AgentApp.doorName else { throw NoAnswer("Name a door: \(names).") }
    return first
  }

  // MARK: Enrolment

  /// How long the lock may take to tell this phone's namesakes. Together with a whole enrolment before it, this is less
  /// than the time that the system gives an app for an answer.
  private static let namesakePatience: Duration = .seconds(5)

  private var enrolmentFolder: String { state + "/enrolment" }

  /// Enrols this phone at a lock within range, whose window is open.
  private func enroll(_ action: UserAction, _ argument: Data) {
    logger.record(Recorded.Agent.questionAsked, [.about: action.name])
    let code: EnrolmentCode
    let key: PendingPhoneKey
    var drawAnother: (() throws -> PendingPhoneKey)?
    let question: EnrollQuestion
    do {
      guard let read = try? JSONDecoder().decode(EnrollQuestion.self, from: argument) else {
        throw NoAnswer("The question can't be read; install latchkey and latchkey-agent from one release.")
      }
      question = read
      do throws(EnrolmentCodeError) { code = try EnrolmentCode(question.code) } catch { throw NoAnswer("\(error)") }
      guard enrolment?.isUnderWay != true else { throw NoAnswer("An enrolment is under way already; wait for it.") }
      if let name = question.name { try check(name: name) }
      // Each attempt uses the same key. If the last attempt's confirmation was lost, the lock knows the key already.
      // Unless it was revoked since.
      do {
        key = try PendingPhoneKey.read(fromDirectory: enrolmentFolder)
        drawAnother = { [enrolmentFolder] in try Provisioning.replacePendingPhone(directory: enrolmentFolder) }
      } catch KeyFileError.missing {
        key = try Provisioning.makePendingPhone(directory: enrolmentFolder)
      }
    } catch { return enrolmentEnded(action, .failure(error)) }
    enrolment?.letGo()
    let refusal: (UUID) -> NoAnswer? = { [weak self] lock in self?.refusal(at: lock, question) }
    enrolment = EnrolmentRadio(
      code: code, key: key, drawAnother: drawAnother, refusal: refusal, ownerName: AgentApp.ownerName, time: time,
      logger: logger
    ) { [weak self] outcome in
      guard let self else { return }
      let result = outcome.flatMap { outcome in Result { try self.enrolled(outcome, question) } }
      guard case .success(var answer) = result, let door = self.doors.first(where: { $0.name == answer.door }) else {
        return self.enrolmentEnded(action, result)
      }
      MainActor.assumeIsolated {
        door.desk.findNamesakes(within: Self.namesakePatience) { namesakes in
          answer.namesakes = namesakes.isEmpty ? nil : namesakes
          self.enrolmentEnded(action, .success(answer))
        }
      }
    }
    enrolment?.start()
  }

  /// The lock has confirmed: its keys are stored, and from now on its door is one of this phone's.
  private func enrolled(
    _ outcome: EnrolmentRadio.Outcome, _ question: EnrollQuestion
  ) throws -> EnrollAnswer {
    guard case .enrolled(let identity, let lockKey, let lockName, let peripheral, let key) = outcome else {
      return EnrollAnswer(outcome: outcome.word, door: nil, lock: nil)
    }
    let text = PlainText.of(lockName)
    let keys = PhoneKeys(staticKey: key.staticKey, lockIdentity: identity, lockKey: lockKey)
    let known = doors.first { $0.lock.identity == identity }
    // The key is the same as before if this process, or the lock's confirmation, was lost in the middle of an
    // enrolment.
    let earlier = known.flatMap { $0.grant == nil ? $0.publicKey : nil }
      .flatMap { $0 == Array(key.staticKey.publicKey.rawRepresentation) ? nil : $0 }
    let name = known?.name ?? freeName(question.name ?? DoorKeys.name(from: text))
    // Keys that could not be revoked at the previous enrolment still have to be revoked.
    let left = try DoorKeys.read(fromDirectory: keyFolder).first { $0.name == name && $0.keys.lockIdentity == identity }
    let replaces = known.map { _ in (left?.replaces ?? []) + (earlier.map { [$0] } ?? []) }
    let door = DoorKeys(name: name, keys: keys, grant: nil, replaces: replaces)
    try door.write(toDirectory: keyFolder)
    unlink(enrolmentFolder + "/" + PendingPhoneKey.fileName)
    if let known {
      settle(door, of: known)
      known.take(door)
    } else {
      try add(door, lock: peripheral)
      doors.last?.start(beside: searches)
    }
    return EnrollAnswer(outcome: outcome.word, door: name, lock: text)
  }

  /// Prepares a list of everything that is revoked for a lock at which this phone was enrolled again, including the
  /// phone's own earlier keys. If this process ends before that, its next start makes up for it.
  private func settle(_ door: DoorKeys, of app: AgentApp) {
    guard let earlier = door.replaces else { return }
    do {
      try GuestBook.lockMayHaveForgotten(
        inFolder: app.folder, door.keys.lockIdentity, replacing: earlier, at: Int64(time.unixSeconds))
      try door.settled.write(toDirectory: keyFolder)
    } catch {
      // The phone is enrolled nevertheless. Its earlier key is reported like that of any other phone with the same
      // name.
      logger.error("what is revoked does not wait for the lock: \((error as? NoAnswer)?.reason ?? "\(error)")")
    }
  }

  private func enrolmentEnded(_ action: UserAction, _ result: Result<EnrollAnswer, any Error>) {
    let outcome = (try? result.get())?.outcome ?? "failed"
    logger.record(Recorded.Agent.questionAnswered, [.about: action.name, .outcome: outcome])
    answer(action) { try result.get() }
    // The link stays until the door's own manager has asked for it.
    enrolment?.release { [weak self] in self?.enrolment = nil }
  }

  /// Why this phone can't be enrolled at a lock, or `nil` if it can. The lock of a door that is known keeps its name
  /// and its place.
  /// - Parameter lock: the lock, as the system identifies it.
  private func refusal(at lock: UUID, _ question: EnrollQuestion) -> NoAnswer? {
    guard !doors.contains(where: { $0.knownLock == lock }) else { return nil }
    do { try check(newDoor: question.name) } catch { return error as? NoAnswer ?? NoAnswer("\(error)") }
    return nil
  }

  private func check(name: String) throws {
    guard DoorKeys.isName(name) else {
      throw NoAnswer("A door's name has 1 to 32 small letters, digits, - and _, and does not begin with -.")
    }
  }

  /// - Parameter name: `nil` if the door gets a free name.
  private func check(newDoor name: String?) throws {
    guard doors.count < Self.limit else { throw NoAnswer("This phone has \(Self.limit) doors, and room for no more.") }
    guard let name else { return }
    try check(name: name)
    guard !doors.contains(where: { $0.name == name }) else {
      throw NoAnswer("There is a door \"\(name)\" already: choose another name with --as.")
    }
  }

  /// The name, or the first of `name-2`, `name-3` … that no door has.
  private func freeName(_ name: String) -> String {
    var free = name
    var number = 2
    while doors.contains(where: { $0.name == free }) {
      free = "\(name.prefix(28))-\(number)"
      number += 1
    }
    return free
  }

  // MARK: Invitations

  private func answer(_ action: UserAction, _ work: () throws -> some Encodable) {
    do { action.complete(answer: String(decoding: try JSONEncoder().encode(try work()), as: UTF8.self)) } catch {
      action.complete(failure: (error as? NoAnswer)?.reason ?? "\(error)")
    }
  }

  /// A key for which an owner can invite this phone, so that no secret has to be sent.
  private func guestKey(isNew: Bool) throws -> GuestKeyAnswer {
    let key = isNew ? try Provisioning.replacePendingPhone(directory: guestKeyFolder) : try waitingKey()
    return GuestKeyAnswer(text: PhoneIntroduction(key).text)
  }

  private func waitingKey() throws -> PendingPhoneKey {
    do { return try PendingPhoneKey.read(fromDirectory: guestKeyFolder) } catch KeyFileError.missing {
      return try Provisioning.makePendingPhone(directory: guestKeyFolder)
    }
  }

  private func accept(_ question: AcceptQuestion) throws -> AcceptAnswer {
    guard DoorKeys.isName(question.name), question.name != AgentApp.doorName else {
      throw NoAnswer("A door's name has 1 to 32 small letters, digits, - and _, and is not \"\(AgentApp.doorName)\".")
    }
    let invitation = try Invitation(question.invitation)
    let keys = try invitation.keys { try self.waitingKey() }
    if let door = doors.first(where: { $0.lock.identity == invitation.lock.identity }) {
      return try renew(door, keys, invitation, question.name)
    }
    try check(newDoor: question.name)
    let door = DoorKeys(name: question.name, keys: keys, grant: invitation.grant)
    try door.write(toDirectory: keyFolder)
    try add(door)
    doors.last?.start(beside: searches)
    return AcceptAnswer(door: question.name, name: PlainText.of(invitation.grant.name))
  }

  /// Two doors for one lock would both answer its offers.
  private func renew(
    _ door: AgentApp, _ keys: PhoneKeys, _ invitation: Invitation, _ name: String
  ) throws -> AcceptAnswer {
    guard door.grant != nil else {
      throw NoAnswer("This phone opens that lock already, as an owner's: \"\(door.name)\".")
    }
    guard door.name == name else {
      throw NoAnswer("This phone opens that lock already: to replace the invitation, use --as \(door.name).")
    }
    let renewed = DoorKeys(name: name, keys: keys, grant: invitation.grant)
    try renewed.write(toDirectory: keyFolder)
    door.take(renewed)
    return AcceptAnswer(door: name, name: PlainText.of(invitation.grant.name))
  }
}
